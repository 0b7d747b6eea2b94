/** Functions on tensors without weights: arithmetic, products, shapes; and losses. */

import { type Dimension, equalDimensions, isSymbolic, multiplyDimensions } from '../../../model/dimension.ts';
import {
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type SpecValue,
  text,
} from '../layerDefinition.ts';

function arithmetic(name: string, operator: string, documentation: string): LayerDefinition {
  return {
    name,
    kind: 'function',
    documentation,
    source: `torch.${name}.html`,
    inputs: { names: ['input', 'other'], least: 2, variadic: true },
    parameters: [],
    lower: (call) => {
      const [first, ...others] = call.inputs;
      if (first === undefined) return undefined;
      return others.reduce((sum, other) => call.emit(operator, [sum, other]), first);
    },
  };
}

const scale: LayerDefinition = {
  name: 'scale',
  kind: 'function',
  documentation: 'Multiplies by a number.',
  source: 'torch.mul.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [{ name: 'factor', type: 'number', documentation: 'The number.' }],
  lower: (call) => {
    const [input] = call.inputs;
    return call.emit('Mul', [
      input,
      call.scalarConstant(call.number('factor'), input?.elementType ?? 'float32'),
    ]);
  },
};

const matmul: LayerDefinition = {
  name: 'matmul',
  kind: 'function',
  documentation: 'Product of the last two axes, broadcast over the others.',
  source: 'torch.matmul.html',
  inputs: { names: ['input', 'other'], least: 2 },
  parameters: [],
  lower: (call) => call.emit('MatMul', [call.inputs[0], call.inputs[1]]),
};

const concatenation = (name: string): LayerDefinition => ({
  name,
  kind: 'function',
  documentation: 'Joins tensors along one axis.',
  source: 'torch.cat.html',
  inputs: { names: ['tensors'], least: 1, variadic: true },
  parameters: [
    {
      name: 'dim',
      type: 'integer',
      default: name === 'concat' ? 1 : 0,
      documentation: 'Axis along which they are joined.',
    },
  ],
  lower: (call) => call.emit('Concat', [...call.inputs], { axis: int(call.integer('dim')) }),
});

const reshape: LayerDefinition = {
  name: 'reshape',
  kind: 'function',
  documentation: 'The same elements in another shape; -1 stands for what is left.',
  source: 'torch.reshape.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [{ name: 'shape', type: 'dimensions', rest: true, documentation: 'Sizes of the output.' }],
  lower: (call) => {
    const sizes = listOf(call.value('shape'));
    const input = call.inputs[0]?.shape;
    // ONNX copies a size where 0 is written; a symbolic size that is not copied becomes the one that is left.
    let open = sizes.includes(-1);
    const shape: number[] = [];
    for (const [axis, size] of sizes.entries()) {
      if (typeof size === 'number') {
        if (!Number.isInteger(size) || size < -1) {
          return call.problem('spec/argument', `a size is a whole number or -1, not ${size}`, 'shape');
        }
        shape.push(size);
        continue;
      }
      if (size === null || typeof size !== 'object' || !('kind' in size)) {
        return call.problem('spec/argument', 'a shape is a list of sizes', 'shape');
      }
      const copied = input?.[axis];
      if (copied !== undefined && equalDimensions(copied, size)) shape.push(0);
      else if (!open) {
        open = true;
        shape.push(-1);
      } else {
        const fixed = call.fixed(size);
        if (fixed === undefined) return undefined;
        shape.push(fixed);
      }
    }
    return call.emit('Reshape', [call.inputs[0], call.integersConstant(shape)]);
  },
};

const flatten: LayerDefinition = {
  name: 'Flatten',
  kind: 'module',
  documentation: 'Joins a range of axes into one.',
  source: 'torch.nn.Flatten.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'start_dim', type: 'integer', default: 1, documentation: 'First axis joined.' },
    { name: 'end_dim', type: 'integer', default: -1, documentation: 'Last axis joined.' },
  ],
  lower: (call) => {
    const [input] = call.inputs;
    const start = call.integer('start_dim');
    const end = call.integer('end_dim');
    const shape = input?.shape;
    if (start === 1 && (end === -1 || end === (shape?.length ?? 0) - 1)) {
      return call.emit('Flatten', [input], { axis: int(1) });
    }
    if (shape === undefined) return undefined;
    const first = start < 0 ? start + shape.length : start;
    const last = end < 0 ? end + shape.length : end;
    if (first < 0 || last >= shape.length || first > last) {
      return call.problem(
        'spec/argument',
        `the input has no axes ${start} to ${end}; it has ${shape.length}`,
        'start_dim',
      );
    }
    const joined = shape.slice(first, last + 1).reduce<Dimension>((a, b) => multiplyDimensions(a, b), 1);
    const fixed = [...shape.slice(0, first).map(() => 0), isSymbolic(joined) ? -1 : call.fixed(joined)];
    const after = shape.slice(last + 1).map((size) => (isSymbolic(size) ? undefined : call.fixed(size)));
    const sizes = [...fixed, ...after];
    if (sizes.some((size) => size === undefined)) return undefined;
    return call.emit('Reshape', [input, call.integersConstant(sizes.map(Number))]);
  },
};

const permute: LayerDefinition = {
  name: 'permute',
  kind: 'function',
  documentation: 'Reorders the axes.',
  source: 'torch.permute.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [{ name: 'dims', type: 'dimensions', rest: true, documentation: 'Old axis of every new one.' }],
  lower: (call) => {
    const order = listOf(call.value('dims')).filter((axis) => typeof axis === 'number');
    const rank = call.inputs[0]?.shape?.length ?? order.length;
    const axes = order.map((axis) => (axis < 0 ? axis + rank : axis));
    if (axes.length !== rank || [...axes].sort((a, b) => a - b).some((axis, index) => axis !== index)) {
      return call.problem('spec/argument', `\`dims\` names each of the ${rank} axes once`, 'dims');
    }
    return call.emit('Transpose', [call.inputs[0]], { perm: ints(axes) });
  },
};

const transpose: LayerDefinition = {
  name: 'transpose',
  kind: 'function',
  documentation: 'Swaps two axes.',
  source: 'torch.transpose.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'dim0', type: 'integer', documentation: 'One axis.' },
    { name: 'dim1', type: 'integer', documentation: 'The other.' },
  ],
  lower: (call) => {
    const rank = call.inputs[0]?.shape?.length;
    if (rank === undefined) return undefined;
    const first = axisOf(call, 'dim0', rank);
    const second = axisOf(call, 'dim1', rank);
    if (first === undefined || second === undefined) return undefined;
    const perm = Array.from({ length: rank }, (_, axis) => axis);
    perm[first] = second;
    perm[second] = first;
    return call.emit('Transpose', [call.inputs[0]], { perm: ints(perm) });
  },
};

const select: LayerDefinition = {
  name: 'select',
  kind: 'function',
  documentation: 'One position of an axis, which is dropped: `x[:, 0]` is `select(x, 1, 0)`.',
  source: 'torch.select.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'dim', type: 'integer', documentation: 'The axis.' },
    { name: 'index', type: 'integer', documentation: 'The position.' },
  ],
  lower: (call) =>
    call.emit('Gather', [call.inputs[0], call.scalarConstant(call.integer('index'), 'int64')], {
      axis: int(call.integer('dim')),
    }),
};

const mean: LayerDefinition = {
  name: 'mean',
  kind: 'function',
  documentation: 'Mean over axes.',
  source: 'torch.mean.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'dim', type: 'any', documentation: 'Axis or axes.' },
    { name: 'keepdim', type: 'boolean', default: false, documentation: 'Whether they stay with size 1.' },
  ],
  lower: (call) => {
    const axes = listOf(call.value('dim')).filter((axis) => typeof axis === 'number');
    return call.emit('ReduceMean', [call.inputs[0], call.integersConstant(axes)], {
      keepdims: int(call.boolean('keepdim') ? 1 : 0),
    });
  },
};

const crossEntropyLoss: LayerDefinition = {
  name: 'CrossEntropyLoss',
  kind: 'module',
  documentation:
    'Softmax and negative log-likelihood of class scores [batch, classes, …] from two sources: scores, labels.',
  source: 'torch.nn.CrossEntropyLoss.html',
  inputs: { names: ['input', 'target'], least: 2 },
  parameters: [
    { name: 'ignore_index', type: 'integer', default: -100, documentation: 'Label that does not count.' },
    { name: 'reduction', type: 'string', default: 'mean', documentation: "'mean', 'sum' or 'none'." },
  ],
  lower: (call) =>
    call.emit('SoftmaxCrossEntropyLoss', [call.inputs[0], call.inputs[1]], {
      reduction: text(call.string('reduction')),
      ignore_index: int(call.integer('ignore_index')),
    }),
};

const listOf = (value: SpecValue): readonly SpecValue[] => (Array.isArray(value) ? value : [value]);

function axisOf(call: LayerLowering, name: string, rank: number): number | undefined {
  const axis = call.integer(name);
  if (axis < -rank || axis >= rank) {
    return call.problem('spec/argument', `the input has no axis ${axis}; it has ${rank}`, name);
  }
  return axis < 0 ? axis + rank : axis;
}

export const tensorLayers: readonly LayerDefinition[] = [
  arithmetic('add', 'Add', 'Sum of tensors, broadcast.'),
  arithmetic('sub', 'Sub', 'Difference of tensors, broadcast.'),
  arithmetic('mul', 'Mul', 'Product element by element, broadcast.'),
  arithmetic('div', 'Div', 'Quotient element by element, broadcast.'),
  scale,
  matmul,
  concatenation('concat'),
  concatenation('cat'),
  reshape,
  flatten,
  permute,
  transpose,
  select,
  mean,
  crossEntropyLoss,
];
