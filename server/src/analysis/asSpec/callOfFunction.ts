/**
 * Operators without weights in PyTorch's words: activations, pools, shapes, parts and sums. A word stands only where the layer spec
 * lowers it to the same operator, so that the text costs what the graph costs.
 */

import { axisOfSoftmax } from '../../composites/axis.ts';
import { isKnownShape, type Operator } from '../../model/graph.ts';
import { attributeReaders } from '../../operators/attributeReaders.ts';
import { perAxis, unless } from './callOfWeighted.ts';
import type { GraphFacts } from './graphFacts.ts';
import { type SpecCall, tensor } from './specCall.ts';
import { numberText, sizeText, tupleText } from './specValues.ts';

/** What is called, and what stands behind the tensors. */
interface Words {
  readonly callee: string;
  readonly settings?: readonly string[];
  /** Fewer than the operator reads, where the rest became settings. */
  readonly tensors?: readonly string[];
}

/** `undefined` for an operator that no function or layer is. */
export function callOfFunction(operator: Operator, facts: GraphFacts): SpecCall | undefined {
  const { domain, type, inputs, outputs, index } = operator;
  if (domain !== '') return undefined;
  const words = rules[type]?.(operator, facts);
  if (words === undefined) return undefined;
  const { callee, settings = [], tensors = inputs.slice(0, 1) } = words;
  return {
    callee,
    kind: /^[A-Z]/.test(callee) ? 'module' : 'function',
    inputs: tensors.map(tensor),
    settings,
    outputs,
    operators: [index],
  };
}

type Rule = (operator: Operator, facts: GraphFacts) => Words | undefined;

/** A layer that has no settings, of an operator that has no attributes. */
const plain =
  (callee: string): Rule =>
  ({ attributes, outputs }) =>
    attributes.size === 0 && outputs.length === 1 ? { callee } : undefined;

/** A layer with one number. */
const withNumber =
  (callee: string, attribute: string, ofOnnx: number, ofTorch: number): Rule =>
  ({ attributes }) => {
    const value = attributeReaders(attributes).float(attribute, ofOnnx);
    return { callee, settings: numberText(value) === numberText(ofTorch) ? [] : [numberText(value)] };
  };

const alongAxis =
  (callee: string): Rule =>
  (operator, { graph }) => {
    const axis = axisOfSoftmax(graph, operator);
    return axis === undefined ? undefined : { callee, settings: [`dim=${axis}`] };
  };

const hardSigmoid: Rule = ({ attributes }) => {
  const { float } = attributeReaders(attributes);
  const isTorch = Math.abs(float('alpha', 0.2) - 1 / 6) < 1e-6 && float('beta', 0.5) === 0.5;
  return isTorch ? { callee: 'Hardsigmoid' } : undefined;
};

const globalPool =
  (kind: 'Avg' | 'Max'): Rule =>
  ({ inputs: [input] }, facts) => {
    const axes = (facts.rankOf(input) ?? Number.NaN) - 2;
    return !(axes >= 1 && axes <= 3) ? undefined : { callee: `Adaptive${kind}Pool${axes}d`, settings: ['1'] };
  };

const pool =
  (kind: 'Avg' | 'Max'): Rule =>
  ({ inputs: [input], outputs, attributes }, facts) => {
    const { int, ints, string } = attributeReaders(attributes);
    const kernel = ints('kernel_shape') ?? [];
    const axes = kernel.length;
    if (axes < 1 || axes > 3 || facts.rankOf(input) !== axes + 2 || outputs.length > 1) return undefined;
    if (string('auto_pad', 'NOTSET') !== 'NOTSET' || int('storage_order', 0) !== 0) return undefined;
    const pads = ints('pads') ?? kernel.map(() => 0);
    const before = pads.slice(0, axes);
    const isEven = pads.slice(axes).every((pad, axis) => pad === before[axis]);
    // PyTorch pads by half a window at most.
    if (!isEven || before.some((pad, axis) => 2 * pad > Number(kernel[axis]))) return undefined;
    const dilations = ints('dilations') ?? [];
    if (kind === 'Avg' && dilations.some((dilation) => dilation !== 1)) return undefined;
    const strides = ints('strides') ?? kernel.map(() => 1);
    const isWindow = strides.every((stride, axis) => stride === kernel[axis]);
    const isPadded = before.some((pad) => pad > 0);
    return {
      callee: `${kind}Pool${axes}d`,
      settings: [
        `kernel_size=${perAxis(kernel)}`,
        ...(isWindow ? [] : [`stride=${perAxis(strides)}`]),
        ...unless('padding', before, 0),
        ...unless('dilation', dilations, 1),
        ...(int('ceil_mode', 0) === 1 ? ['ceil_mode=True'] : []),
        ...(kind === 'Avg' && isPadded && int('count_include_pad', 0) === 0
          ? ['count_include_pad=False']
          : []),
      ],
    };
  };

/** Integers of an attribute, or of an input as newer versions have them; `undefined` where they are not known. */
function integersOf(operator: Operator, name: string, at: number, facts: GraphFacts) {
  const given = attributeReaders(operator.attributes).ints(name);
  if (given !== undefined) return given;
  const elements = facts.value(operator.inputs[at])?.content?.elements;
  const numbers = elements?.filter((element) => typeof element === 'number');
  return numbers?.length === elements?.length ? numbers : undefined;
}

const oneOrAll = (values: readonly number[]): string =>
  values.length === 1 ? String(values[0]) : tupleText(values);

const reduction =
  (callee: string): Rule =>
  (operator, facts) => {
    const axes = integersOf(operator, 'axes', 1, facts);
    if (axes === undefined || axes.length === 0) return undefined;
    const isKept = attributeReaders(operator.attributes).int('keepdims', 1) === 1;
    return { callee, settings: [`dim=${oneOrAll(axes)}`, ...(isKept ? ['keepdim=True'] : [])] };
  };

const concatenation: Rule = ({ attributes, inputs }, facts) => {
  const axis = attributeReaders(attributes).int('axis');
  const isKnown = inputs.every((name) => name !== '' && facts.value(name)?.content === undefined);
  return axis === undefined || !isKnown
    ? undefined
    : { callee: 'cat', settings: [`dim=${axis}`], tensors: inputs };
};

const permutation: Rule = ({ attributes }) => {
  const order = attributeReaders(attributes).ints('perm');
  return order === undefined ? undefined : { callee: 'permute', settings: order.map(String) };
};

/** Sizes of the result, -1 for one that no expression gives. */
const reshape: Rule = ({ outputs }, facts) => {
  const to = facts.value(outputs[0])?.type;
  if (to?.kind !== 'tensor' || !isKnownShape(to.shape) || to.shape.length === 0) return undefined;
  const sizes = to.shape.map(sizeText);
  const open = sizes.filter((size) => size === undefined).length;
  if (open > 1 || to.shape.includes(0)) return undefined;
  return { callee: 'reshape', settings: sizes.map((size) => size ?? '-1') };
};

const flatten: Rule = ({ attributes, inputs: [input] }, facts) =>
  attributeReaders(attributes).int('axis', 1) === 1 && Number(facts.rankOf(input)) > 1
    ? { callee: 'Flatten' }
    : undefined;

const squeeze: Rule = (operator, facts) => {
  const axes = integersOf(operator, 'axes', 1, facts);
  return axes === undefined || axes.length === 0
    ? undefined
    : { callee: 'squeeze', settings: [oneOrAll(axes)] };
};

const unsqueeze: Rule = (operator, facts) => {
  const axes = integersOf(operator, 'axes', 1, facts);
  return axes?.length === 1 ? { callee: 'unsqueeze', settings: [String(axes[0])] } : undefined;
};

const expansion: Rule = ({ inputs: [input], outputs: [output] }, facts) => {
  const to = facts.value(output)?.type;
  const rank = facts.rankOf(input);
  if (to?.kind !== 'tensor' || !isKnownShape(to.shape) || rank === undefined) return undefined;
  const sizes = to.shape.map(sizeText);
  if (sizes.length < Math.max(1, rank) || sizes.includes(undefined) || to.shape.includes(0)) return undefined;
  return { callee: 'expand', settings: sizes.flatMap((size) => size ?? []) };
};

/** One position of an axis. */
const selection: Rule = ({ attributes, inputs: [input, at] }, facts) => {
  const content = facts.value(at)?.content;
  const [position] = content?.elements ?? [];
  if (content?.shape.length !== 0 || typeof position !== 'number') return undefined;
  if (facts.numbersOf(input) === undefined) return undefined;
  const axis = attributeReaders(attributes).int('axis', 0);
  return { callee: 'select', settings: [String(axis), String(position)] };
};

/** A range of one axis. */
const range: Rule = (operator, facts) => {
  const [starts, ends, axes, steps] = ['starts', 'ends', 'axes', 'steps'].map((name, index) =>
    integersOf(operator, name, index + 1, facts),
  );
  const [start] = starts ?? [];
  const [end] = ends ?? [];
  const step = steps?.[0] ?? 1;
  if (start === undefined || end === undefined || starts?.length !== 1 || step < 1) return undefined;
  if (steps === undefined && (operator.inputs[4] ?? '') !== '') return undefined;
  if (axes === undefined && (operator.inputs[3] ?? '') !== '') return undefined;
  const isOpen = end >= 2 ** 31 - 1;
  const settings = [
    String(axes === undefined ? 0 : axes[0]),
    String(start),
    isOpen ? 'None' : String(end),
    String(step),
  ];
  const kept = step !== 1 ? 4 : !isOpen ? 3 : start !== 0 ? 2 : 1;
  return { callee: 'slice', settings: settings.slice(0, kept) };
};

const division: Rule = ({ attributes, inputs: [input], outputs }, facts) => {
  const axis = attributeReaders(attributes).int('axis', 0);
  const sizes = outputs.map((name) => facts.numbersOf(name)?.at(axis));
  const known = sizes.filter((size) => size !== undefined);
  const total = facts.numbersOf(input)?.at(axis);
  if (known.length < 2 || known.length !== outputs.length || outputs.includes('')) return undefined;
  if (total !== known.reduce((sum, size) => sum + size, 0)) return undefined;
  const isEven = known.every((size) => size === known[0]);
  const parts = isEven ? String(known[0]) : tupleText(known);
  return { callee: 'split', settings: [parts, ...(axis === 0 ? [] : [`dim=${axis}`])] };
};

const clipping: Rule = ({ inputs, attributes }, facts) => {
  const { float } = attributeReaders(attributes);
  const [least, most] = ['min', 'max'].map((name, index) => {
    const [bound] = facts.value(inputs[index + 1])?.content?.elements ?? [];
    return typeof bound === 'number' ? bound : float(name);
  });
  return least === 0 && most === 6 ? { callee: 'ReLU6' } : undefined;
};

/** A branch that is known to be taken and only shows a tensor in another shape, as exports of `squeeze` leave behind. */
const branch: Rule = (operator, facts) => {
  const [condition] = facts.value(operator.inputs[0])?.content?.elements ?? [];
  if (typeof condition !== 'number' || operator.outputs.length !== 1) return undefined;
  const taken = operator.attributes.get(condition === 0 ? 'else_branch' : 'then_branch');
  if (taken?.kind !== 'graph') return undefined;
  const [only, ...others] = taken.value.operators.filter(({ type }) => type !== 'Constant');
  const [input = ''] = only?.inputs ?? [];
  const isView = only?.type === 'Identity' || only?.type === 'Squeeze' || only?.type === 'Unsqueeze';
  if (!isView || others.length > 0 || facts.value(input) === undefined) return undefined;
  const words = only.type === 'Identity' ? { callee: 'Identity' } : reshape(operator, facts);
  return words && { ...words, tensors: [input] };
};

const rules: Readonly<Record<string, Rule>> = {
  Relu: plain('ReLU'),
  Sigmoid: plain('Sigmoid'),
  Tanh: plain('Tanh'),
  Softsign: plain('Softsign'),
  Identity: plain('Identity'),
  HardSwish: plain('Hardswish'),
  Mish: plain('Mish'),
  Softplus: plain('Softplus'),
  LeakyRelu: withNumber('LeakyReLU', 'alpha', 0.01, 0.01),
  Elu: withNumber('ELU', 'alpha', 1, 1),
  HardSigmoid: hardSigmoid,
  Softmax: alongAxis('Softmax'),
  LogSoftmax: alongAxis('LogSoftmax'),
  Clip: clipping,
  GlobalAveragePool: globalPool('Avg'),
  GlobalMaxPool: globalPool('Max'),
  AveragePool: pool('Avg'),
  MaxPool: pool('Max'),
  ReduceMean: reduction('mean'),
  ReduceSum: reduction('sum'),
  ReduceMax: reduction('amax'),
  ReduceMin: reduction('amin'),
  Concat: concatenation,
  Transpose: permutation,
  Reshape: reshape,
  Flatten: flatten,
  Squeeze: squeeze,
  Unsqueeze: unsqueeze,
  Expand: expansion,
  Gather: selection,
  Slice: range,
  Split: division,
  If: branch,
};
