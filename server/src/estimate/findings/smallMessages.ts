/**
 * `findings/small-messages`: communication is not hidden, and most of it is the start-up cost of many messages.
 *
 * A message takes a + b·n (Hockney, "The communication challenge for MPP", 1994); sending k tensors as one saves (k−1)·a
 * (Shi, Chu, "MG-WFBP", arXiv 1811.11141).
 */

import { findFramework } from '../../frameworks/registry.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBytes, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { bytes, seconds } from '../../model/units.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { recost } from '../recost.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function smallMessages({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { thresholds } = plan.scenario;
  if (timeline.exposedTime < thresholdOf(thresholds, 'exposed-communication') * timeline.step) return [];
  const share = thresholdOf(thresholds, 'small-messages');
  const sent = sentIn(plan);
  if (!isMostlyStartup(sent, share)) return [];
  const { count, startup, whole } = sent;
  const total = plan.exchange.messages.reduce((sum, message) => sum + message.bytes, 0);
  return [
    {
      code: 'findings/small-messages',
      severity: 'warning',
      layer: '',
      message: `${plan.tables.size > 0 ? 'Gradients and rows of tables' : 'Gradients'} are sent in ${count} messages with a mean of ${formatBytes(bytes(total / count))}. ${formatPercent(startup / whole)} of their time (${formatTime(seconds(startup))}) is start-up cost. Fewer, larger messages cost less`,
      ...(plan.tables.size > 0 ? ofTables : remedyOf(plan, sent, total, share)),
    },
  ];
}

/** Messages with gradients, and what they take of a step. */
interface Sent {
  readonly count: number;
  /** Seconds, of all of them together. */
  readonly startup: number;
  readonly whole: number;
}

function sentIn({ traffic }: StepPlan): Sent {
  let [count, startup, whole] = [0, 0, 0];
  for (const { times, messages, withGradients, perStep } of traffic.routes) {
    count += withGradients;
    const sent = withGradients * (perStep / messages);
    for (const stage of times) {
      startup += sent * stage.startup;
      whole += sent * stage.time;
    }
  }
  return { count, startup, whole };
}

/** One message cannot be joined with another. */
const isMostlyStartup = ({ count, startup, whole }: Sent, share: number): boolean =>
  count >= 2 && whole > 0 && startup >= share * whole;

/** No option joins them with others. */
const ofTables = {
  fix: 'Rows of embedding tables are messages of their own: raise the batch per GPU, so that each carries more, or use fewer GPUs',
};

/**
 * The smallest messages that are not mostly start-up cost. Those that would be enough if a message took a + b·n, which is
 * a·(1 − share)/(share·b) bytes, are costed first: libraries change their algorithm with the size.
 */
function remedyOf(
  plan: StepPlan,
  { count, startup, whole }: Sent,
  total: number,
  share: number,
): Pick<Finding, 'fix' | 'change'> {
  const { name: framework, options } = plan.scenario.framework;
  const perMessage = startup / count;
  const perByte = (whole - startup) / total;
  const needed = (perMessage * (1 - share)) / (share * perByte);
  const name = sizeOption(framework);
  if (name === undefined) {
    return needed >= total
      ? { fix: fewerGpus }
      : { fix: 'Merge gradients before sending: use pytorch-ddp (buckets) or mg-wfbp (merges by cost)' };
  }
  for (const size of sizes) {
    if (size * 2 ** 20 <= needed) continue;
    const value = String(size);
    const there = recost(plan, { framework: { name: framework, options: { ...options, [name]: value } } });
    if (there === undefined) break;
    const sent = sentIn(there);
    if (sent.count < 2) break;
    if (isMostlyStartup(sent, share)) continue;
    return {
      fix: `Send larger messages: ${name}=${value}`,
      change: { kind: 'framework-option', name, value },
    };
  }
  return { fix: fewerGpus };
}

const fewerGpus =
  'Even one message of all gradients would be mostly start-up cost: use fewer GPUs, or raise the batch so that backward hides it';

/** MiB, as people write them. */
const sizes = [0.5, 1, 2, 5, 10, 25, 50, 100, 200, 500, 1000];

/** How a framework is told how much to send at once. */
function sizeOption(framework: string): string | undefined {
  return findFramework(framework)?.options.find(({ name }) => name === 'bucket-mb' || name === 'fusion-mb')
    ?.name;
}
