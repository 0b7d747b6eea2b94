/** The line of a layer by hand: sums over its operators, what bounds it, what is unknown of it, and what is said of it. */

import { describe, expect, test } from 'vitest';
import type { ModelAnalysis, TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { type LayerInputs, layerCosts } from '../../server/src/estimate/layerCosts.ts';
import { columnsBy, type PassTimes } from '../../server/src/estimate/plan/operatorTimes.ts';
import { symbol } from '../../server/src/model/dimension.ts';
import type { LayerCost } from '../../server/src/model/stepCost.ts';
import { type KnownCost, noWork, type OperatorCost } from '../../server/src/operators/definition.ts';
import { planOf } from '../support/estimatedStep.ts';
import { chain } from '../support/trainingGraph.ts';

const { lowered } = planOf({ cluster: 'dgx-a100', gpus: 1, batch: 1 });

type Columns = Partial<Record<keyof PassTimes, readonly number[]>>;
const pass = (columns: Columns): PassTimes =>
  columnsBy((key) => Float64Array.from(columns[key] ?? [0, 0, 0, 0]));
const estimate = (middle: readonly number[], low = middle, high = middle) => ({
  middle: Float64Array.from(middle),
  low: Float64Array.from(low),
  high: Float64Array.from(high),
});

/** Four operators in three layers: `a` has two, with weights of 10 and 20 elements. */
const base = chain([
  { name: 'a0', parameters: 10 },
  { name: 'a1', parameters: 20, type: 'Relu' },
  { name: 'b', parameters: 5 },
  { name: 'c', type: 'Relu' },
]);
const cost = (flops: number, operations: number, note?: string): KnownCost => ({
  kind: 'known',
  class: 'matmul',
  forward: { ...noWork, flops, operations },
  backwardData: { ...noWork, flops: 10 * flops, operations: 10 * operations },
  backwardWeight: { ...noWork, flops: 100 * flops, operations: 100 * operations },
  saved: [],
  ...(note === undefined ? {} : { note }),
});
const layers = [
  { name: 'a', type: 'Block', ancestors: [], operators: [0, 1] },
  { name: 'b', type: 'Linear', ancestors: [], operators: [2] },
  { name: 'c', type: 'ReLU', ancestors: [], operators: [3] },
];
const costs = [cost(1, 2), cost(3, 4, 'a note'), cost(5, 6), cost(0, 7)];
const training: TrainingGraph = { ...base, costs, analysis: { ...base.analysis, layers } };

const inputs = (): LayerInputs => ({
  training,
  // What was added up for a lowered graph is kept for it.
  lowered: { ...lowered },
  times: {
    forward: pass({
      middle: [1, 2, 4, 8],
      compute: [1, 2, 0, 0],
      memory: [0, 0, 4, 0],
      launch: [0, 0, 0, 8],
      bytes: [100, 200, 300, 400],
    }),
    backward: pass({
      middle: [2, 4, 8, 16],
      compute: [2, 4, 0, 0],
      memory: [0, 0, 8, 0],
      launch: [0, 0, 0, 16],
      bytes: [1000, 2000, 3000, 4000],
    }),
    weight: pass({}),
  },
  forward: estimate([3, 3, 5, 9], [2, 2, 4, 8], [4, 4, 6, 10]),
  backward: estimate([6, 6, 10, 18], [4, 4, 8, 16], [8, 8, 12, 20]),
  savedByOperator: Float64Array.from([7, 70, 700, 7000]),
  trains: true,
  passes: 1,
  weightBytesPerElement: 4,
  isRecomputed: () => false,
  stateOfParameters: Float64Array.from([1, 2, 4]),
  communication: [],
  exposureKnown: true,
  origins: new Map(),
  notes: () => [],
});

function lineOf(name: string, change: Partial<LayerInputs> = {}): LayerCost {
  const line = layerCosts({ ...inputs(), ...change }).find((each) => each.name === name);
  if (line === undefined) throw new Error(name);
  return line;
}
const withAnalysis = (change: Partial<ModelAnalysis>, more: Partial<TrainingGraph> = {}) => ({
  training: { ...training, ...more, analysis: { ...training.analysis, ...change } },
});
const withCosts = (...others: readonly OperatorCost[]) => ({ training: { ...training, costs: others } });

test('sums over the operators of a layer', () => {
  expect(lineOf('a')).toEqual({
    name: 'a',
    type: 'Block',
    operators: ['a0', 'a1'],
    parameters: 30,
    output: { shape: [1, 1], elementType: 'float32' },
    flops: { forward: 4, backwardData: 40, backwardWeight: 400 },
    operations: { forward: 6, backward: 660 },
    bytes: { forward: 300, backward: 3000 },
    time: {
      forward: 6,
      backward: 12,
      kernels: { forward: 3, backward: 6 },
      communication: 0,
      exposedCommunication: 0,
      communicationSlack: null,
    },
    memory: { parameters: 120, activations: 77, gradient: 120, optimizerState: 3 },
    bound: 'compute',
    source: 'profile',
    range: { low: 12, high: 24 },
    notes: ['a note'],
  });
});

test('work of each pass counts, what is kept counts once', () => {
  const line = lineOf('a', { passes: 3 });
  expect(line.flops).toEqual({ forward: 12, backwardData: 120, backwardWeight: 1200 });
  expect(line.operations).toEqual({ forward: 18, backward: 1980 });
  expect(line.bytes).toEqual({ forward: 900, backward: 9000 });
  expect(line.time.kernels).toEqual({ forward: 9, backward: 18 });
  // Times on the timeline are of all passes already.
  expect([line.time.forward, line.memory.activations]).toEqual([6, 77]);
});

test('what infers has no gradients', () => {
  const line = lineOf('a', { trains: false });
  expect(line.flops).toEqual({ forward: 4, backwardData: 0, backwardWeight: 0 });
  expect(line.operations).toEqual({ forward: 6, backward: 0 });
  expect([line.memory.parameters, line.memory.gradient]).toEqual([120, 0]);
});

test('weights of two bytes', () => {
  const { memory } = lineOf('b', { weightBytesPerElement: 2 });
  expect([memory.parameters, memory.gradient, memory.optimizerState]).toEqual([10, 10, 4]);
});

test('a range holds the step that it is of', () => {
  expect(lineOf('b', { forward: estimate([5, 5, 5, 5], [6, 6, 6, 6], [4, 4, 4, 4]) }).range).toEqual({
    low: 14,
    high: 16,
  });
  expect(lineOf('b', { forward: estimate([5, 5, 5, 5], [9, 9, 9, 9], [2, 2, 2, 2]) }).range).toEqual({
    low: 15,
    high: 15,
  });
});

describe('bound by', () => {
  const at = (name: string, change: Partial<LayerInputs> = {}) => lineOf(name, change).bound;
  const timed = (forward: Columns, backward: Columns = {}): Partial<LayerInputs> => ({
    times: { forward: pass(forward), backward: pass(backward), weight: pass({}) },
    forward: estimate([0, 0, 0, 0]),
    backward: estimate([0, 0, 0, 0]),
  });

  test('matmuls, memory, launches', () => {
    expect([at('a'), at('b'), at('c')]).toEqual(['compute', 'memory', 'launch']);
  });

  test('instructions, where it has no matmuls in any pass', () => {
    const compute = timed({ compute: [0, 0, 0, 1] });
    expect(at('c', compute)).toBe('instructions');
    const [one, two, three] = costs;
    if (one === undefined || two === undefined || three === undefined) throw new Error('no costs');
    const inBackward: KnownCost = { ...cost(0, 7), backwardWeight: { ...noWork, flops: 1 } };
    expect(at('c', { ...compute, ...withCosts(one, two, three, inBackward) })).toBe('compute');
    expect(at('c', { ...compute, ...withCosts(one, two, three, inBackward), trains: false })).toBe(
      'instructions',
    );
  });

  test('nothing, where it takes no time', () => {
    expect(at('b', timed({}))).toBe('none');
  });

  test('what takes the most of both passes, and of forward alone where nothing is trained', () => {
    const both = timed({ memory: [0, 0, 2, 0] }, { compute: [0, 0, 3, 0] });
    expect(at('b', both)).toBe('compute');
    expect(at('b', { ...both, trains: false })).toBe('memory');
    const launches = timed({ memory: [0, 0, 2, 0] }, { launch: [0, 0, 3, 0] });
    expect(at('b', launches)).toBe('launch');
    const alike = timed({ memory: [0, 0, 2, 0], launch: [0, 0, 2, 0] });
    expect(at('b', alike)).toBe('memory');
    const moved = timed({ compute: [0, 0, 2, 0] }, { memory: [0, 0, 3, 0] });
    expect(at('b', moved)).toBe('memory');
  });

  test('launches, where kernels wait for the host in a pass', () => {
    const memory = { middle: [0, 0, 4, 0], memory: [0, 0, 4, 0] };
    const waiting = (forward: number, backward: number): Partial<LayerInputs> => ({
      times: { forward: pass(memory), backward: pass(memory), weight: pass({}) },
      forward: estimate([0, 0, forward, 0]),
      backward: estimate([0, 0, backward, 0]),
    });
    // 8 s of kernels; they wait for what is above 4 s in each pass, and a pass that waits for nothing takes nothing off.
    expect(at('b', waiting(12.5, 4))).toBe('launch');
    expect(at('b', waiting(4, 12.5))).toBe('launch');
    expect(at('b', waiting(11.5, 4))).toBe('memory');
    expect(at('b', waiting(12.5, 1))).toBe('launch');
    expect(at('b', waiting(1, 12.5))).toBe('launch');
    expect(at('b', { ...waiting(4, 12.5), trains: false })).toBe('memory');
  });
});

describe('what is unknown', () => {
  const odd: OperatorCost = { kind: 'unknown', reason: 'operator Mystery is not known' };
  const [one, two, three, four] = costs;
  if (one === undefined || two === undefined || three === undefined || four === undefined)
    throw new Error('no costs');

  test('is null where nothing of the layer is known, but for its parameters', () => {
    const idle = { ...inputs().times, forward: pass({}) };
    expect(lineOf('b', { ...withCosts(one, two, odd, four), times: idle, notes: () => ['said'] })).toEqual({
      name: 'b',
      type: 'Linear',
      operators: ['b'],
      parameters: 5,
      output: { shape: [1, 1], elementType: 'float32' },
      flops: { forward: null, backwardData: null, backwardWeight: null },
      operations: { forward: null, backward: null },
      bytes: { forward: null, backward: null },
      time: {
        forward: null,
        backward: null,
        communication: 0,
        exposedCommunication: 0,
        communicationSlack: null,
      },
      memory: { parameters: 20, activations: null, gradient: 20, optimizerState: 4 },
      bound: 'memory',
      source: 'unknown',
      range: null,
      notes: [],
      unknown: 'operator Mystery is not known',
    });
  });

  test('leaves the rest of a layer a lower bound, with the first reason', () => {
    const other: OperatorCost = { kind: 'unknown', reason: 'another' };
    const line = lineOf('a', withCosts(one, odd, three, four));
    expect([line.flops.forward, line.time.forward, line.source, line.unknown]).toEqual([
      1,
      6,
      'profile',
      'operator Mystery is not known',
    ]);
    expect(lineOf('a', withCosts(odd, other, three, four)).unknown).toBe('operator Mystery is not known');
    expect(line.unknownSince).toBeUndefined();
  });

  test('names the layer that it begins in, if that is another one', () => {
    const behind: OperatorCost = { kind: 'unknown', reason: 'its input has no known shape' };
    const since = (origin: number) =>
      lineOf('b', { ...withCosts(odd, two, behind, four), origins: new Map([[2, origin]]) });
    expect([since(0).unknownSince, since(0).unknown]).toEqual(['a', 'operator Mystery is not known']);
    // What it gives alone is unknown: its cost is not.
    expect([since(1).unknownSince, since(1).unknown]).toEqual(['a', 'its input has no known shape']);
    expect([since(2).unknownSince, since(2).unknown]).toEqual([undefined, 'its input has no known shape']);
  });
});

describe('communication', () => {
  const sent = { time: 2, exposed: 1, slack: 0.5, note: 'message 1 of 1' };
  const of = (communication: (typeof sent)[], exposureKnown = true) => {
    const { time, notes } = lineOf('a', { communication, exposureKnown });
    return [time.communication, time.exposedCommunication, time.communicationSlack, notes];
  };

  test('of a layer, and none', () => {
    expect(of([sent])).toEqual([2, 1, 0.5, ['a note', 'message 1 of 1']]);
    expect(of([])).toEqual([0, 0, null, ['a note']]);
    expect(of([{ ...sent, time: 0, exposed: 0, slack: Number.POSITIVE_INFINITY }])).toEqual([
      0,
      0,
      null,
      ['a note', 'message 1 of 1'],
    ]);
  });

  test('of which nobody can say what is hidden', () => {
    expect(of([sent], false)).toEqual([2, null, null, ['a note', 'message 1 of 1']]);
    expect(of([], false)).toEqual([0, 0, null, ['a note']]);
    expect(of([{ ...sent, time: 0 }], false)).toEqual([0, 0, null, ['a note', 'message 1 of 1']]);
  });
});

describe('notes', () => {
  test('of the framework come first, then of operators, of messages, and of what was asked for', () => {
    const frozen = [
      { name: 'a0.old', elements: 1000, elementType: 'float32', operators: [0] },
      { name: 'a1.old', elements: 500, elementType: 'float16', operators: [1, 2] },
    ] as const;
    const marked = layers.map((layer) => ({ ...layer, marks: { precision: 'fp32' as const } }));
    const line = lineOf('a', {
      ...withAnalysis({ frozen, layers: marked }),
      communication: [{ time: 2, exposed: 1, slack: 0, note: 'message 1 of 1' }],
      isRecomputed: ({ name }) => name === 'a',
      notes: ({ name }) => [`of ${name}`],
    });
    expect(line.notes).toEqual([
      'of a',
      'a note',
      'message 1 of 1',
      '1,500 parameters frozen, not trained',
      'recomputed in backward',
      'in fp32, as its line says',
    ]);
    // Four and two bytes an element; what is frozen has no gradient.
    expect([line.parameters, line.memory.parameters, line.memory.gradient]).toEqual([30, 120 + 5000, 120]);
    expect(lineOf('b', withAnalysis({ frozen })).memory.parameters).toBe(20);
  });

  test('are none where there is nothing to say', () => {
    expect(lineOf('b').notes).toEqual([]);
  });
});

test('a weight that several layers use is of the first, and one of a line that passes it on is of that line', () => {
  const [first, second, third] = training.analysis.parameters;
  if (first === undefined || second === undefined || third === undefined) throw new Error('no parameters');
  const shared = [first, second, { ...third, operators: [1, 2] }];
  expect(lineOf('a', withAnalysis({ parameters: shared })).parameters).toBe(35);
  expect(lineOf('b', withAnalysis({ parameters: shared })).parameters).toBe(0);
  const given = layers.map((layer) =>
    layer.name === 'c' ? { ...layer, type: 'Parameter', given: { path: 'c' } } : layer,
  ) as unknown as typeof layers;
  const passing = [first, second, { ...third, name: 'c.weight' }];
  expect(lineOf('c', withAnalysis({ parameters: passing, layers: given })).parameters).toBe(5);
  expect(lineOf('c', withAnalysis({ parameters: passing })).parameters).toBe(0);
  // One that no gradient reaches is of what reads it, and one that nothing reads of no layer.
  for (const [name, owned] of [
    [third.name, [30, 5, 0]],
    ['unread', [30, 0, 0]],
  ] as const) {
    const parameters = [first, second, { ...third, name, operators: [] }];
    const costs = layerCosts({ ...inputs(), ...withAnalysis({ parameters }) });
    expect(costs.map((layer) => layer.parameters)).toEqual(owned);
  }
});

describe('the output of a layer', () => {
  const { graph } = training.analysis;
  const output = (tensors: TrainingGraph['tensors'], values = graph.values) =>
    lineOf('a', withAnalysis({ graph: { ...graph, values } }, { tensors })).output;

  test('is that of its last operator, with sizes where they are known', () => {
    const bound = new Map([['a1.out', { elementType: 'float16', dimensions: [2, 3], elements: 6 } as const]]);
    expect(output(bound)).toEqual({ shape: [2, 3], elementType: 'float16' });
  });

  test('else as the graph has it', () => {
    const value = graph.values.get('a1.out');
    if (value === undefined) throw new Error('no value');
    const typed = (type: (typeof value)['type']) =>
      new Map([...graph.values, ['a1.out', { ...value, type }]]);
    expect(
      output(new Map(), typed({ kind: 'tensor', elementType: 'int64', shape: [symbol('batch'), 4] })),
    ).toEqual({
      shape: [symbol('batch'), 4],
      elementType: 'int64',
    });
    expect(output(new Map(), new Map())).toEqual({ shape: null, elementType: 'undefined' });
  });

  test('is none of a layer without operators', () => {
    const empty = layers.map((layer) => (layer.name === 'c' ? { ...layer, operators: [] } : layer));
    expect(lineOf('c', withAnalysis({ layers: empty })).output).toEqual({
      shape: null,
      elementType: 'undefined',
    });
  });
});

test('operators without a name have that of their output', () => {
  const { graph } = training.analysis;
  const operators = graph.operators.map((operator) => ({ ...operator, name: '' }));
  expect(lineOf('a', withAnalysis({ graph: { ...graph, operators } })).operators).toEqual([
    'a0.out',
    'a1.out',
  ]);
});

test('what was added up for a lowered graph is added up again for other passes, times or weights', () => {
  const given = inputs();
  const flopsOf = (change: Partial<LayerInputs>) =>
    layerCosts({ ...given, ...change }).map(({ flops, bytes, memory }) => [
      flops.forward,
      bytes.forward,
      memory.parameters,
    ]);
  const [first] = flopsOf({});
  expect(first).toEqual([4, 300, 120]);
  expect(flopsOf({ passes: 2 })[0]).toEqual([8, 600, 120]);
  expect(flopsOf({ weightBytesPerElement: 2 })[0]).toEqual([4, 300, 60]);
  const times = { ...given.times, forward: pass({ middle: [1, 1, 1, 1], bytes: [1, 1, 1, 1] }) };
  expect(flopsOf({ times })[0]).toEqual([4, 2, 120]);
  expect(flopsOf({})[0]).toEqual(first);
});
