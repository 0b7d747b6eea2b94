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
import type { EstimatedStep } from './estimatedStep.ts';

export function smallMessages({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { thresholds } = plan.scenario;
  if (timeline.exposedTime < thresholdOf(thresholds, 'exposed-communication') * timeline.step) return [];
  let count = 0;
  let startup = 0;
  let whole = 0;
  for (const { times, withGradients } of plan.traffic.routes) {
    count += withGradients;
    for (const stage of times) {
      startup += withGradients * stage.startup;
      whole += withGradients * stage.time;
    }
  }
  if (count < 2) return [];
  const share = thresholdOf(thresholds, 'small-messages');
  if (whole === 0 || startup < share * whole) return [];
  const total = plan.exchange.messages.reduce((sum, message) => sum + message.bytes, 0);
  return [
    {
      code: 'findings/small-messages',
      severity: 'warning',
      layer: '',
      message: `${plan.tables.size > 0 ? 'Gradients and rows of tables' : 'Gradients'} are sent in ${count} messages with a mean of ${formatBytes(bytes(total / count))}; ${formatPercent(startup / whole)} of their time (${formatTime(seconds(startup))}) is start-up cost. Fewer, larger messages cost less`,
      ...(plan.tables.size > 0
        ? ofTables
        : remedyOf(plan.behaviour.name, total, startup / count, (whole - startup) / total, share)),
    },
  ];
}

/** No option joins them with others. */
const ofTables = {
  fix: 'Rows of embedding tables are messages of their own: raise the batch per GPU, so that each carries more, or use fewer GPUs',
};

/**
 * Messages of which start-up is less than `share`: of a·(1 − share)/(share·b) bytes or more. `perMessage` is a in
 * seconds, `perByte` b.
 */
function remedyOf(
  framework: string,
  total: number,
  perMessage: number,
  perByte: number,
  share: number,
): Pick<Finding, 'fix' | 'change'> {
  const needed = (perMessage * (1 - share)) / (share * perByte);
  if (needed >= total) {
    return {
      fix: 'Even one message of all gradients would be mostly start-up cost: use fewer GPUs, or raise the batch so that backward hides it',
    };
  }
  const name = sizeOption(framework);
  if (name === undefined) {
    return { fix: 'Merge gradients before sending: use pytorch-ddp (buckets) or mg-wfbp (merges by cost)' };
  }
  const value = String(sizes.find((size) => size * 2 ** 20 > needed) ?? Math.ceil(needed / 2 ** 20));
  return { fix: `Send larger messages: ${name}=${value}`, change: { kind: 'framework-option', name, value } };
}

/** MiB, as people write them. */
const sizes = [0.5, 1, 2, 5, 10, 25, 50, 100, 200, 500, 1000];

/** How a framework is told how much to send at once. */
function sizeOption(framework: string): string | undefined {
  return findFramework(framework)?.options.find(({ name }) => name === 'bucket-mb' || name === 'fusion-mb')
    ?.name;
}
