/**
 * `findings/small-messages`: communication is not hidden, and most of it is the start-up cost of many messages.
 *
 * A message takes a + b·n (Hockney, "The communication challenge for MPP", 1994); sending k tensors as one saves (k−1)·a
 * (Shi, Chu, "MG-WFBP", arXiv 1811.11141).
 */

import type { FrameworkEntry } from '../../frameworks/frameworkEntry.ts';
import { frameworks } from '../../frameworks/registry.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBytes, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { bytes, seconds } from '../../model/units.ts';
import type { EstimatedStep } from './findings.ts';

export function smallMessages({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { thresholds, framework } = plan.scenario;
  const count = plan.exchange.messages.length;
  if (count < 2) return [];
  if (timeline.exposedTime < thresholdOf(thresholds, 'exposed-communication') * timeline.step) return [];
  let startup = 0;
  let whole = 0;
  for (const stages of plan.traffic.stages) {
    for (const stage of stages) {
      startup += stage.startup;
      whole += stage.time;
    }
  }
  if (whole === 0 || startup < thresholdOf(thresholds, 'small-messages') * whole) return [];
  const average = bytes(plan.exchange.messages.reduce((total, message) => total + message.bytes, 0) / count);
  const option = sizeOption(framework.name);
  const present = Number(framework.options[option?.name ?? ''] ?? option?.default);
  const size = option === undefined ? undefined : present > 0 ? present * 4 : usualSize;
  return [
    {
      code: 'findings/small-messages',
      severity: 'warning',
      layer: '',
      message: `Gradients travel in ${count} messages of ${formatBytes(average)} on average, and ${formatPercent(startup / whole)} of their time (${formatTime(seconds(startup))}) is start-up cost, which larger messages would pay less often`,
      fix:
        option === undefined || size === undefined
          ? 'Merge gradients before they are sent: mg-wfbp chooses which, pytorch-ddp fills buckets'
          : `Send larger messages: ${option.name}=${size}`,
      ...(option === undefined || size === undefined
        ? {}
        : { change: { kind: 'framework-option', name: option.name, value: String(size) } }),
    },
  ];
}

/** MiB, where every tensor is sent by itself: Horovod's first default. */
const usualSize = 64;

/** How a framework is told how much to send at once. */
function sizeOption(framework: string): FrameworkEntry['options'][number] | undefined {
  const entry = frameworks.find(({ name }) => name === framework);
  return entry?.options.find(({ name }) => name === 'bucket-mb' || name === 'fusion-mb');
}
