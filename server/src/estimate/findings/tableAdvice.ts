/**
 * Advice where embedding tables make most of the gradients: to shard them, or to send the rows that were looked up, with the step
 * that it comes to.
 */

import { embeddingTables } from '../../analysis/embeddingTables.ts';
import { isSharded } from '../../frameworks/embeddingTables.ts';
import { choicesOf } from '../../frameworks/registry.ts';
import { capitalized } from '../../model/capitalized.ts';
import { counted } from '../../model/counted.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { FrameworkChoice } from '../../model/scenario.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { parameterBytes } from '../plan/gradients.ts';
import { timesOf } from '../plan/plannedTimes.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { recost } from '../recost.ts';

/** Of the bytes of all gradients, that tables make. */
const leastShare = 0.5;
/** Of the step, that it must save. */
const leastGain = 0.1;

/** `step` is that of the plan, in seconds; `undefined` where other treatment of tables does not help. */
export function tableAdvice(plan: StepPlan, step: number): Pick<Finding, 'fix' | 'change'> | undefined {
  const { behaviour, scenario } = plan;
  if (scenario.mode !== 'training' || scenario.gpus < 2 || plan.measured !== undefined) return undefined;
  if (isSharded(behaviour.embeddings)) return undefined;
  const { count, share } = tablesOf(plan);
  if (count === 0 || share < leastShare) return undefined;
  const own = behaviour.name;
  const there = scenario.framework.options;
  const better = betterHandling(behaviour);
  const choices: readonly Choice[] = [
    better === undefined
      ? {
          how: 'pytorch-ddp with embeddings=table-wise',
          framework: { name: 'pytorch-ddp', options: { embeddings: 'table-wise' } },
        }
      : { how: `embeddings=${better}`, framework: { name: own, options: { ...there, embeddings: better } } },
    ...(better === 'table-wise'
      ? [
          {
            how: 'horovod with embeddings=sparse',
            framework: { name: 'horovod', options: { embeddings: 'sparse' } },
          },
        ]
      : []),
  ];
  const helpful = choices.flatMap(({ how, framework }) => {
    const after = recost(plan, { framework });
    const time = after === undefined ? step : timesOf(after, 'middle').step;
    return time > (1 - leastGain) * step ? [] : [{ text: textOf(framework, how, time), framework }];
  });
  const [first] = helpful;
  if (first === undefined) return undefined;
  const { name, options } = first.framework;
  const value = options.embeddings ?? '';
  return {
    fix: `${counted(count, 'embedding table')} ${count === 1 ? 'makes' : 'make'} ${formatPercent(share)} of the gradients. ${capitalized(helpful.map(({ text }) => text).join('; or '))}`,
    ...(name === own ? { change: { kind: 'framework-option', name: 'embeddings', value } } : {}),
  };
}

/** What the framework itself does better; undefined where it has nothing better. */
function betterHandling({ name, embeddings }: StepPlan['behaviour']): 'table-wise' | 'sparse' | undefined {
  const offered = choicesOf(name, 'embeddings');
  if (offered.includes('table-wise')) return 'table-wise';
  return offered.includes('sparse') && embeddings !== 'sparse' ? 'sparse' : undefined;
}

interface Choice {
  readonly how: string;
  readonly framework: FrameworkChoice;
}

const textOf = ({ options }: FrameworkChoice, how: string, time: number): string =>
  `${options.embeddings === 'sparse' ? 'send only the rows looked up' : 'shard the tables over the GPUs'} (${how}): the step takes ${formatTime(seconds(time))}`;

/** How many tables there are, and what they make of the gradients of the model. */
function tablesOf({ training, weightBytesPerElement }: StepPlan): {
  readonly count: number;
  readonly share: number;
} {
  const tables = new Set(embeddingTables(training).map(({ index }) => index));
  let [own, all] = [0, 0];
  for (const [index, parameter] of training.analysis.parameters.entries()) {
    const size = parameterBytes(parameter, weightBytesPerElement);
    all += size;
    if (tables.has(index)) own += size;
  }
  return { count: tables.size, share: all === 0 ? 0 : own / all };
}
