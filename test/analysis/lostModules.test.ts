/** Parameters of the exported program that no operator of the file reads. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { lostModules } from '../../server/src/analysis/restoration/lostModules.ts';
import { lostProjections } from '../../server/src/analysis/restoration/lostProjections.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { onnxModel } from '../support/onnxModel.ts';

const issueOf = (model: OnnxModel) => lostModules(model, analyzeOnnx(model));

/** Two normalizations of one input, merged where `isMerged`, and attention whose `out_proj` its module reads by itself. */
function fileOf(isMerged: boolean, signature: boolean) {
  const model = onnxModel({
    inputs: ['x: float32[2, 4, 8, 8]'],
    outputs: ['y'],
    initializers: [
      'block.left.weight: float32[4]',
      'block.left.bias: float32[4]',
      'mean: float32[4]',
      'var: float32[4]',
    ],
    nodes: [
      'l = BatchNormalization(x, block.left.weight, block.left.bias, mean, var)',
      `r = ${isMerged ? 'Identity(l)' : 'BatchNormalization(x, block.left.weight, block.left.bias, mean, var)'}`,
      'y = Add(l, r)',
    ],
  });
  const norm = 'torch.nn.modules.batchnorm.BatchNorm2d';
  const attention = 'torch.nn.modules.activation.MultiheadAttention';
  const scopes = [
    ['block.left', norm],
    isMerged ? ['block.left', norm] : ['block.right', norm],
    ['attention', attention],
  ] as const;
  const nodes = model.graph.nodes.map((node, index) => {
    const [name = '', type = ''] = scopes[index] ?? [];
    return {
      ...node,
      metadata: new Map([
        ['pkg.torch.onnx.name_scopes', `['', '${name}', 'call']`],
        ['pkg.torch.onnx.class_hierarchy', `['Net', '${type}', 'aten.call']`],
      ]),
    };
  });
  const parameters = [
    'block.left.weight',
    'block.left.bias',
    'block.right.weight',
    'block.right.bias',
    'attention.out_proj.weight',
    'scale',
  ];
  const recorded = parameters.map((name) => `p_x: PARAMETER target='${name}'`).join('\n');
  const key = 'pkg.torch.export.ExportedProgram.graph_signature';
  return {
    ...model,
    graph: { ...model.graph, nodes, ...(signature ? { metadata: new Map([[key, recorded]]) } : {}) },
  };
}

/** An LSTM, whose recorded call reads these parameters of `rnn`. */
function lstmOf(called: readonly string[]) {
  const model = onnxModel({
    inputs: ['x: float32[8, 4, 32]'],
    outputs: ['y'],
    initializers: ['w: float32[1, 64, 32]', 'r: float32[1, 64, 16]'],
    nodes: ['y = LSTM(x, w, r)'],
  });
  const signature = called.map((leaf) => `p_${leaf}: PARAMETER target='rnn.${leaf}'`).join('\n');
  const call = `aten.lstm.input](args = (%x, [%h, %c], [${called.map((leaf) => `%p_${leaf}`).join(', ')}])`;
  const nodes = model.graph.nodes.map((node) => ({
    ...node,
    metadata: new Map([['pkg.torch.onnx.fx_node', call]]),
  }));
  const metadata = new Map([['pkg.torch.export.ExportedProgram.graph_signature', signature]]);
  return { ...model, graph: { ...model.graph, nodes, metadata } };
}

test.each([
  ['with a projection', ['weight_ih_l0', 'weight_hh_l0', 'weight_hr_l0'], 'rnn'],
  ['with one in both directions', ['weight_ih_l0', 'weight_hr_l0', 'weight_hr_l0_reverse'], 'rnn'],
  ['without', ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0'], undefined],
])('an LSTM %s', (_, called, module) => {
  const issue = lostProjections(lstmOf(called));
  expect(issue?.code).toBe(module && 'graph/lost-projection');
  if (module !== undefined) expect(issue?.message).toContain(`The LSTM \`${module}\` had a projection`);
});

test.each([
  ['a module whose operator was merged is named', true, true, 'block.right'],
  ['modules with operators, or read by attention, are not', false, true, undefined],
  ['nothing is said where no parameters are recorded', true, false, undefined],
] as const)('%s', (_, isMerged, signature, module) => {
  const issue = issueOf(fileOf(isMerged, signature));
  expect(issue?.message.match(/first those of `(.*?)`/)?.[1]).toBe(module);
  expect(issue?.code).toBe(module === undefined ? undefined : 'graph/lost-modules');
});

/** Modules with the placeholders that the calls in them read; every placeholder stands for a parameter of the same name. */
function fileOfCalls(calls: Readonly<Record<string, readonly string[]>>, parameters: readonly string[]) {
  const model = onnxModel({
    inputs: ['x: float32[4]'],
    outputs: [`y${Object.keys(calls).length - 1}`],
    nodes: Object.keys(calls).map((_, index) => `y${index} = Relu(${index === 0 ? 'x' : `y${index - 1}`})`),
  });
  const placeholderOf = (name: string) => `p_${name.replaceAll('.', '_')}`;
  const nodes = model.graph.nodes.map((node, index) => {
    const [module = '', read = []] = Object.entries(calls)[index] ?? [];
    return {
      ...node,
      metadata: new Map([
        ['pkg.torch.onnx.name_scopes', `['', '${module}', 'call']`],
        ['pkg.torch.onnx.class_hierarchy', "['Net', 'Module', 'aten.call']"],
        [
          'pkg.torch.onnx.fx_node',
          `%call : args = (%x, ${read.map((name) => `%${placeholderOf(name)}`).join(', ')})`,
        ],
      ]),
    };
  });
  const recorded = parameters.map((name) => `${placeholderOf(name)}: PARAMETER target='${name}'`).join('\n');
  const metadata = new Map([['pkg.torch.export.ExportedProgram.graph_signature', recorded]]);
  return { ...model, graph: { ...model.graph, nodes, metadata } };
}

test.each([
  {
    name: 'a module in one with operators of its own',
    calls: { 'layers.0': [], 'layers.0.norm': ['layers.0.norm.weight'] },
    parameters: ['layers.0.norm.weight', 'layers.0.context.weight'],
    lost: 'layers.0.context',
  },
  {
    name: 'a module that its parent reads itself is there',
    calls: { attention: ['attention.out_proj.weight'] },
    parameters: ['attention.out_proj.weight'],
    lost: undefined,
  },
  {
    name: 'another name of a tied table is no module',
    calls: { 'encoder.embed': ['head.weight'], head: ['head.weight'] },
    parameters: ['shared.weight', 'encoder.embed.weight', 'head.weight'],
    lost: undefined,
  },
  {
    name: 'a module with a bias is no other name of a table',
    calls: { 'encoder.embed': ['head.weight'], head: ['head.weight'] },
    parameters: ['shared.weight', 'shared.bias', 'encoder.embed.weight', 'head.weight'],
    lost: 'shared',
  },
])('where calls are recorded: $name', ({ calls, parameters, lost }) => {
  const issue = issueOf(fileOfCalls(calls, parameters));
  expect(issue?.message.match(/first those of `(.*?)`/)?.[1]).toBe(lost);
});

test.each([
  {
    name: 'a scale of 1, which the exporter takes out',
    calls: { fc: ['fc.weight'] },
    parameters: ['fc.weight', 'fc.scale'],
    message: 'The parameter `fc.scale` is read by',
  },
  {
    name: 'several',
    calls: { fc: ['fc.weight'] },
    parameters: ['fc.weight', 'fc.scale', 'fc.shift'],
    message: '2 parameters, first `fc.scale`, are read by',
  },
  {
    name: 'beside a module',
    calls: { fc: ['fc.weight'] },
    parameters: ['fc.weight', 'fc.scale', 'norm.weight'],
    message: 'Parameters of 1 module, first those of `norm`, and 1 more, are read by',
  },
  {
    name: 'another name of a tied weight',
    calls: { embed: ['head.weight'], head: ['head.weight', 'head.bias'] },
    parameters: ['embed.weight', 'head.weight', 'head.bias'],
    message: undefined,
  },
])('parameters of modules with operators: $name', ({ calls, parameters, message }) => {
  const issue = issueOf(fileOfCalls(calls, parameters));
  expect(issue?.message.slice(0, message?.length)).toBe(message);
});
