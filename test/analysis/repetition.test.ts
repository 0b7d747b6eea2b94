/**
 * A folded analysis is the plain one: of arbitrary networks that state their repetition, truly or falsely, of layer specs,
 * and of calls of one function.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import type { ModelAnalysis } from '../../server/src/analysis/modelAnalysis.ts';
import { areNamesAlike } from '../../server/src/analysis/repetition/proveRepetition.ts';
import { sourceOfOperators } from '../../server/src/analysis/sourceOfOperators.ts';
import { estimateStep } from '../../server/src/estimate/estimateStep.ts';
import { resolveScenario } from '../../server/src/estimate/resolveScenario.ts';
import { readLayerSpec } from '../../server/src/formats/layer-spec/readLayerSpec.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { readOnnxText } from '../../server/src/formats/onnx-text/readOnnxText.ts';
import { lowerLayerSpec } from '../../server/src/lowering/lowerLayerSpec.ts';
import type { ProvidedStructure, StatedRepetition } from '../../server/src/lowering/providedStructure.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { onnxModel } from '../support/onnxModel.ts';

const requests: readonly ScenarioRequest[] = [
  { cluster: 'dgx-a100', gpus: 16, precision: 'bf16' },
  {
    cluster: 'dgx-h100',
    gpus: 1,
    precision: 'fp32',
    framework: { name: 'naive', options: { 'fused-calls': 'false' } },
  },
  { cluster: 'dgx-a100', gpus: 3, precision: 'fp8', mode: 'inference' },
];

/** Compares the two analyses of a model and what follows from them; whether it was folded. */
function check(model: OnnxModel, provided?: ProvidedStructure): boolean {
  const folded = analyzeOnnx(model, provided);
  if (folded.folded === undefined) return false;
  const plain = analyzeOnnx(model, provided, false);
  expect(withoutCosting(folded)).toEqual(withoutCosting(plain));
  expect([...folded.graph.values.keys()]).toEqual([...plain.graph.values.keys()]);
  const sourceOf = sourceOfOperators(folded);
  expect(plain.graph.operators.map(({ index }) => sourceOf(index))).toEqual(
    plain.graph.operators.map(({ source }) => source),
  );
  for (const request of requests) {
    const [ours, theirs] = [costOf(folded, request), costOf(plain, request)];
    expect(ours.training.costs).toEqual(theirs.training.costs);
    expect(new Map(ours.training.tensors)).toEqual(new Map(theirs.training.tensors));
    expect(ours.training.requiresGradient).toEqual(theirs.training.requiresGradient);
    expect(ours.cost).toEqual(theirs.cost);
  }
  return true;
}

/** Kinds are numbered as they are met, which the graph's own order decides; gradients are functions. */
const withoutCosting = ({ graph, costing: _, folded: __, ...rest }: ModelAnalysis) => ({
  ...rest,
  graph: { ...graph },
});

function costOf(analysis: ModelAnalysis, request: ScenarioRequest) {
  const dimensions = Object.fromEntries(analysis.symbols.map(({ name }, index) => [name, 4 + index]));
  const { scenario, cluster } = resolveScenario([{ batch: 4, dimensions, ...request }], analysis);
  const training = bindTrainingGraph(analysis, new Map(Object.entries(scenario.dimensions)), scenario.mode);
  return { training, cost: estimateStep(training, scenario, cluster) };
}

/** One node of a block: its operator and where its inputs come from, as numbers to be taken modulo what there is. */
interface Drawn {
  readonly type: string;
  readonly from: readonly number[];
}

interface DrawnNetwork {
  readonly block: readonly Drawn[];
  readonly blocks: number;
  readonly scoped: boolean;
  readonly outputs: boolean;
  readonly odd: { readonly block: number; readonly how: string };
}

const unary = ['Relu', 'Sigmoid', 'Softmax', 'Identity', 'Dropout', 'Unheard'];
const binary = ['Add', 'Mul', 'Sub', 'Pow'];

const network: fc.Arbitrary<DrawnNetwork> = fc.record({
  block: fc.array(
    fc.record({
      type: fc.constantFrom(...unary.slice(0, 5), ...binary, 'MatMul', 'Gather', 'Reshape', 'Transpose'),
      from: fc.tuple(fc.nat(20), fc.nat(20)),
    }),
    { minLength: 1, maxLength: 9 },
  ),
  blocks: fc.integer({ min: 18, max: 24 }),
  scoped: fc.boolean(),
  outputs: fc.boolean(),
  odd: fc.record({
    block: fc.nat(23),
    how: fc.constantFrom(
      'none',
      'none',
      'type',
      'name',
      'shared weight',
      'read outside',
      'unknown',
      'weight',
    ),
  }),
});

function onnxTextModel(text: string): OnnxModel {
  const { model, issues } = readOnnxText(text);
  if (model === undefined) throw new Error(issues.map(({ message }) => message).join());
  return model;
}

/** A structure that says nothing but what repeats. */
const stating = (...repetitions: readonly StatedRepetition[]): ProvidedStructure => ({
  layers: [],
  roles: new Map(),
  symbolDefaults: new Map(),
  issues: [],
  repetitions,
});

/** How many repetitions of a model with blocks left out were folded. */
function foldsOf({ folded }: ModelAnalysis): number {
  let count = 0;
  for (let layout = folded?.layout; layout !== undefined; layout = layout.inner) count += 1;
  return count;
}

/** `x` goes through all blocks; a block reads the one before, a mask that all read, and weights. */
function networkOf({ block, blocks, scoped, outputs, odd }: DrawnNetwork): OnnxModel {
  const nodes: string[] = ['x0 = Relu(x)', 'mask = Sigmoid(x)'];
  const initializers: string[] = [
    'shared.bias: float32[8]',
    'target: int64[2] = 0, 8',
    'table: float32[8, 8]',
  ];
  const graphOutputs: string[] = [];
  for (let index = 0; index < blocks; index += 1) {
    const how = odd.block % blocks === index ? odd.how : 'none';
    const values = [`x${index}`, 'mask', ...(index > 0 ? [`b${index - 1}.v0`] : [])];
    const lastOfBlock = block.length - 1;
    block.forEach(({ type, from }, position) => {
      const result = position === lastOfBlock ? `x${index + 1}` : `b${index}.v${position}`;
      const pick = (number: number): string => values[number % values.length] ?? 'mask';
      const first = pick(from[0] ?? 0);
      const module = scoped ? `/layers.${index}/part${position % 3}/op` : '';
      const name = how === 'name' ? `odd${position}` : module;
      let own = how === 'shared weight' ? `w0.${position}` : `w${index}.${position}`;
      if (how === 'name') own = `odd.${position}`;
      const weight = (shape: string): string => {
        const line = `${own}: float32[${shape}]`;
        if (!initializers.includes(line)) initializers.push(line);
        return own;
      };
      const label = name === '' ? '' : `${name}: `;
      const chosen =
        how === 'unknown' && position === 0 ? 'Unheard' : how === 'type' && position === 0 ? 'Tanh' : type;
      if (chosen === 'MatMul') nodes.push(`${label}${result} = MatMul(${first}, ${weight('8, 8')})`);
      else if (chosen === 'Gather')
        nodes.push(`${label}${result} = Add(${first}, ${weight(how === 'weight' ? '1' : '8')})`);
      else if (chosen === 'Reshape') nodes.push(`${label}${result} = Reshape(${first}, target)`);
      else if (chosen === 'Transpose') nodes.push(`${label}${result} = MatMul(${first}, table)`);
      else if (binary.includes(chosen)) {
        const second = (from[1] ?? 0) % 5 === 0 ? 'shared.bias' : pick(from[1] ?? 0);
        nodes.push(`${label}${result} = ${chosen}(${first}, ${second})`);
      } else nodes.push(`${label}${result} = ${chosen}(${first})`);
      values.push(result);
    });
    if (outputs) graphOutputs.push(block.length > 1 ? `b${index}.v0` : `x${index + 1}`);
    if (how === 'read outside') nodes.push(`extra = Relu(x${index})`);
  }
  nodes.push(`y = MatMul(x${blocks}, head)`);
  if (odd.how === 'read outside') nodes.push('z = Add(y, extra)');
  return onnxModel({
    inputs: ['x: float32[batch, 8]'],
    outputs: ['y', ...graphOutputs],
    initializers: [...initializers, 'head: float32[8, 8]'],
    nodes,
  });
}

describe('a folded analysis is the plain one', () => {
  test('of arbitrary networks of blocks', () => {
    let folded = 0;
    fc.assert(
      fc.property(network, (drawn) => {
        const repetition = { start: 2, period: drawn.block.length, count: drawn.blocks };
        if (check(networkOf(drawn), stating(repetition))) folded += 1;
      }),
      { numRuns: 80, seed: 20261121 },
    );
    // Networks that are never folded would show nothing.
    expect(folded).toBeGreaterThan(25);
  });

  test('of arbitrary networks with an odd block between long rows of them', () => {
    let twice = 0;
    const odd = network.map((drawn) => ({
      ...drawn,
      blocks: 42,
      odd: { block: 20, how: drawn.odd.how === 'none' ? 'type' : drawn.odd.how },
    }));
    fc.assert(
      fc.property(odd, (drawn) => {
        const period = drawn.block.length;
        const behind = 2 + 21 * period + (drawn.odd.how === 'read outside' ? 1 : 0);
        const rows = [
          { start: 2, period, count: 20 },
          { start: behind, period, count: 21 },
        ];
        const model = networkOf(drawn);
        if (check(model, stating(...rows)) && foldsOf(analyzeOnnx(model, stating(...rows))) === 2) twice += 1;
      }),
      { numRuns: 40, seed: 20261121 },
    );
    expect(twice).toBeGreaterThan(5);
  });

  test.each([
    ['one row', ['h: decoder() * 20'], 1],
    ['too few', ['h: decoder() * 17'], 0],
    ['two rows', ['h: decoder() * 20', 'odd: Tanh()', 'g: decoder() * 30'], 2],
    ['two rows side by side', ['h: decoder() * 20', 'g: decoder() * 30'], 2],
    ['rows within a row', ['h: stage() * 20'], 1],
    ['rows within too few', ['h: stage() * 2'], 2],
    ['a layer', ['h: Linear(d, d) * 40', 'act: ReLU()'], 1],
  ])('of a layer spec with %s', (_, layers, folds) => {
    const { spec } = readLayerSpec(`
dims: { batch: 4, d: 64 }
inputs: { x: 'float32[batch, 16, d]' }
blocks:
  decoder:
    - norm: LayerNorm(d)
    - fc: Linear(d, d)
    - out: add(fc, input)
  stage:
    - inner: decoder() * 19
    - act: GELU()
layers:
${layers.map((line) => `  - ${line}`).join('\n')}
  - head: Linear(d, 10)
`);
    if (spec === undefined) throw new Error('the spec cannot be read');
    const { model, structure } = lowerLayerSpec(spec);
    expect(check(model, structure)).toBe(folds > 0);
    expect(foldsOf(analyzeOnnx(model, structure))).toBe(folds);
  });

  test.each([
    ['alike', '', '', true],
    ['each computed again as a group of its own', ' recompute', '', false],
    ['of which all compute in full precision', ' precision=fp32', '', true],
    ['with a weight that is not trained', '', ' frozen', false],
  ])('of a layer spec with blocks %s', (_, inBlock, inHead, isFolded) => {
    const { spec } = readLayerSpec(`
dims: { batch: 4, d: 64 }
inputs: { x: 'float32[batch, 16, d]' }
blocks:
  decoder:
    - norm: LayerNorm(d)
    - attn: MultiheadAttention(d, 4)${inBlock}
    - res: add(attn, input)
    - fc: Linear(d, 2*d)
    - act: GELU()
    - proj: Linear(2*d, d)
    - out: add(proj, res)
layers:
  - h: decoder() * 20
  - norm: LayerNorm(d)
  - head: Linear(d, 10)${inHead}
`);
    if (spec === undefined) throw new Error('the spec cannot be read');
    const { model, structure } = lowerLayerSpec(spec);
    expect(check(model, structure)).toBe(isFolded);
  });

  test.each([
    [
      'each fed by the one before',
      1,
      (index: number) => [`y${index} = local.block(y${index - 1}, w${index})`],
    ],
    [
      'with a node between them',
      1,
      (index: number) => [`z${index} = Relu(y${index - 1})`, `y${index} = local.block(z${index}, w${index})`],
    ],
    [
      'of which one has two weights',
      0,
      (index: number) => [`y${index} = local.block(y${index - 1}, w${index === 9 ? 8 : index})`],
    ],
    [
      'each with an input of the graph',
      0,
      (index: number) => [`y${index} = local.block(y${index - 1}, x${index})`],
    ],
  ])('of calls of one function, %s', (_, folds, nodesOf) => {
    const calls = Array.from({ length: 24 }, (_, index) => index + 1);
    const model = onnxTextModel(`<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
calls (float[batch, 2] y0, ${calls.map((index) => `float[2, 2] x${index}`).join(', ')}) => (float[batch, 2] y24)
<${calls.map((index) => `float[2, 2] w${index} = {1, 2, 3, 4}`).join(', ')}>
{
${calls.flatMap(nodesOf).join('\n')}
}
<domain: "local", opset_import: ["" : 17]>
block (a, w) => (b)
{
  m = MatMul(a, w)
  s = Sigmoid(m)
  b = Mul(m, s)
}`);
    expect(check(model)).toBe(folds > 0);
    expect(foldsOf(analyzeOnnx(model))).toBe(folds);
  });
});

test.each([
  ['/layers.9/q/MatMul', '/layers.10/q/MatMul', true],
  ['onnx::MatMul_1175', 'onnx::MatMul_98', true],
  ['layers.1.weight', 'layers.1.bias', false],
  ['w', 'w1', false],
  ['1a', '1', false],
  ['a1b2', 'a3b44', true],
])('names %s and %s are alike: %s', (left, right, alike) => {
  expect(areNamesAlike(left, right)).toBe(alike);
});
