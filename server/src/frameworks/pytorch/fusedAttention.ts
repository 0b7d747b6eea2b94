/** What one kernel of attention computes where a group of operators wrote it out: its shape, and the gradient of a trained mask. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelEnvironment } from '../../hardware/kernelEnvironment.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { AttentionShape } from '../../operators/definition.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import { elementwiseKernel } from './elementwiseKernel.ts';
import { hasFoldedTriangle, windowOfMask } from './foldedTriangle.ts';
import type { FusedGroup } from './fusedGroups.ts';

/** The same in forward and in backward. */
export type AttendedShape = Omit<AttentionShape, 'pass'>;

/**
 * A lower triangle that the group itself makes is `is_causal=True`, and so is a mask that a kernel is not given. `matmuls`: FLOPs
 * of forward, 4 for each score and element of a head.
 */
export function attentionShape(
  training: TrainingGraph,
  group: FusedGroup,
  matmuls: number,
): AttendedShape | undefined {
  const { operators, composite } = group;
  const scores = scoresOf(training, operators);
  const [queries = 0, columns = 0] = scores?.dimensions.slice(-2) ?? [];
  const name = composite?.roles.mask;
  const mask = training.tensors.get(name ?? '');
  const isFolded = hasFoldedTriangle(training, group);
  if (scores === undefined || scores.elements === 0) return undefined;
  const sequences = scores.elements / (queries * columns);
  // A sink is a column of scores without a key.
  const keys = operators.some((index) => joinsSink(training, index)) ? columns - 1 : columns;
  const window = isFolded ? windowOfMask(training, name, keys) : undefined;
  return {
    sequences,
    queries,
    keys,
    size: matmuls / (4 * sequences * queries * keys),
    causal: isFolded || operators.some((index) => training.analysis.graph.operators[index]?.type === 'Trilu'),
    ...(window === undefined ? {} : { window }),
    ...(operators.some((index) => isDrawn(training, index)) ? { dropped: true as const } : {}),
    ...(name === undefined || mask === undefined || isFolded
      ? {}
      : { mask: { elements: mask.elements, trained: training.requiresGradient.has(name) } }),
  };
}

const joinsSink = ({ analysis }: TrainingGraph, index: number): boolean =>
  analysis.graph.operators[index]?.type === 'Concat';

function scoresOf({ analysis, tensors }: TrainingGraph, operators: FusedGroup['operators']) {
  const softmax = operators.find((index) => analysis.graph.operators[index]?.type === 'Softmax');
  return tensors.get(analysis.graph.operators[softmax ?? -1]?.outputs[0] ?? '');
}

/** The gradients of all scores, which a kernel of attention gives for a mask that is trained. */
export const scoreGradients = ({ mask, sequences, queries, keys }: AttendedShape): number =>
  mask?.trained === true ? sequences * queries * keys : 0;

/**
 * Where such a mask was repeated, another kernel sums them (PyTorch 2.x tools/autograd/derivatives.yaml,
 * `_scaled_dot_product_efficient_attention_backward`, and the gradient of `expand`).
 */
export function sumOfScoreGradients(
  shape: AttendedShape,
  bytesPerElement: number,
  environment: KernelEnvironment,
): readonly KernelWork[] {
  const scores = scoreGradients(shape);
  if (shape.mask === undefined || scores <= shape.mask.elements) return [];
  return [elementwiseKernel((scores + shape.mask.elements) * bytesPerElement, scores, environment)];
}

/** Dropout that is a view draws nothing: its share is 0, or nothing is trained. */
function isDrawn({ analysis, costs }: TrainingGraph, index: number): boolean {
  const operator = analysis.graph.operators[index];
  const cost = costs[index];
  return (
    operator !== undefined && hasTrait(operator, 'random') && cost?.kind === 'known' && cost.class !== 'view'
  );
}
