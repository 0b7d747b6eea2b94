/**
 * A projection to scores and the loss of them, over a part of the tokens at a time.
 *
 * `chunked`: the model gives its scores in eight parts and the loss takes one after the other, so that one part at a time is
 * widened to fp32. Source: pytorch/torchtune 10ff7cd2, modules/loss/ce_chunked_output_loss.py and modules/transformer.py,
 * `chunked_output`; torchtitan has the same since pull request 996.
 *
 * `fused-linear`: forward projects a part, takes its loss, writes the gradient of the scores over them, and multiplies it to the
 * gradients of the projection's input and weight, so that scores of all tokens never exist and backward has nothing to do.
 * Source: linkedin/Liger-Kernel 00eba634, ops/fused_linear_cross_entropy.py and ops/cross_entropy.py.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { producerOf, readersOf, scalarOf } from '../../composites/flow.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { entryAt } from '../../model/at.ts';
import { type Graph, isWeight, type Operator } from '../../model/graph.ts';
import { type Bytes, bytes } from '../../model/units.ts';
import { isMatmulClass, type RepeatedMatmul } from '../../operators/definition.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import type { LoweredOperator } from '../behaviour.ts';
import { type FrameworkOption, oneOf } from '../options.ts';
import { elementwiseKernel } from './elementwiseKernel.ts';
import { absorbed } from './lowerGroup.ts';

export type ScoreParts = 'whole' | 'chunked' | 'fused-linear';

export const crossEntropyOption: FrameworkOption = {
  name: 'cross-entropy',
  default: 'whole',
  documentation:
    'how the loss of scores is computed: whole (of all tokens at once), in-place (a copy in fp32 becomes the softmax and then the gradient, as in nanotron), chunked (in eight parts, as torchtune and torchtitan do) or fused-linear (with its projection, part by part, as Liger Kernel does: scores are never stored)',
  expects: oneOf('whole', 'in-place', 'chunked', 'fused-linear'),
};

export const scorePartsOf = (options: ReadonlyMap<string, string>): ScoreParts => {
  const asked = options.get(crossEntropyOption.name);
  return asked === 'chunked' || asked === 'fused-linear' ? asked : 'whole';
};

type Lowered = readonly (LoweredOperator | undefined)[];

/** The operators with each loss of scores, and the projection that gives them, in parts. */
export function scoresInParts(training: TrainingGraph, operators: Lowered, parts: ScoreParts): Lowered {
  if (parts === 'whole') return operators;
  const changed = [...operators];
  for (const scored of scoredProjections(training)) {
    const { loss, projection, between } = scored;
    const [lossKernels, product] = [operators[loss.index], operators[projection.index]];
    if (lossKernels === undefined || product === undefined) continue;
    const sizes = sizesOf(training, scored, product);
    if (parts === 'chunked') {
      changed[loss.index] = lossOfParts(lossKernels, sizes);
      changed[projection.index] = projectionOfParts(product, sizes);
      continue;
    }
    changed[loss.index] = fusedLoss(loss.index, lossKernels, product, sizes);
    for (const index of [projection.index, ...between])
      changed[index] = { ...absorbed(entryOf(operators, index, product)), inside: true };
  }
  return changed;
}

const entryOf = (operators: Lowered, index: number, otherwise: LoweredOperator): LoweredOperator =>
  operators[index] ?? otherwise;

/** Elements of all scores whose loss can be computed in parts. */
export const scoresForParts = (training: TrainingGraph): number =>
  scoredProjections(training).reduce(
    (sum, { projection }) => sum + entryAt(training.tensors, projection.outputs[0] ?? '').elements,
    0,
  );

interface ScoredProjection {
  readonly loss: Operator;
  readonly projection: Operator;
  /** What arranges or casts the scores on their way to the loss. */
  readonly between: readonly number[];
}

/** Losses whose scores one product with a weight gives, and nobody else reads. */
function scoredProjections(training: TrainingGraph): readonly ScoredProjection[] {
  return training.analysis.graph.operators.flatMap((operator) =>
    hasTrait(operator, 'loss-of-scores') && !dividesClasses(training, operator)
      ? projectionBehind(training, operator)
      : [],
  );
}

/** The parts would each exchange what rows need of all classes, which neither library does. */
const dividesClasses = ({ costs }: TrainingGraph, { index }: Operator): boolean => {
  const cost = costs[index];
  return cost?.kind === 'known' && cost.dividesClasses === true;
};

function projectionBehind(
  { analysis: { graph }, costs, tensors }: TrainingGraph,
  loss: Operator,
): readonly ScoredProjection[] {
  const between: number[] = [];
  let name = loss.inputs[0];
  for (;;) {
    const operator = producerOf(graph, name);
    if (operator === undefined || readersOf(graph, name).length !== 1) return [];
    const cost = costs[operator.index];
    if (cost?.kind !== 'known') return [];
    if (isMatmulClass(cost.class)) {
      const [input = '', weight = '', bias] = operator.inputs;
      const isProjection = isWeight(graph.values.get(weight)?.role) && !bias;
      return isProjection && tensors.has(input) && tensors.has(weight)
        ? [{ loss, projection: operator, between }]
        : [];
    }
    const capped = cappedBy(graph, operator);
    if (capped === undefined && !arranges(operator)) return [];
    between.push(...(capped?.operators ?? [operator.index]));
    name = capped === undefined ? operator.inputs[0] : capped.input;
  }
}

/**
 * What ends in an operator that scales the tangent of scaled scores: Gemma 2 caps its scores so, which the kernel of the loss does
 * itself (`softcap` of ops/cross_entropy.py).
 */
function cappedBy(
  graph: Graph,
  last: Operator,
): { readonly operators: readonly number[]; readonly input: string | undefined } | undefined {
  const tangent = producerOf(graph, scaledBy(graph, last));
  if (tangent?.type !== 'Tanh' || readersOf(graph, tangent.outputs[0]).length !== 1) return undefined;
  const first = producerOf(graph, tangent.inputs[0]);
  const input = first && scaledBy(graph, first);
  if (first === undefined || input === undefined || readersOf(graph, first.outputs[0]).length !== 1)
    return undefined;
  return { operators: [last.index, tangent.index, first.index], input };
}

/** What an operator multiplies by a known number, or divides by one. */
function scaledBy(graph: Graph, operator: Operator): string | undefined {
  if (operator.type !== 'Mul' && operator.type !== 'Div') return undefined;
  const [left, right] = operator.inputs;
  if (scalarOf(graph, right) !== undefined) return left;
  return operator.type === 'Mul' && scalarOf(graph, left) !== undefined ? right : undefined;
}

const arranges = (operator: Operator): boolean =>
  hasTrait(operator, 'layout') ||
  hasTrait(operator, 'casts') ||
  hasTrait(operator, 'passes-elements') ||
  hasTrait(operator, 'copies-elements');

interface ScoreSizes {
  readonly tokens: number;
  readonly classes: number;
  /** Elements of the projection's input, and of its weight. */
  readonly features: number;
  readonly weight: number;
  /** Bytes per element of scores. */
  readonly stored: number;
}

function sizesOf(
  { tensors }: TrainingGraph,
  { projection }: ScoredProjection,
  product: LoweredOperator,
): ScoreSizes {
  const [input = '', weight = ''] = projection.inputs;
  const scores = entryAt(tensors, projection.outputs[0] ?? '');
  const classes = scores.dimensions.at(-1) ?? 1;
  return {
    tokens: scores.elements / classes,
    classes,
    features: entryAt(tensors, input).elements,
    weight: entryAt(tensors, weight).elements,
    stored: product.bytesPerElement,
  };
}

/** `num_output_chunks` of torchtune and torchtitan. */
const outputChunks = 8;

/** Backward begins with the losses of all parts, whose narrow gradients are there before the first is multiplied. */
function lossOfParts(lowered: LoweredOperator, { tokens, classes }: ScoreSizes): LoweredOperator {
  const parts = Math.min(outputChunks, tokens);
  const launched = (kernels: readonly KernelWork[]): readonly KernelWork[] =>
    kernels.map((kernel) => ({ ...kernel, launches: kernel.launches * parts }));
  const wide = lowered.bytesPerElement * tokens * classes;
  return {
    ...lowered,
    forward: launched(lowered.forward),
    backwardData: launched(lowered.backwardData),
    // Of one part: the gradient of its logarithms and that of its widened scores.
    ...(lowered.gradientsAsStored === true && lowered.backwardTemporary === undefined
      ? {}
      : { gradientsAsStored: true as const, backwardTemporary: bytes((2 * wide) / parts) }),
  };
}

/** Each part multiplies by the whole weight, and all but the first gradient of the weight is added to the one before. */
function projectionOfParts(product: LoweredOperator, sizes: ScoreSizes): LoweredOperator {
  const parts = Math.min(outputChunks, sizes.tokens);
  const weightBytes = sizes.weight * sizes.stored;
  const inParts = (kernels: readonly KernelWork[]): readonly KernelWork[] =>
    kernels.map((kernel) => byParts(kernel, sizes, parts, weightBytes));
  const first = product.backwardWeight.find(({ class: kind }) => isMatmulClass(kind));
  return {
    ...product,
    forward: inParts(product.forward),
    backwardData: inParts(product.backwardData),
    backwardWeight: [
      ...inParts(product.backwardWeight),
      ...(first === undefined
        ? []
        : [
            {
              ...elementwiseKernel(3 * weightBytes * (parts - 1), 0, first.environment),
              launches: parts - 1,
            },
          ]),
    ],
  };
}

/**
 * Scores of a part take as much as the projection's input: its tokens are those of all over how many times wider scores are, as a
 * power of two.
 */
const partsOfFused = ({ tokens, classes, features }: ScoreSizes): number => {
  const wider = Math.ceil((classes * tokens) / features);
  const part = Math.min(tokens, 2 ** Math.ceil(Math.log2(Math.ceil(tokens / wider))));
  return Math.ceil(tokens / part);
};

function fusedLoss(
  index: number,
  loss: LoweredOperator,
  product: LoweredOperator,
  sizes: ScoreSizes,
): LoweredOperator {
  const { tokens, classes, features, weight, stored } = sizes;
  const parts = partsOfFused(sizes);
  const ofPass = (kernels: readonly KernelWork[], more: number): readonly KernelWork[] =>
    kernels
      .filter(({ class: kind }) => isMatmulClass(kind))
      .map((kernel) => byParts(kernel, sizes, parts, more));
  const data = ofPass(product.backwardData, weight * stored);
  const casts = product.weightCasts ?? [];
  const wideWeight = casts.length > 0 ? 4 : stored;
  // Each part reads the gradient of the weight and writes it again.
  const ofWeight = ofPass(product.backwardWeight, 2 * weight * wideWeight);
  const learns = data.length + ofWeight.length > 0;
  const rows = loss.forward.find(({ class: kind }) => kind !== 'elementwise') ?? loss.forward[0];
  const environment = rows?.environment;
  const kept = (name: string, size: number): LoweredOperator['saved'][number] => ({
    key: `${index}/${name}`,
    bytes: bytes(size),
    weightCopy: false,
  });
  const zeros = (size: number): KernelWork => elementwiseKernel(size, 0, environment);
  return {
    dtype: product.dtype,
    bytesPerElement: loss.bytesPerElement,
    view: false,
    forward: [
      ...product.forward.filter((kernel) => !isMatmulClass(kernel.class) && !casts.includes(kernel)),
      // Autocast remembers the cast of a weight, but not of its transpose (aten/src/ATen/autocast_mode.cpp, `cached_cast`).
      ...casts.map((kernel) => repeated(kernel, parts + (data.length > 0 ? 1 : 0))),
      ...(learns ? [zeros(features * stored)] : []),
      ...(ofWeight.length > 0 ? [zeros(weight * wideWeight)] : []),
      ...ofPass(product.forward, weight * stored),
      // Two passes over the scores, and with gradients they are written over.
      ...(rows === undefined
        ? []
        : [{ ...rows, bytes: bytes((learns ? 3 : 2) * tokens * classes * stored), launches: parts }]),
      ...data,
      ...ofWeight,
    ],
    backwardData: [],
    backwardWeight: [],
    gradientsAsStored: true,
    forwardTemporary: partBytes(sizes, parts),
    saved: [
      ...(data.length > 0 ? [kept('gradient of its input', features * stored)] : []),
      ...(ofWeight.length > 0 ? [kept('gradient of its weight', weight * wideWeight)] : []),
    ],
  };
}

const partBytes = ({ tokens, classes, stored }: ScoreSizes, parts: number): Bytes =>
  bytes(Math.ceil(tokens / parts) * classes * stored);

const repeated = (kernel: KernelWork, times: number): KernelWork => ({
  ...kernel,
  operations: kernel.operations * times,
  bytes: bytes(kernel.bytes * times),
  launches: kernel.launches * times,
});

/** A product over the tokens as one for each part; `more`: bytes that each after the first moves beside its part. */
function byParts(kernel: KernelWork, sizes: ScoreSizes, parts: number, more: number): KernelWork {
  if (!isMatmulClass(kernel.class)) return kernel;
  return {
    ...kernel,
    bytes: bytes(kernel.bytes + (parts - 1) * more),
    launches: kernel.launches * parts,
    ...(kernel.matmuls && { matmuls: kernel.matmuls.map((matmul) => ofPart(matmul, sizes.tokens, parts)) }),
  };
}

function ofPart({ shape, count }: RepeatedMatmul, tokens: number, parts: number): RepeatedMatmul {
  if (shape.kind !== 'matmul') return { shape, count };
  const part = Math.ceil(tokens / parts);
  // The rows of a result, its columns, or, of a weight's gradient, what is summed over.
  if (shape.m === tokens) return { shape: { ...shape, m: part }, count: count * parts };
  if (shape.n === tokens) return { shape: { ...shape, n: part }, count: count * parts };
  return shape.k === tokens ? { shape: { ...shape, k: part }, count: count * parts } : { shape, count };
}
