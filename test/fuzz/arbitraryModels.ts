/** ONNX models of random operators, rightly and wrongly applied: any attribute, shape, element type, subgraph, function. */

import fc from 'fast-check';
import { elementTypes } from '../../server/src/model/elementType.ts';
import { knownOperators } from '../../server/src/operators/registry.ts';
import type {
  AttributeDescription,
  FunctionDescription,
  GraphDescription,
  ModelDescription,
  NodeDescription,
  TensorDescription,
} from '../support/onnxBytes.ts';

/** Few names, so that nodes read what others wrote, themselves included. */
const valueName = fc.constantFrom(
  ...['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'x', 'y', 'w', 's', 't'],
  '',
  '/layer.0/attn/MatMul_output_0',
);

const size = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 9 }).map(String) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('N', 'N', 'batch', 'seq', '?', 'N*seq', 'N + 1', 'floor(N/2)', '-1', '2*('),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('1000000007', '4294967296', '9007199254740993', '9223372036854775807'),
  },
);
const elementType = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('float32', 'int64') },
  { weight: 1, arbitrary: fc.constantFrom(...elementTypes) },
);
const tensorType = fc
  .tuple(elementType, fc.array(size, { maxLength: 5 }))
  .map(([type, sizes]) => (sizes.length === 0 ? type : `${type}[${sizes.join(',')}]`));
const valueType = fc.oneof(
  { weight: 12, arbitrary: tensorType },
  { weight: 1, arbitrary: tensorType.map((type) => `seq(${type})`) },
  { weight: 1, arbitrary: tensorType.map((type) => `optional(seq(${type}))`) },
  { weight: 1, arbitrary: tensorType.map((type) => `map(int64, ${type})`) },
);

const content = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -4, max: 9 }) },
  { weight: 1, arbitrary: fc.constantFrom(2 ** 31, 10 ** 9, 2 ** 53 - 1, -(2 ** 53 - 1), -(10 ** 9)) },
);
const storedTensor: fc.Arbitrary<TensorDescription> = fc.oneof(
  fc.array(content, { maxLength: 6 }).map((elements) => ({ type: `int64[${elements.length}]`, elements })),
  content.map((element) => ({ type: 'int64', elements: [element] })),
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 4 })
    .map((sizes) => ({ type: `float32[${sizes.join(',')}]` })),
  fc
    .tuple(fc.constantFrom('bool', 'int32', 'float32', 'string'), fc.integer({ min: 0, max: 1 }))
    .map(
      ([type, element]): TensorDescription =>
        type === 'string'
          ? { type: 'string[1]', strings: ['%d,a*'] }
          : { type: `${type}[1]`, elements: [element] },
    ),
);

const attributeName = fc.constantFrom(
  ...['K', 'N', 'activation', 'activations', 'allowzero', 'alpha', 'auto_pad', 'axes', 'axis', 'batch_axis'],
  ...['batch_dims', 'beta', 'block_size', 'blocksize', 'body', 'broadcast', 'ceil_mode', 'consumed_inputs'],
  ...[
    'dilations',
    'direction',
    'do_rotary',
    'dtype',
    'else_branch',
    'ends',
    'equation',
    'exclusive',
    'group',
  ],
  ...[
    'groups',
    'hidden_size',
    'is_causal',
    'k',
    'keepdims',
    'kernel_shape',
    'kv_num_heads',
    'layout',
    'mode',
  ],
  ...['new_axis', 'noop_with_empty_axes', 'num_groups', 'num_heads', 'num_outputs', 'num_scan_inputs'],
  ...['onesided', 'output_height', 'output_padding', 'output_shape', 'output_width', 'p', 'pads', 'perm'],
  ...['pooled_shape', 'q_num_heads', 'qkv_hidden_sizes', 'reduction', 'rotary_embedding_dim', 'sample_size'],
  ...['scale', 'scales', 'scan_input_axes', 'scan_output_axes', 'shape', 'size', 'split', 'starts', 'steps'],
  ...[
    'storage_order',
    'strides',
    'then_branch',
    'to',
    'transA',
    'transB',
    'value',
    'value_int',
    'value_ints',
  ],
  ...['value_float', 'value_string', 'vectors_per_class', 'width_scale', 'height_scale', 'training_mode'],
);

const plainAttribute: fc.Arbitrary<AttributeDescription> = fc.oneof(
  content,
  fc.array(content, { minLength: 1, maxLength: 6 }),
  fc.constantFrom<AttributeDescription>(
    ...[
      'bidirectional',
      'reverse',
      'SAME_UPPER',
      'VALID',
      'ij,jk->ik',
      '...ii->i',
      'CRD',
      'linear',
      'none',
      '',
    ],
    { float: 0.5 },
    { float: Number.NaN },
    { float: -1e38 },
    { floats: [1, 2, 0.5, 1e30] },
    ['Tanh', 'Relu'],
    { reference: 'k', type: 2 },
    { reference: 'missing', type: 7 },
    { typeProto: 'seq(float[N])' },
  ),
  storedTensor.map((tensor) => ({ tensor })),
);

const operators = fc.constantFrom(
  ...new Map(knownOperators().map(({ type, domain }) => [`${domain}:${type}`, { type, domain }])).values(),
);
/** Those that others pass through: shapes computed, subgraphs entered. */
const connected = fc
  .constantFrom(
    ...[
      'Shape',
      'Gather',
      'Concat',
      'Reshape',
      'Slice',
      'Expand',
      'Constant',
      'ConstantOfShape',
      'Range',
      'Tile',
    ],
    ...[
      'Mul',
      'Div',
      'Add',
      'Unsqueeze',
      'Squeeze',
      'Cast',
      'Split',
      'Pad',
      'MatMul',
      'Conv',
      'Identity',
      'Where',
    ],
    ...[
      'If',
      'Loop',
      'Scan',
      'SequenceMap',
      'SequenceConstruct',
      'SequenceAt',
      'SequenceInsert',
      'SplitToSequence',
    ],
    ...['Einsum', 'Transpose', 'Resize', 'Size', 'Mod', 'ReduceProd', 'OneHot', 'TopK', 'Gemm', 'Attention'],
  )
  .map((type) => ({ type, domain: '' }));
const called = fc.record({
  type: fc.constantFrom('f0', 'f1', 'f2', 'Relu'),
  domain: fc.constantFrom('own', ''),
});

const { node, graph } = fc.letrec<{ node: NodeDescription; graph: GraphDescription }>((tie) => ({
  node: fc
    .record({
      operator: fc.oneof(
        { weight: 6, arbitrary: operators },
        { weight: 6, arbitrary: connected },
        { weight: 1, arbitrary: called },
      ),
      name: fc.option(fc.constantFrom('/layer.0/attn/MatMul', 'n', 'n', '/', '//', 'é\n"'), {
        nil: undefined,
      }),
      inputs: fc.array(valueName, { maxLength: 5 }),
      outputs: fc.array(valueName, { maxLength: 3 }),
      plain: fc.dictionary(attributeName, plainAttribute, { maxKeys: 3 }),
      body: fc.option(tie('graph'), { nil: undefined, freq: 1, depthSize: 'small', maxDepth: 3 }),
    })
    .map(({ operator, name, inputs, outputs, plain, body }) => ({
      ...operator,
      ...(name === undefined ? {} : { name }),
      inputs,
      outputs,
      attributes: { ...plain, ...bodiesOf(operator.type, body) },
    })),
  graph: fc.record({
    nodes: fc.array(tie('node'), { maxLength: 8 }),
    inputs: fc.dictionary(valueName, valueType, { maxKeys: 4 }),
    outputs: fc.dictionary(valueName, valueType, { maxKeys: 3 }),
    valueInfos: fc.dictionary(valueName, valueType, { maxKeys: 2 }),
    initializers: fc.array(
      fc.tuple(valueName, storedTensor).map(([name, tensor]) => ({ ...tensor, name })),
      { maxLength: 4 },
    ),
  }),
}));

/** Control flow is given its bodies, the others mostly none. */
function bodiesOf(type: string, body: GraphDescription | undefined): Record<string, AttributeDescription> {
  if (body === undefined) return {};
  if (type === 'If') return { then_branch: { graph: body }, else_branch: { graph: { ...body, nodes: [] } } };
  return ['Loop', 'Scan', 'SequenceMap', 'f0'].includes(type) ? { body: { graph: body } } : {};
}

const functionBody: fc.Arbitrary<FunctionDescription> = fc.record({
  name: fc.constantFrom('f0', 'f1', 'f2'),
  domain: fc.constantFrom('own', ''),
  inputs: fc.array(valueName, { maxLength: 3 }),
  outputs: fc.array(valueName, { maxLength: 2 }),
  attributes: fc.constantFrom([], ['k']),
  defaults: fc.dictionary(fc.constantFrom('k', 'axis'), content, { maxKeys: 1 }),
  nodes: fc.array(node, { maxLength: 4 }),
});

export const arbitraryModel: fc.Arbitrary<ModelDescription> = fc.record({
  irVersion: fc.constantFrom(3, 8, 10, 13),
  operatorSets: fc.integer({ min: 1, max: 26 }).map((version) => ({
    '': version,
    'ai.onnx.ml': Math.min(version, 5),
    'com.microsoft': 1,
    'ai.onnx.preview.training': 1,
    own: 1,
  })),
  graph,
  functions: fc.array(functionBody, { maxLength: 3 }),
});

/** A model that is mostly right: a chain through inputs of matching kinds, so that costs are reached. */
export const arbitraryChain: fc.Arbitrary<ModelDescription> = fc
  .record({
    shape: fc.array(size, { minLength: 1, maxLength: 4 }),
    operators: fc.array(fc.tuple(fc.oneof(operators, connected), fc.array(valueName, { maxLength: 3 })), {
      minLength: 1,
      maxLength: 12,
    }),
    plain: fc.array(fc.dictionary(attributeName, plainAttribute, { maxKeys: 2 }), { maxLength: 12 }),
    initializers: fc.array(fc.tuple(valueName, storedTensor), { maxLength: 6 }),
    opset: fc.integer({ min: 7, max: 26 }),
  })
  .map(({ shape, operators: chosen, plain, initializers, opset }) => ({
    operatorSets: { '': opset, 'com.microsoft': 1, 'ai.onnx.ml': 4 },
    graph: {
      inputs: { x: `float32[${shape.join(',')}]` },
      outputs: { [`v${chosen.length}`]: 'float32' },
      initializers: initializers.map(([name, tensor]) => ({ ...tensor, name })),
      nodes: chosen.map(([operator, others], index) => ({
        ...operator,
        name: `/block.${index % 3}/${operator.type}_${index}`,
        inputs: [index === 0 ? 'x' : `v${index}`, ...others],
        outputs: [`v${index + 1}`],
        attributes: plain[index] ?? {},
      })),
    },
  }));
