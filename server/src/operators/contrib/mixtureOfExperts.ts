/**
 * Mixture of experts: each token runs through the k experts its router prefers.
 *
 * FLOPs are those of the experts chosen, 2·tokens·k·weights of one expert; the weights of no more experts are read
 * than tokens·k, nor than there are. Which experts that are depends on the data, how many does not.
 */

import { countElements } from '../../model/countElements.ts';
import type { Operator } from '../../model/graph.ts';
import type {
  BoundTensor,
  CostContext,
  OperatorCost,
  OperatorDefinition,
  RepeatedMatmul,
} from '../definition.ts';
import { expertsMap } from '../dimensions/fused.ts';
import { defineContrib } from '../vocabulary/define.ts';
import { inferLikeInput } from '../vocabulary/elementwise.ts';
import { data, weight } from '../vocabulary/facts.ts';
import {
  addTraffic,
  addWork,
  backwardOf,
  cost,
  needsGradient,
  savedInput,
  trafficOf,
  trafficOfElements,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

/** Inputs of the weights of the two or three layers of an expert; scales follow at the next index of QMoE. */
const layouts = { MoE: [2, 4, 6], QMoE: [2, 5, 8] } as const;

export const mixturesOfExperts: readonly OperatorDefinition[] = (['MoE', 'QMoE'] as const).map((type) =>
  defineContrib({
    type,
    documentation:
      type === 'MoE' ? 'feed-forward layers of the k best experts per token' : 'MoE with quantized weights',
    inputs: {
      MoE: [
        data('input'),
        data('router_probs'),
        weight('fc1_experts_weights'),
        weight('fc1_experts_bias'),
        weight('fc2_experts_weights'),
        weight('fc2_experts_bias'),
        weight('fc3_experts_weights'),
        weight('fc3_experts_bias'),
      ],
      QMoE: [
        data('input'),
        data('router_probs'),
        data('fc1_experts_weights'),
        data('fc1_scales'),
        data('fc1_experts_bias'),
        data('fc2_experts_weights'),
        data('fc2_scales'),
        data('fc2_experts_bias'),
        data('fc3_experts_weights'),
        data('fc3_scales'),
        data('fc3_experts_bias'),
        data('fc1_zero_points'),
        data('fc2_zero_points'),
        data('fc3_zero_points'),
        data('router_weights'),
        data('fc1_global_scale'),
        data('fc2_global_scale'),
        data('fc1_act_scale'),
        data('fc2_act_scale'),
        data('fc1_act_block_scale'),
        data('fc2_act_block_scale'),
      ],
    }[type],
    // No list of autocast names `_grouped_mm`: products run in the type of the weights (PyTorch 2.13, autocast_mode.h).
    pytorch: { layer: type, autocast: 'fp32' },
    infer: (context) => inferLikeInput(context),
    dimensions: expertsMap,
    cost: (context) => expertCost(context, layouts[type]),
  }),
);

/** Whether an operator is a mixture of experts whose weights are trained. */
export const isMixture = ({ domain, type }: Pick<Operator, 'domain' | 'type'>): boolean =>
  domain === 'com.microsoft' && type === 'MoE';

/** Experts that a token runs through. */
export function chosenExperts(
  { inputs, attributes }: Operator,
  tensors: ReadonlyMap<string, BoundTensor>,
): number {
  const given = attributes.get('k');
  const experts = tensors.get(inputs[1] ?? '')?.dimensions.at(-1);
  return chosenOf(given?.kind === 'int' ? given.value : 1, experts ?? 1);
}

const chosenOf = (k: number, experts: number): number => Math.min(Math.max(1, k), Math.max(1, experts));

function expertCost(context: CostContext, layers: readonly number[]): OperatorCost {
  const input = context.input(0);
  const router = context.input(1);
  const output = context.output(0);
  const given = layers.filter((index) => context.hasInput(index));
  const weights = given.flatMap((index) => {
    const tensor = context.input(index);
    return tensor === undefined ? [] : [{ index, tensor }];
  });
  if (input === undefined || router === undefined || output === undefined) return unknownShapeCost;
  if (weights.length < given.length || weights.length < 2) return unknownShapeCost;
  const tokens = countElements(input.dimensions.slice(0, -1));
  const chosen = tokens * chosenOf(context.int('k', 1), router.dimensions.at(-1) ?? 1);
  // A worker of expert parallelism has the weights of some experts, and as many rows from all workers as it has itself.
  const experts = Math.max(1, weights[0]?.tensor.dimensions[0] ?? 1);
  const read = Math.min(1, chosen / experts);
  // Bytes hold two weights of 4 bits each.
  const perByte = (elementType: string): number =>
    elementType === 'uint8' ? 8 / Math.max(1, context.int('expert_weight_bits', 4)) : 1;
  const flopsOf = (tensor: (typeof weights)[number]['tensor']): number =>
    (2 * chosen * tensor.elements * perByte(tensor.elementType)) / experts;
  const flops = weights.reduce((total, { tensor }) => total + flopsOf(tensor), 0);
  const hidden = weights[0]?.tensor.dimensions[1];
  const columns = output.dimensions.at(-1);
  if (hidden === undefined || columns === undefined) return unknownShapeCost;
  const inner = hidden * chosen;
  const width = input.elements / Math.max(1, tokens);
  const activation = context.string('activation_type', 'relu');
  const rowsKept = chosen * keptByRow(width, hidden, weights.length > 2, activation);
  // Weights, their scales and biases, of the experts that tokens reach.
  const stored = Array.from({ length: context.inputCount - 2 }, (_, index) => context.input(index + 2));
  const weightTraffic = addTraffic(
    ...stored.flatMap((tensor) =>
      tensor === undefined ? [] : [trafficOfElements(tensor, read * tensor.elements)],
    ),
  );
  const rows = chosen / experts;
  const isWhole = weights.every(({ tensor }) => tensor.elementType !== 'uint8');
  const products = (pass: Pass, of = weights): { readonly matmuls?: readonly RepeatedMatmul[] } =>
    isWhole && rows >= 1
      ? { matmuls: of.map(({ tensor }) => groupedProduct(tensor, experts, rows, pass)) }
      : {};
  const moved = rowTraffic(width, hidden, weights.length > 2);
  const forward = work({
    flops,
    operations: 6 * router.elements + 5 * inner + chosen * columns,
    traffic: addTraffic(
      trafficOf(input, router, output),
      weightTraffic,
      trafficOfElements(input, chosen * moved.forward),
    ),
    kernels: 2 + weights.length,
    ...products('forward'),
  });
  if (!needsGradient(context)) return cost('matmul', forward);
  const { data, weight } = backwardOf(context, (index) => {
    if (index === 0)
      return work({
        flops,
        traffic: addTraffic(
          trafficOf(output, input),
          weightTraffic,
          trafficOfElements(input, chosen * moved.backward),
        ),
        kernels: weights.length,
        ...products('data'),
      });
    const own = weights.find((layer) => layer.index === index);
    if (own === undefined) return addWork();
    const [, n = 0, k = 0] = own.tensor.dimensions;
    return work({
      flops: flopsOf(own.tensor),
      traffic: addTraffic(trafficOf(own.tensor), trafficOfElements(input, chosen * (n + k))),
      ...products('weight', [own]),
    });
  });
  return cost('matmul', forward, {
    data,
    weight,
    saved: [
      savedInput(1),
      { kind: 'extra', name: 'rows of experts', traffic: trafficOfElements(input, rowsKept) },
      // Which expert and which row each chosen pair of a token and an expert has, there and back.
      {
        kind: 'extra',
        name: 'places of rows',
        traffic: { float32Elements: 2 * chosen, fixedBytes: 4 * 8 * chosen },
      },
    ],
  });
}

type Pass = 'forward' | 'data' | 'weight';

/** The products of all experts by one of their layers, [experts, outputs, inputs]: one kernel whose tiles are those of all. */
function groupedProduct(
  { dimensions }: BoundTensor,
  experts: number,
  rows: number,
  pass: Pass,
): RepeatedMatmul {
  const [, outputs = 1, inputs = 1] = dimensions;
  const shape = {
    forward: { layout: 'nn', m: rows, n: outputs, k: inputs },
    data: { layout: 'nn', m: rows, n: inputs, k: outputs },
    weight: { layout: 'tn', m: outputs, n: inputs, k: rows },
  } as const;
  return { shape: { kind: 'matmul', batch: experts, ...shape[pass] }, count: 1 };
}

/**
 * Elements that each chosen row moves through memory, its products and what stands between them (transformers 5.18, integrations/moe.py,
 * `grouped_mm_experts_forward`): it is gathered, multiplied to gate and up, activated, multiplied down, weighed, put back in its place and
 * added to those of its token. Gradients go the same way back.
 */
function rowTraffic(
  width: number,
  hidden: number,
  isGated: boolean,
): { readonly forward: number; readonly backward: number } {
  const products = 2 * width + (isGated ? 3 : 2) * hidden;
  return isGated
    ? { forward: products + 7 * width + 5 * hidden, backward: products + 12 * width + 13 * hidden }
    : { forward: products + 7 * width + 2 * hidden, backward: products + 12 * width + 3 * hidden };
}

/**
 * What each chosen row keeps for backward where experts run as grouped products (transformers 5.18, integrations/moe.py,
 * `grouped_mm_experts_forward`): the gathered row and the result that is weighed, as wide as a token, and between them the
 * results of the products and of what lies between them. Gate and up are one product, so that both are kept whole.
 */
function keptByRow(width: number, hidden: number, isGated: boolean, activation: string): number {
  if (activation === 'swiglu') return 2 * width + 7 * hidden;
  if (isGated) return 2 * width + (activation === 'relu2' ? 5 : 4) * hidden;
  return 2 * width + (activation === 'relu' ? 1 : 2) * hidden;
}
