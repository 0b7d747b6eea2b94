/**
 * `findings/input-bound` and `findings/copy-bound`: GPUs wait for samples to be read and decoded, or to be copied to
 * them.
 */

import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function waitingForInput({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { input, cluster, scenario } = plan;
  if (input === undefined || timeline.step === 0) return [];
  const share = timeline.exposedInputTime / timeline.step;
  const isCopying = input.slowest === 'copying';
  const name = isCopying ? 'copy-bound' : 'input-bound';
  if (share < thresholdOf(scenario.thresholds, name)) return [];
  const waits = `${formatPercent(share)} of the step waits for input (${formatTime(timeline.exposedInputTime)})`;
  const sharing = cluster.host?.gpusPerHostLink?.value ?? 1;
  return [
    isCopying
      ? {
          code: 'findings/copy-bound',
          severity: 'warning',
          layer: '',
          message: `${waits}: copying a batch to the GPU takes ${formatTime(input.copying)}${sharing > 1 ? `, because ${sharing} GPUs share one link to the host` : ''}`,
          fix: 'Copy fewer bytes (images as 8-bit integers, converted on the GPU), prefetch copies, or use nodes with one host link per GPU',
        }
      : {
          code: 'findings/input-bound',
          severity: 'warning',
          layer: '',
          message:
            input.slowest === 'storage'
              ? `${waits}: reading a batch takes ${formatTime(input.storage)}`
              : `${waits}: decoding a batch takes ${formatTime(input.decoding)} on the host's cores`,
          fix:
            input.slowest === 'storage'
              ? 'Move the data to faster storage or to local disks, store smaller samples, or use fewer GPUs'
              : 'Decode on the GPU, store decoded or smaller samples, or use nodes with more cores per GPU',
        },
  ];
}
