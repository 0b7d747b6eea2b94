/** What the prediction launches as one call is planned as one; `test/runner` runs these plans and compares the numbers. */

import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { planBenchmark } from '../../server/src/benchmark/planBenchmark.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { fusedGroups } from '../../server/src/frameworks/pytorch/fusedGroups.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

/** Calls that are known by what they keep alone; their operators are run one by one. */
const oneByOne: ReadonlySet<string> = new Set([
  'recorded-call',
  'taken-apart',
  'assumed-maximum',
  'weight-norm',
  'cosine-similarity',
  'recurrent-cell',
]);

const folder = resolve(import.meta.dirname, '../composites');
const exports = ['forms', 'attention'].flatMap((part) =>
  readdirSync(join(folder, part))
    .filter((name) => /\.onnx(txt)?$/.test(name))
    .map((name) => join(folder, part, name)),
);

function planOf(path: string, request: ScenarioRequest = {}) {
  const { training, scenario, issues } = estimateModel(openGraph(path), [
    { gpus: 1, precision: 'fp32', ...request },
  ]);
  if (training === undefined || scenario === undefined) throw new Error(JSON.stringify(issues[0]));
  return { training, plan: planBenchmark(training, scenario) };
}

it('every composite that runs as one kernel is one call', () => {
  const planned = new Map<string, number>();
  for (const path of exports) {
    const { training, plan } = planOf(path);
    const groups = [...new Set(fusedGroups(training, undefined).values())];
    const calls = plan.operators.filter(({ type, parts }) => parts !== undefined && type !== 'Linear');
    const known = groups.flatMap(({ composite }) => composite?.kind ?? []);
    expect(calls.map(({ type }) => kinds[type]).sort(), path).toEqual(
      known.filter((kind) => !oneByOne.has(kind)).sort(),
    );
    for (const { type } of calls) planned.set(type, (planned.get(type) ?? 0) + 1);
  }
  expect([...planned.keys()].sort()).toEqual(expect.arrayContaining(['Gelu', 'LayerNormalization', 'Mish']));
  expect(planned.get('ScaledDotProductAttention')).toBeGreaterThan(50);
});

it('the model is measured as it is written where the scenario says so', () => {
  const path = join(folder, 'forms/gelu-legacy13.onnx');
  const options = { 'fused-calls': 'false' };
  const { plan } = planOf(path, { framework: { name: 'pytorch-ddp', options } });
  expect(plan.operators.every(({ parts }) => parts === undefined)).toBe(true);
});

it('a call stands where the last of its operators stood, in the layer that had them', () => {
  const { plan } = planOf(join(folder, 'forms/gelu-legacy13.onnx'));
  expect(plan.operators.map(({ type, inputs }) => [type, inputs.length])).toEqual([
    ['Gemm', 3],
    ['Gelu', 1],
    ['Gemm', 3],
  ]);
  expect(plan.operators[1]?.parts?.map(({ type }) => type)).toEqual(['Div', 'Erf', 'Add', 'Mul', 'Mul']);
  expect(plan.layers.map(({ operators }) => operators)).toEqual([[0], [1], [2]]);
});

// Linear layers of a spec are exported as PyTorch exports them: Transpose, MatMul and Add.
it.each([
  ['Linear(8)', ['x', 'fc.weight', 'fc.bias']],
  ['Linear(8, bias=False)', ['x', 'fc.weight']],
])('%s is one call with the weight as PyTorch stores it', (call, inputs) => {
  const spec = `inputs: { x: "float32[4, 3, 16]" }\nlayers:\n  - fc: ${call}\n`;
  const { training, scenario } = estimateModel(openLayerSpec(spec, 'fc.layers.yaml'), [{ gpus: 1 }]);
  if (training === undefined || scenario === undefined) throw new Error('not costed');
  const { operators } = planBenchmark(training, scenario);
  expect(operators).toMatchObject([{ type: 'Linear', inputs, attributes: { transposed: 1 } }]);
});

const kinds: Readonly<Record<string, string>> = {
  Gelu: 'gelu',
  Glu: 'glu',
  GroupNorm: 'group-norm',
  HardSwish: 'hardswish',
  Hardshrink: 'hardshrink',
  LayerNormalization: 'layer-norm',
  LogSigmoid: 'log-sigmoid',
  Mish: 'mish',
  RMSNormalization: 'rms-norm',
  ScaledDotProductAttention: 'attention',
  Rsqrt: 'rsqrt',
  Softplus: 'softplus',
  Softshrink: 'softshrink',
  Swish: 'silu',
  Threshold: 'threshold',
  Var: 'variance',
};
