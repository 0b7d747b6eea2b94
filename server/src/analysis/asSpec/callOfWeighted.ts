/** Layers with weights of their own, as PyTorch names them: products, convolutions, tables, normalizations. */

import type { Operator } from '../../model/graph.ts';
import { attributeReaders } from '../../operators/attributeReaders.ts';
import type { GraphFacts, StoredWeight } from './graphFacts.ts';
import { type SpecCall, tensor } from './specCall.ts';
import { numberText, tupleText } from './specValues.ts';

/** `undefined` where an operator is none of them, or shares its weights in a way that only a name of its own can say. */
export function callOfWeighted(operator: Operator, facts: GraphFacts): SpecCall | undefined {
  if (operator.domain !== '') return undefined;
  switch (operator.type) {
    case 'MatMul':
    case 'Gemm':
      return linear(operator, facts);
    case 'Conv':
      return convolution(operator, facts);
    case 'Gather':
      return embedding(operator, facts);
    case 'BatchNormalization':
      return batchNormalization(operator, facts);
    case 'LayerNormalization':
    case 'RMSNormalization':
      return normalization(operator, facts);
    default:
      return undefined;
  }
}

/** Marks, weights and outputs that all of them have. */
const made = (
  operators: readonly Operator[],
  weights: readonly (StoredWeight | undefined)[],
): Pick<SpecCall, 'kind' | 'operators' | 'frozen' | 'outputs'> => ({
  kind: 'module',
  operators: operators.map(({ index }) => index),
  outputs: operators.at(-1)?.outputs.slice(0, 1) ?? [],
  ...(weights.some((weight) => weight?.isFrozen) ? { frozen: true as const } : {}),
});

/** A bias or scale that no other operator reads and that is as long as `size`. */
function ownVector(
  name: string | undefined,
  size: number | undefined,
  facts: GraphFacts,
): StoredWeight | undefined {
  const vector = facts.weight(name);
  const isVector = vector?.shape.length === 1 && vector.shape[0] === size;
  return vector !== undefined && isVector && facts.isOwn(vector.base) ? vector : undefined;
}

function linear(operator: Operator, facts: GraphFacts): SpecCall | undefined {
  const isGemm = operator.type === 'Gemm';
  const [input = '', name, bias] = operator.inputs;
  const weight = facts.weight(name);
  const rank = facts.rankOf(input);
  if (weight?.shape.length !== 2 || rank === undefined || facts.weight(input) !== undefined) return undefined;
  if (isGemm && rank !== 2) return undefined;
  const isFlipped = isGemm && attributeReaders(operator.attributes).float('transB', 0) === 1;
  if (
    isGemm &&
    (attributeReaders(operator.attributes).float('transA', 0) !== 0 ||
      attributeReaders(operator.attributes).float('alpha', 1) !== 1)
  )
    return undefined;
  if (isGemm && attributeReaders(operator.attributes).float('beta', 1) !== 1) return undefined;
  const [ins, outs] = isFlipped ? [weight.shape[1], weight.shape[0]] : weight.shape;
  // Layers that share a weight hold it as [out, in].
  const isStoredAsLinear = isFlipped !== weight.isTransposed;
  if (!facts.isOwn(weight.base) && !isStoredAsLinear) return undefined;
  if (isGemm && bias !== undefined && bias !== '') {
    const vector = ownVector(bias, outs, facts);
    if (vector === undefined || vector.isFrozen !== weight.isFrozen) return undefined;
    return { ...call(ins, outs, true), ...made([operator], [weight]) };
  }
  // A layer spec adds the bias of a matrix in the product.
  const sum = rank === 2 ? undefined : facts.onlyReader(operator.outputs[0] ?? '');
  if (sum?.type === 'Add' && sum.domain === '') {
    const other = sum.inputs.find((each) => each !== operator.outputs[0]);
    const vector = ownVector(other, outs, facts);
    if (vector !== undefined && vector.isFrozen === weight.isFrozen) {
      return { ...call(ins, outs, true), ...made([operator, sum], [weight]) };
    }
  }
  return { ...call(ins, outs, false), ...made([operator], [weight]) };

  function call(from: number | undefined, to: number | undefined, biased: boolean) {
    return {
      callee: 'Linear',
      inputs: [tensor(input)],
      settings: [String(from), String(to), ...(biased ? [] : ['bias=False'])],
      ...(weight === undefined ? {} : { weight: weight.base }),
    };
  }
}

function embedding(operator: Operator, facts: GraphFacts): SpecCall | undefined {
  const [table, indices = ''] = operator.inputs;
  const weight = facts.weight(table);
  const type = facts.value(indices)?.type;
  if (
    weight?.shape.length !== 2 ||
    weight.isTransposed ||
    attributeReaders(operator.attributes).float('axis', 0) !== 0
  )
    return undefined;
  if (type?.kind !== 'tensor' || !/int/.test(type.elementType)) return undefined;
  return {
    callee: 'Embedding',
    inputs: [tensor(indices)],
    settings: weight.shape.map(String),
    weight: weight.base,
    ...made([operator], [weight]),
  };
}

function convolution(operator: Operator, facts: GraphFacts): SpecCall | undefined {
  const [input = '', filter, bias] = operator.inputs;
  const weight = facts.weight(filter);
  const axes = (weight?.shape.length ?? 0) - 2;
  if (weight === undefined || axes < 1 || axes > 3 || !facts.isOwn(weight.base)) return undefined;
  if (!['NOTSET', undefined].includes(attributeReaders(operator.attributes).string('auto_pad')))
    return undefined;
  const [outs = 0, ofGroup = 0, ...kernel] = weight.shape;
  const group = attributeReaders(operator.attributes).float('group', 1);
  const pads = attributeReaders(operator.attributes).ints('pads') ?? [];
  const before = pads.slice(0, axes);
  if (pads.slice(axes).some((pad, axis) => pad !== before[axis])) return undefined;
  const isBiased = bias !== undefined && bias !== '';
  const vector = isBiased ? ownVector(bias, outs, facts) : undefined;
  if (isBiased && vector?.isFrozen !== weight.isFrozen) return undefined;
  return {
    callee: `Conv${axes}d`,
    inputs: [tensor(input)],
    settings: [
      String(ofGroup * group),
      String(outs),
      `kernel_size=${perAxis(kernel)}`,
      ...unless('stride', attributeReaders(operator.attributes).ints('strides'), 1),
      ...unless('padding', before, 0),
      ...unless('dilation', attributeReaders(operator.attributes).ints('dilations'), 1),
      ...(group === 1 ? [] : [`groups=${group}`]),
      ...(isBiased ? [] : ['bias=False']),
    ],
    ...made([operator], [weight]),
  };
}

/** One number where all axes have it. */
export const perAxis = (values: readonly number[]): string =>
  values.every((value) => value === values[0]) ? String(values[0]) : tupleText(values);

export const unless = (
  name: string,
  values: readonly number[] | undefined,
  standard: number,
): readonly string[] =>
  values === undefined || values.every((value) => value === standard) ? [] : [`${name}=${perAxis(values)}`];

function batchNormalization(operator: Operator, facts: GraphFacts): SpecCall | undefined {
  const [input = '', scale, bias, mean] = operator.inputs;
  const rank = facts.rankOf(input);
  const channels = facts.weight(scale)?.shape[0];
  const weight = ownVector(scale, channels, facts);
  const shift = ownVector(bias, channels, facts);
  if (rank === undefined || rank < 2 || rank > 5 || weight?.isFrozen !== shift?.isFrozen) return undefined;
  if (weight === undefined || shift === undefined || facts.value(mean)?.role !== 'buffer') return undefined;
  const epsilon = attributeReaders(operator.attributes).float('epsilon', 1e-5);
  return {
    callee: `BatchNorm${Math.max(1, rank - 2)}d`,
    inputs: [tensor(input)],
    settings: [String(channels), ...epsilonText(epsilon)],
    ...made([operator], [weight]),
  };
}

const epsilonText = (epsilon: number, standard = 1e-5): readonly string[] =>
  numberText(epsilon) === numberText(standard) ? [] : [`eps=${numberText(epsilon)}`];

function normalization(operator: Operator, facts: GraphFacts): SpecCall | undefined {
  const isRms = operator.type === 'RMSNormalization';
  const [input = '', scale, bias] = operator.inputs;
  const rank = facts.rankOf(input);
  const axis = attributeReaders(operator.attributes).float('axis', -1);
  const weight = facts.weight(scale);
  if (rank === undefined || weight === undefined || !facts.isOwn(weight.base)) return undefined;
  const axes = axis < 0 ? -axis : rank - axis;
  if (weight.shape.length !== axes || operator.outputs.slice(1).some((name) => name !== '')) return undefined;
  const isShifted = bias !== undefined && bias !== '';
  const shift = isShifted ? facts.weight(bias) : undefined;
  if (isShifted && (shift?.isFrozen !== weight.isFrozen || !facts.isOwn(shift.base))) return undefined;
  return {
    callee: isRms ? 'RMSNorm' : 'LayerNorm',
    inputs: [tensor(input)],
    settings: [
      perShape(weight.shape),
      ...epsilonText(attributeReaders(operator.attributes).float('epsilon', 1e-5), isRms ? -1 : 1e-5),
      ...(isRms || isShifted ? [] : ['bias=False']),
    ],
    ...made([operator], [weight]),
  };
}

const perShape = (shape: readonly number[]): string =>
  shape.length === 1 ? String(shape[0]) : tupleText(shape);
