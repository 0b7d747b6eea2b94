/** The plan of a small layer spec, whole, and what of a model never reaches the runner. */

import { describe, expect, it } from 'vitest';
import { openLayerSpec, openModel } from '../../server/src/analysis/openModel.ts';
import { compareMeasured } from '../../server/src/benchmark/compareMeasured.ts';
import { planBenchmark } from '../../server/src/benchmark/planBenchmark.ts';
import { benchmarkPlanSchema } from '../../server/src/benchmark/planSchema.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { seconds } from '../../server/src/model/units.ts';

const spec = `name: small
dims: { batch: 4, vocab: 10, d: 8 }
inputs:
  tokens: int64[batch, 6]
layers:
  - embed: Embedding(vocab, d)
  - fc: Linear(d, 2*d)
  - act: ReLU()
`;

function estimate() {
  const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(spec)), 'small.layers.yaml');
  const { training, scenario, cost } = estimateModel(opened, [{ batch: 3, precision: 'bf16' }]);
  if (training === undefined || scenario === undefined || cost === undefined) {
    throw new Error(`the spec was not costed: ${opened.issues.map(({ message }) => message).join('; ')}`);
  }
  return { training, scenario, cost };
}

describe('planBenchmark', () => {
  const { training, scenario } = estimate();
  const plan = planBenchmark(training, scenario, { model: 'small', budgetSeconds: 5 });

  it('fits its schema, also after a journey through JSON', () => {
    expect(benchmarkPlanSchema.parse(JSON.parse(JSON.stringify(plan)))).toEqual(plan);
  });

  it('says what runs', () => {
    expect(plan).toMatchObject({
      version: 3,
      model: 'small',
      batch: 3,
      mode: 'training',
      precision: 'bf16',
      optimizer: 'adamw',
      channelsLast: false,
      budgetSeconds: 5,
    });
    expect(plan.layers.map(({ name, type }) => `${name}: ${type}`)).toEqual([
      'embed: Embedding',
      'fc: Linear',
      'act: ReLU',
    ]);
    expect(plan.layers.every(({ operators }) => operators.length > 0)).toBe(true);
    expect(plan.operators.map(({ type }) => type)).toEqual(expect.arrayContaining(['Gather', 'Relu']));
  });

  it('binds every shape and bounds the indices by the table they index', () => {
    expect(plan.values.find(({ role }) => role === 'input')).toEqual({
      name: 'tokens',
      role: 'input',
      elementType: 'int64',
      shape: [3, 6],
      gradient: false,
      limit: 10,
    });
    expect(plan.values.every(({ shape }) => shape !== null)).toBe(true);
    expect(plan.values.filter(({ role }) => role === 'parameter').every(({ gradient }) => gradient)).toBe(
      true,
    );
  });

  it('bounds the labels of an added loss by the classes', () => {
    const head = openLayerSpec(
      'inputs: { tokens: "int64[3, 6]" }\nlayers:\n  - embed: Embedding(10, 4)\n  - head: Linear(10)\n',
      'm.layers.yaml',
    );
    const { training, scenario } = estimateModel(head, [{}]);
    if (training === undefined || scenario === undefined) throw new Error('no estimate');
    const { values } = planBenchmark(training, scenario, { model: 'm', budgetSeconds: 5 });
    expect(
      values.filter(({ limit }) => limit !== undefined).map(({ shape, limit }) => [shape, limit]),
    ).toEqual([
      [[3, 6], 10],
      [[3, 6], 10],
    ]);
  });
});

describe('compareMeasured', () => {
  it('puts measured beside predicted, and nothing where nothing was measured', () => {
    const { cost } = estimate();
    const predicted = cost.layers[1]?.time.forward ?? seconds(0);
    const comparison = compareMeasured(cost, {
      origin: 'a test',
      layers: new Map([['fc', { forward: seconds(predicted * 2) }]]),
    });
    expect(comparison.rows.map(({ name }) => name)).toEqual(['embed', 'fc', 'act']);
    expect(comparison.rows[1]?.forward).toEqual({ predicted, measured: predicted * 2, ratio: 2 });
    expect(comparison.rows[1]?.backward.measured).toBeNull();
    expect(comparison.rows[0]?.forward.ratio).toBeNull();
    const { forward, backward, update } = cost.totals.time;
    expect(comparison.step.predicted).toBeCloseTo((forward ?? 0) + (backward ?? 0) + (update ?? 0), 12);
    expect(comparison.step.measured).toBeNull();
  });
});
