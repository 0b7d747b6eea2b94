/** `findings/unsupported-precision`: the GPU computes products in a wider type than the scenario asks for. */

import { computePath } from '../../hardware/computePath.ts';
import { formatFlopRate } from '../../model/format.ts';
import type { Precision } from '../../model/scenario.ts';
import type { Finding } from '../../model/stepCost.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function unsupportedPrecision({ plan }: EstimatedStep): readonly Finding[] {
  const { gpu } = plan.cluster;
  const { precision } = plan.scenario;
  const path = computePath(gpu, precision);
  if (path.actual === precision) return [];
  const better = alternatives.find((candidate) => {
    const other = computePath(gpu, candidate);
    return other.actual === candidate && other.peak >= path.peak;
  });
  return [
    {
      code: 'findings/unsupported-precision',
      severity: 'warning',
      layer: '',
      message: `${gpu.title} has no ${precision} tensor cores. Matrix multiplications fall back to ${path.actual} (peak ${formatFlopRate(path.peak)})`,
      fix:
        better === undefined
          ? `Use fp32, or a GPU with ${precision}`
          : `Use ${better} (peak ${formatFlopRate(computePath(gpu, better).peak)} on this GPU)`,
      ...(better === undefined ? {} : { change: { kind: 'precision', precision: better } }),
    },
  ];
}

const alternatives: readonly Precision[] = ['bf16', 'fp16', 'tf32'];
