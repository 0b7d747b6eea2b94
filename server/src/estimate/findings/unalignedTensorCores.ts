/**
 * `findings/unaligned-tensor-cores`: a large product in half precision has a side that is no multiple of 8.
 *
 * Source: NVIDIA, "Matrix Multiplication Background User's Guide", Tensor Core requirements: multiples of 8
 * half-precision elements. Only products of 2 % of the FLOPs or more, and only sides that the model fixes (weights).
 */

import { computePath } from '../../hardware/computePath.ts';
import { formatPercent } from '../../model/format.ts';
import { isWeight } from '../../model/graph.ts';
import type { Finding } from '../../model/stepCost.ts';
import type { KnownCost, OperatorCost } from '../../operators/definition.ts';
import type { EstimatedStep } from './estimatedStep.ts';

const shareOfFlops = 0.02;

export function unalignedTensorCores({ plan }: EstimatedStep): readonly Finding[] {
  let total = 0;
  for (const cost of plan.training.costs) if (cost.kind === 'known') total += cost.forward.flops;
  const isLarge = (cost: OperatorCost | undefined): cost is KnownCost =>
    cost?.kind === 'known' && cost.class === 'matmul' && cost.forward.flops >= shareOfFlops * total;
  if (!(plan.folded ?? plan).training.costs.some(isLarge)) return [];
  const { graph } = plan.training.analysis;
  const findings: Finding[] = [];
  for (const layer of plan.training.analysis.layers) {
    for (const index of layer.operators) {
      const cost = plan.training.costs[index];
      const lowered = plan.lowered.operators[index];
      if (!isLarge(cost) || lowered?.bytesPerElement !== 2) continue;
      if (computePath(plan.cluster.gpu, lowered.dtype).unit !== 'tensor') continue;
      const weight = graph.operators[index]?.inputs.find((input) => isWeight(graph.values.get(input)?.role));
      const sides = weight === undefined ? undefined : plan.training.tensors.get(weight)?.dimensions;
      const odd = sides?.find((side) => side % 8 !== 0);
      if (odd === undefined || sides?.length !== 2) continue;
      findings.push({
        code: 'findings/unaligned-tensor-cores',
        severity: 'information',
        layer: layer.name,
        message: `The weight is ${sides.join(' × ')}, and ${odd} is not a multiple of 8: tensor cores run below peak on ${formatPercent(cost.forward.flops / total)} of the FLOPs. The slowdown depends on the library; the predicted time does not include it`,
        fix: `Pad ${odd} to ${Math.ceil(odd / 64) * 64}`,
        change: { kind: 'size', from: odd, to: Math.ceil(odd / 64) * 64 },
      });
    }
  }
  return findings;
}
