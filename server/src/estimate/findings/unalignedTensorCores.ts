/**
 * `findings/unaligned-tensor-cores`: a large product in half precision has a side that is no multiple of 8.
 *
 * Source: NVIDIA, "Matrix Multiplication Background User's Guide", Tensor Core requirements: multiples of 8
 * half-precision elements. Products that make 2 % of the FLOPs, and only sides that the model fixes (weights): each of so
 * many by itself, smaller ones together.
 */

import type { GpuProfile } from '../../hardware/clusterProfile.ts';
import { computePath } from '../../hardware/computePath.ts';
import { itemAt } from '../../model/at.ts';
import { distinct } from '../../model/distinct.ts';
import { formatPercent } from '../../model/format.ts';
import { isWeight } from '../../model/graph.ts';
import type { Finding } from '../../model/stepCost.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import type { EstimatedStep } from './estimatedStep.ts';

const shareOfFlops = 0.02;

export function unalignedTensorCores({ plan }: EstimatedStep): readonly Finding[] {
  const { training } = plan;
  // Blocks that repeat have what the first of them has: most models have none, and are not written out to say so.
  const { gpu } = plan.cluster;
  if (plan.folded !== undefined && unalignedWeights(plan.folded, gpu).length === 0) return [];
  let total = 0;
  for (const cost of training.costs) if (cost.kind === 'known') total += cost.forward.flops;
  const unaligned = unalignedWeights(plan, gpu);
  const whole = unaligned.reduce((sum, { flops }) => sum + flops, 0);
  if (whole === 0 || whole < shareOfFlops * total) return [];
  const large = unaligned.filter(({ flops }) => flops >= shareOfFlops * total);
  const runBelow = (flops: number): string =>
    `tensor cores run below peak on ${formatPercent(flops / total)} of the FLOPs. The slowdown depends on the library; the predicted time does not include it`;
  const nameOf = ({ layer }: UnalignedWeight): string => itemAt(training.analysis.layers, layer).name;
  const findings = large.map((weight): Finding => {
    const { sides, odd, flops } = weight;
    const padded = Math.ceil(odd / 64) * 64;
    return {
      code: 'findings/unaligned-tensor-cores',
      severity: 'information',
      layer: nameOf(weight),
      message: `The weight is ${sides.join(' × ')}, and ${odd} is not a multiple of 8: ${runBelow(flops)}`,
      fix: `Pad ${odd} to ${padded}`,
      change: { kind: 'size', from: odd, to: padded },
    };
  });
  const named = large.reduce((sum, { flops }) => sum + flops, 0);
  const small = unaligned
    .filter(({ flops }) => flops < shareOfFlops * total)
    .sort((left, right) => right.flops - left.flops);
  const [largest] = small;
  if (largest === undefined || whole - named < shareOfFlops * total) return findings;
  const odd = distinct(small.map((weight) => weight.odd)).slice(0, mostSizes);
  return [
    ...findings,
    {
      code: 'findings/unaligned-tensor-cores',
      severity: 'information',
      layer: nameOf(largest),
      message: `${small.length} weights have sides that are no multiples of 8, such as ${largest.sides.join(' × ')} of ${nameOf(largest)}: together ${runBelow(whole - named)}`,
      fix: `Pad ${odd.map((side) => `${side} to ${Math.ceil(side / 64) * 64}`).join(', ')}`,
    },
  ];
}

/** So many sizes are named in advice. */
const mostSizes = 3;

interface UnalignedWeight {
  /** Index in the analysis. */
  readonly layer: number;
  readonly sides: readonly number[];
  readonly odd: number;
  /** Of its forward product. */
  readonly flops: number;
}

/** Weights of two axes, one of which is no multiple of 8, that tensor cores multiply in half precision. */
function unalignedWeights(
  { training, lowered }: Pick<StepPlan, 'training' | 'lowered'>,
  gpu: GpuProfile,
): readonly UnalignedWeight[] {
  const { graph, layers } = training.analysis;
  return layers.flatMap(({ operators }, layer) =>
    operators.flatMap((index): readonly UnalignedWeight[] => {
      const cost = training.costs[index];
      const operator = lowered.operators[index];
      if (cost?.kind !== 'known' || cost.class !== 'matmul' || cost.forward.flops === 0) return [];
      if (operator?.bytesPerElement !== 2 || operator.dtype === undefined) return [];
      if (computePath(gpu, operator.dtype).unit !== 'tensor') return [];
      const weight = graph.operators[index]?.inputs.find((input) => isWeight(graph.values.get(input)?.role));
      const sides = weight === undefined ? undefined : training.tensors.get(weight)?.dimensions;
      const odd = sides?.find((side) => side % 8 !== 0);
      if (odd === undefined || sides?.length !== 2) return [];
      return [{ layer, sides, odd, flops: cost.forward.flops }];
    }),
  );
}
