/** What is assumed of graphs made by hand: when something is said, of which operator, and word for word what. */

import { describe, expect, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import type { Composite } from '../../server/src/composites/composite.ts';
import { assumptionsOf } from '../../server/src/estimate/assumptions.ts';
import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { Operator, Routing } from '../../server/src/model/graph.ts';
import type { Scenario } from '../../server/src/model/scenario.ts';
import { bytesPerSecond, seconds } from '../../server/src/model/units.ts';
import { type ChainLayer, chain } from '../support/trainingGraph.ts';

const dgx = findCluster('dgx-a100');
if (dgx === undefined) throw new Error('no cluster');

const plain: Scenario = {
  cluster: 'dgx-a100',
  nodes: 1,
  gpus: 1,
  batchPerGpu: 1,
  dimensions: {},
  precision: 'bf16',
  optimizer: 'adamw',
  framework: { name: 'pytorch-ddp', options: {} },
  mode: 'training',
};
const using = (name: string, options: Scenario['framework']['options'] = {}): Partial<Scenario> => ({
  framework: { name, options },
});
const inference: Partial<Scenario> = { mode: 'inference' };

const issuesOf = (training: TrainingGraph, change: Partial<Scenario>, cluster: ClusterProfile = dgx) =>
  assumptionsOf(training, { ...plain, ...change }, cluster);

const graphOf = (
  layers: readonly ChainLayer[],
  { composites = [], change = (operator) => operator }: Found = {},
): TrainingGraph => {
  const training = chain(layers);
  const { analysis } = training;
  return {
    ...training,
    analysis: {
      ...analysis,
      graph: { ...analysis.graph, operators: analysis.graph.operators.map(change) },
      composites: new Map(composites.flatMap((each) => each.operators.map((index) => [index, each]))),
    },
  };
};
interface Found {
  readonly composites?: readonly Composite[];
  readonly change?: (operator: Operator) => Operator;
}
const unnamed = (operator: Operator): Operator => ({ ...operator, name: '' });

/** A composite of some operators of a graph. */
const composite = (
  kind: Composite['kind'],
  operators: readonly number[],
  change: Partial<Composite> = {},
): Composite => ({
  kind,
  name: kind,
  operators,
  roles: {},
  inputs: [],
  outputs: [],
  launchedAs: 'one',
  ...change,
});

test('a plain graph is costed as it stands: nothing is assumed', () => {
  expect(
    issuesOf(
      graphOf([
        { name: 'fc', parameters: 4 },
        { name: 'act', type: 'Relu' },
      ]),
      {},
    ),
  ).toEqual([]);
});

describe('the memory of a host that updates', () => {
  const model = graphOf([{ name: 'fc', parameters: 4 }]);
  const onHost = using('pytorch-fsdp', { 'cpu-offload': 'true' });
  const bandwidth = { value: bytesPerSecond(200e9), source: 'test' };
  const host = { title: 'host', cores: undefined, memory: undefined, gpusPerHostLink: undefined };
  const withHost = (given: ClusterProfile['host']): ClusterProfile => ({ ...dgx, host: given });

  // Four fifths of 76.8 GB/s, two channels of DDR5-4800, and of eight times as many.
  const said = {
    code: 'scenario/assumed-host-memory',
    severity: 'information',
    message:
      'The optimizer runs on the host, whose memory bandwidth the cluster does not say: 61.4 GB/s to 492 GB/s are assumed',
    scenarioKey: 'cluster',
  };
  test.each<[string, Partial<Scenario>, ClusterProfile['host'], readonly object[]]>([
    ['no host', onHost, undefined, [said]],
    ['a host without a bandwidth', onHost, host, [said]],
    ['one with it', onHost, { ...host, memoryBandwidth: bandwidth }, []],
    ['ZeRO-Offload', using('deepspeed-zero', { 'offload-optimizer': 'cpu' }), undefined, [said]],
    ['an update on the GPU', using('pytorch-fsdp'), undefined, []],
    ['inference, which updates nothing', { ...onHost, ...inference }, undefined, []],
  ])('%s', (_, change, of, expected) => {
    expect(issuesOf(model, change, withHost(of))).toEqual(expected);
  });
});

describe('activations in place', () => {
  const kinds = (...types: readonly string[]) => types.map((type) => ({ name: type.toLowerCase(), type }));
  const said = (what: string, first: string) => ({
    code: 'scenario/assumed-in-place',
    severity: 'information',
    message: `${what} or similar are costed as not in place, first \`${first}\`: each keeps its input; set \`in-place=true\` if they have \`inplace=True\``,
    scenarioKey: 'framework',
    scenarioPart: 'in-place',
  });
  const leaky = kinds('LeakyRelu');

  test.each<[string, TrainingGraph, Partial<Scenario>, readonly object[]]>([
    ['one', graphOf(leaky), {}, [said('1 LeakyRelu', 'leakyrelu')]],
    [
      'four, the first of which gives the type',
      graphOf(kinds('Relu', 'Elu', 'Selu', 'Celu', 'LeakyRelu')),
      {},
      [said('4 Elu', 'elu')],
    ],
    ['without a name', graphOf(leaky, { change: unnamed }), {}, [said('1 LeakyRelu', 'leakyrelu.out')]],
    // torch/csrc/autograd, `threshold_backward(grad, result)`: the result is kept either way.
    ['ReLU', graphOf(kinds('Relu', 'Sigmoid', 'Tanh')), {}, []],
    [
      'a program that says it is',
      graphOf(leaky, { change: (each) => ({ ...each, isInPlace: true }) }),
      {},
      [],
    ],
    ['or is not', graphOf(leaky, { change: (each) => ({ ...each, isInPlace: false }) }), {}, []],
    ['a person who said it', graphOf(leaky), using('pytorch-ddp', { 'in-place': 'false' }), []],
    ['inference, which keeps neither', graphOf(leaky), inference, []],
    ['a framework without the option', graphOf(leaky), using('mxnet'), []],
  ])('%s', (_, training, change, expected) => {
    expect(issuesOf(training, change)).toEqual(expected);
  });

  test('of repeated blocks, those of one', () => {
    const whole = graphOf(kinds('Elu', 'Elu', 'Elu'));
    expect(issuesOf({ ...whole, folded: graphOf(kinds('Elu')) }, {})).toEqual([said('1 Elu', 'elu')]);
  });
});

describe('experts', () => {
  const hits: Routing = { kind: 'hits', share: 2, of: 8 };
  const routed = (
    routing: Routing | undefined,
    { type = 'NonZero', change }: { readonly type?: string; readonly change?: Found['change'] } = {},
  ): TrainingGraph => {
    const training = graphOf(
      [
        { name: 'where', type: 'Equal' },
        { name: 'look', type },
      ],
      change === undefined ? {} : { change },
    );
    const { graph } = training.analysis;
    const mask = graph.values.get('where.out');
    if (mask === undefined) throw new Error('no value');
    const values = new Map([
      ...graph.values,
      ['where.out', routing === undefined ? mask : { ...mask, routing }] as const,
    ]);
    return { ...training, analysis: { ...training.analysis, graph: { ...graph, values } } };
  };
  const said = (first: string) => ({
    code: 'scenario/assumed-routing',
    severity: 'information',
    message: `Which experts take which tokens is known only when the model runs. Every expert is costed as if all were chosen equally often, first at \`${first}\`. FLOPs of all experts together do not depend on it, times do`,
  });

  test.each<[string, TrainingGraph, readonly object[]]>([
    ['whose tokens are looked up', routed(hits), [said('look')]],
    ['without a name', routed(hits, { change: unnamed }), [said('look.out')]],
    ['whose numbers are looked up', routed({ kind: 'choice', experts: 8 }), []],
    ['none: a lookup of something else', routed(undefined), []],
    ['none: nothing is looked up', routed(hits, { type: 'Cast' }), []],
  ])('%s', (_, training, expected) => {
    expect(issuesOf(training, {})).toEqual(expected);
    // How many rows a product has is assumed of inference as well.
    expect(issuesOf(training, inference)).toEqual(expected);
  });

  test('of repeated blocks, those of one', () => {
    expect(issuesOf({ ...routed(undefined), folded: routed(hits) }, {})).toEqual([said('look')]);
  });
});

describe('maxima along an axis', () => {
  const layers = [
    { name: 'one', type: 'ReduceMax' },
    { name: 'between', type: 'Relu' },
    { name: 'two', type: 'ReduceMin' },
  ];
  const maximum = (...operators: readonly number[]) => composite('assumed-maximum', operators);
  const said = (what: string, first: string) => ({
    code: 'scenario/assumed-maximum',
    severity: 'information',
    message: `${what} costed as \`max(dim)\`, first \`${first}\`: it keeps positions. \`amax\` keeps what comes in, and the file does not show which it was; the default exporter records it`,
  });
  const single = '1 maximum or minimum along an axis is';

  test.each<[string, TrainingGraph, Partial<Scenario>, readonly object[]]>([
    ['one', graphOf(layers, { composites: [maximum(2)] }), {}, [said(single, 'two')]],
    [
      'two',
      graphOf(layers, { composites: [maximum(0), maximum(2)] }),
      {},
      [said('2 maxima or minima along an axis are', 'one')],
    ],
    [
      'without a name',
      graphOf(layers, { composites: [maximum(2)], change: unnamed }),
      {},
      [said(single, 'two.out')],
    ],
    [
      'of which the file shows the call',
      graphOf(layers, { composites: [composite('recorded-call', [0])] }),
      {},
      [],
    ],
    ['in inference, which keeps nothing', graphOf(layers, { composites: [maximum(2)] }), inference, []],
  ])('%s', (_, training, change, expected) => {
    expect(issuesOf(training, change)).toEqual(expected);
  });

  test('of repeated blocks, those of one', () => {
    const folded = graphOf(layers, { composites: [maximum(2)] });
    expect(issuesOf({ ...graphOf(layers), folded }, {})).toEqual([said(single, 'two')]);
  });
});

describe('attention', () => {
  const layers = [
    { name: 'scores', type: 'MatMul' },
    { name: 'softmax', type: 'Softmax' },
    { name: 'mixed', type: 'MatMul' },
    { name: 'out', type: 'MatMul' },
  ];
  const attention = (change: Partial<Composite>) => composite('attention', [0, 1, 2], change);
  const graphWith = (change: Partial<Composite>, found: Found = {}) =>
    graphOf(layers, { ...found, composites: [attention(change)] });
  const assumed = graphWith({ launchedAs: 'assumed-one' });
  const written = graphWith({ launchedAs: 'several', isFusible: false });
  const whole = graphOf([
    { name: 'core', type: 'Attention' },
    { name: 'out', type: 'MatMul' },
  ]);
  const fused = using('pytorch-ddp', { attention: 'fused' });
  const eager = using('pytorch-ddp', { attention: 'eager' });
  /** Before PyTorch 2.0 there was no fused attention. */
  const old = using('pytorch-ddp', { torch: '1.13' });

  const saidOf = (code: string, part: string, message: string) => ({
    code,
    severity: 'information',
    message,
    scenarioKey: 'framework',
    scenarioPart: part,
  });
  const saysAssumed = (first: string) =>
    saidOf(
      'scenario/assumed-attention',
      'attention',
      `The graph does not show whether attention was one fused kernel or several, first at \`${first}\`: one is costed; set \`attention=eager\` if scores are stored`,
    );
  const saysWritten = (first: string) =>
    saidOf(
      'scenario/invalid',
      'attention',
      `\`attention=fused\` has no effect on attention that stays several kernels, first \`${first}\`; in a layer spec, take \`fused=False\` out of its line`,
    );
  const saysWhole = (first: string, asked: string, part: string) =>
    saidOf(
      'scenario/invalid',
      part,
      `\`${asked}\` has no effect on attention that stays one kernel, first \`${first}\`; in a layer spec, take \`fused=True\` out of its line`,
    );

  test.each<[string, TrainingGraph, Partial<Scenario>, readonly object[]]>([
    ['that may be one kernel, by its last operator', assumed, {}, [saysAssumed('mixed')]],
    [
      'of a graph without names',
      graphWith({ launchedAs: 'assumed-one' }, { change: unnamed }),
      {},
      [saysAssumed('mixed.out')],
    ],
    ['in inference too', assumed, inference, [saysAssumed('mixed')]],
    ['that is known to be one', graphWith({ launchedAs: 'one' }), {}, []],
    ['that is known to be several', graphWith({ launchedAs: 'several' }), {}, []],
    [
      'another composite that may be one',
      graphOf(layers, { composites: [composite('gelu', [1], { launchedAs: 'assumed-one' })] }),
      {},
      [],
    ],
    ['where somebody says fused', assumed, fused, []],
    ['where somebody says eager', assumed, eager, []],
    ['in a framework without the option', assumed, using('mxnet'), []],
    ['that cannot be fused, asked to be', written, fused, [saysWritten('mixed')]],
    [
      'the same without names',
      graphWith({ launchedAs: 'several', isFusible: false }, { change: unnamed }),
      fused,
      [saysWritten('mixed.out')],
    ],
    ['that cannot be fused, as exported', written, {}, []],
    ['several kernels that can be fused', graphWith({ launchedAs: 'several', isFusible: true }), fused, []],
    ['several of which nothing is said', graphWith({ launchedAs: 'several' }), fused, []],
    ['one that is fused already', graphWith({ launchedAs: 'one', isFusible: false }), fused, []],
    [
      'another composite of several',
      graphOf(layers, { composites: [composite('gelu', [1], { launchedAs: 'several', isFusible: false })] }),
      fused,
      [],
    ],
    ['one operator, asked to be several', whole, eager, [saysWhole('core', 'attention=eager', 'attention')]],
    ['one operator in an old release', whole, old, [saysWhole('core', 'torch=1.13', 'torch')]],
    [
      'one operator, both',
      whole,
      using('pytorch-ddp', { torch: '1.13', attention: 'eager' }),
      [saysWhole('core', 'attention=eager', 'attention')],
    ],
    ['one operator as exported', whole, {}, []],
    ['one operator, fused', whole, fused, []],
    [
      'an operator of another domain',
      graphOf([{ name: 'core', type: 'Attention' }], {
        change: (each) => ({ ...each, domain: 'com.microsoft' }),
      }),
      eager,
      [],
    ],
    ['no attention', graphOf(layers), eager, []],
  ])('%s', (_, training, change, expected) => {
    expect(issuesOf(training, change)).toEqual(expected);
  });

  test('one operator without a name', () => {
    expect(issuesOf(graphOf([{ name: 'core', type: 'Attention' }], { change: unnamed }), eager)).toEqual([
      saysWhole('core.out', 'attention=eager', 'attention'),
    ]);
  });

  test('of repeated blocks, that of one', () => {
    expect(issuesOf({ ...graphOf(layers), folded: assumed }, {})).toEqual([saysAssumed('mixed')]);
    expect(issuesOf({ ...graphOf(layers), folded: whole }, eager)).toEqual([
      saysWhole('core', 'attention=eager', 'attention'),
    ]);
  });
});

test('what several rules assume is said in one order', () => {
  const training = graphOf(
    [
      { name: 'scores', type: 'MatMul' },
      { name: 'act', type: 'Elu' },
      { name: 'most', type: 'ReduceMax' },
    ],
    {
      composites: [
        composite('attention', [0], { launchedAs: 'assumed-one' }),
        composite('assumed-maximum', [2]),
      ],
    },
  );
  const codes = issuesOf(
    training,
    {
      ...using('pytorch-fsdp', { 'cpu-offload': 'true' }),
      gpus: 8,
      measuredStep: seconds(1),
    },
    { ...dgx, host: undefined },
  ).map(({ code }) => code);
  expect(codes).toEqual([
    'scenario/assumed-attention',
    'scenario/assumed-in-place',
    'scenario/assumed-maximum',
    'scenario/measured-step',
    'scenario/assumed-host-memory',
  ]);
});
