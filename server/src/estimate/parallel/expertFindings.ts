/** What is wrong with how experts are shared: all-to-alls that take long, and experts that are chosen more often than others. */

import { sendsRowsOnce } from '../../frameworks/layoutRules.ts';
import { findFramework, optionValues } from '../../frameworks/registry.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { exchangeTimeOf, type LaidOutStep } from './laidOutStep.ts';
import { changed, fits, timeOf } from './otherLayouts.ts';

export const expertFindings = (step: LaidOutStep): readonly Finding[] =>
  step.parallel.expert === 1 ? [] : [...expertCommunication(step), ...busiestExperts(step)];

function expertCommunication(step: LaidOutStep): readonly Finding[] {
  const { plan, times, scenario, parallel, cluster } = step;
  const { expert } = parallel;
  const time = exchangeTimeOf(step, 'expert');
  const share = time / times.step;
  if (share < thresholdOf(scenario.thresholds, 'expert-communication')) return [];
  const { nodes } = plan.layout.expertGroup;
  const across =
    nodes === 1
      ? ''
      : `. The ${expert} GPUs of a group lie on ${nodes} nodes of ${cluster.gpusPerNode.value}`;
  const once = withRowsOnce(step);
  const [best] = [2, 4, 8]
    .filter((part) => expert % part === 0)
    .flatMap((part) => changed(step, { expert: expert / part }) ?? [])
    .filter((after) => after.times.step < times.step && fits(after))
    .sort((one, other) => one.times.step - other.times.step);
  return [
    {
      code: 'findings/expert-communication',
      severity: 'warning',
      layer: '',
      message: `All-to-alls of expert parallelism take ${formatPercent(share)} of the step (${formatTime(seconds(time))}), and nothing computes meanwhile${across}`,
      fix:
        once !== undefined && once.after.times.step <= (best?.times.step ?? times.step)
          ? `Send each row once to a node (${once.option}), which takes ${timeOf(once.after)} a step instead of ${timeOf(step)}`
          : best === undefined
            ? 'No smaller group that fits in memory is faster: use faster links between the GPUs of a group'
            : `${best.parallel.expert === 1 ? 'Leave `ep` out' : `Use \`ep=${best.parallel.expert}\``}, which takes ${timeOf(best)} a step of as many samples instead of ${timeOf(step)}`,
    },
  ];
}

/** The step where its framework sends rows once to each node, and does not yet; `undefined` where that is no shorter. */
function withRowsOnce(
  step: LaidOutStep,
): { readonly after: LaidOutStep; readonly option: string } | undefined {
  const { framework } = step.scenario;
  const rules = findFramework(framework.name)?.layout;
  if (rules?.rowsOnce === undefined || sendsRowsOnce(rules, optionValues(framework))) return undefined;
  const { option, value } = rules.rowsOnce;
  const chosen = { ...framework, options: { ...framework.options, [option]: value } };
  const after = changed(step, {}, { framework: chosen });
  return after !== undefined && after.times.step < step.times.step && fits(after)
    ? { after, option: `\`${option}=${value}\` of \`${framework.name}\`` }
    : undefined;
}

/** The time that a step with experts chosen equally often does not take. */
function busiestExperts(step: LaidOutStep): readonly Finding[] {
  const { times, scenario, parallel } = step;
  if (parallel.expertImbalance === 1) return [];
  const even = changed(step, { expertImbalance: 1 });
  const wait = even === undefined ? 0 : times.step - even.times.step;
  if (wait / times.step < thresholdOf(scenario.thresholds, 'load-imbalance')) return [];
  return [
    {
      code: 'findings/load-imbalance',
      severity: 'warning',
      layer: '',
      message: `GPUs wait ${formatTime(seconds(wait))}, ${formatPercent(wait / times.step)} of the step, for the one of ${parallel.expert} whose experts are chosen most: it computes ${parallel.expertImbalance} times the mean of rows`,
      fix: 'Train the router towards equal shares (an auxiliary loss), give experts room for a number of rows (`capacity_factor`), or use a smaller `ep`',
    },
  ];
}
