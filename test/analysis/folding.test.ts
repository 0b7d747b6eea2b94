/**
 * A folded analysis is the plain one: of arbitrary networks of repeated blocks, of such with one block that is not
 * quite like the others, and of the sample models.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { areNamesAlike } from '../../server/src/analysis/folding/findRepetition.ts';
import type { ModelAnalysis } from '../../server/src/analysis/modelAnalysis.ts';
import { sourceOfOperators } from '../../server/src/analysis/sourceOfOperators.ts';
import { estimateStep } from '../../server/src/estimate/estimateStep.ts';
import { resolveScenario } from '../../server/src/estimate/resolveScenario.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readLayerSpec } from '../../server/src/formats/layer-spec/readLayerSpec.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { lowerLayerSpec } from '../../server/src/lowering/lowerLayerSpec.ts';
import type { ProvidedStructure } from '../../server/src/lowering/providedStructure.ts';
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
  const folded = analyzeOnnx(model, provided, 1);
  if (folded.folded === undefined) return false;
  const plain = analyzeOnnx(model, provided, Number.POSITIVE_INFINITY);
  expect(withoutCosting(folded)).toEqual(withoutCosting(plain));
  expect([...folded.graph.values.keys()]).toEqual([...plain.graph.values.keys()]);
  const sourceOf = sourceOfOperators(folded);
  expect(plain.graph.operators.map(({ index }) => sourceOf(index))).toEqual(
    plain.graph.operators.map(({ source }) => source),
  );
  for (const request of requests) {
    const [ours, theirs] = [costOf(folded, request), costOf(plain, request)];
    expect(ours.training.costs).toEqual(theirs.training.costs);
    expect(ours.training.tensors).toEqual(theirs.training.tensors);
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
        if (check(networkOf(drawn))) folded += 1;
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
      blocks: drawn.blocks + 24,
      odd: { block: 20, how: drawn.odd.how === 'none' ? 'type' : drawn.odd.how },
    }));
    fc.assert(
      fc.property(odd, (drawn) => {
        const model = networkOf(drawn);
        if (check(model) && analyzeOnnx(model, undefined, 1).folded?.places.inner !== undefined) twice += 1;
      }),
      { numRuns: 40, seed: 20261121 },
    );
    expect(twice).toBeGreaterThan(5);
  });

  test.each([
    [[29], 2],
    [[21, 42], 3],
    [[21, 22, 43], 3],
    [[4], 1],
  ])('of blocks written out where those numbered %j are not like the others', (odd, folds) => {
    const lines = ['dims: { batch: 8, d: 32 }', 'inputs: { x: "float32[batch, 16, d]" }', 'layers:'];
    for (let block = 0; block < 64; block += 1) {
      lines.push(
        `  - norm_${block}: LayerNorm(d)`,
        `  - fc_${block}: Linear(d, d)`,
        `  - act_${block}: ${odd.includes(block) ? 'ReLU' : 'Tanh'}()`,
        `  - out_${block}: add(act_${block}, ${block === 0 ? 'x' : `out_${block - 1}`})`,
      );
    }
    const { spec } = readLayerSpec(lines.join('\n'));
    if (spec === undefined) throw new Error('the spec cannot be read');
    const { model, structure } = lowerLayerSpec(spec);
    expect(check(model, structure)).toBe(true);
    let count = 0;
    for (let at = analyzeOnnx(model, structure, 1).folded?.places; at !== undefined; at = at.inner)
      count += 1;
    expect(count).toBe(folds);
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
    ['a line that cannot be read', 'attn_9: MultiheadAttention(d, 4)', 'attn_9: Multihe'],
    ['a line that is no call', 'fc_9: Linear(d, 2*d)', 'fc_9:'],
    ['a source that is not there', 'add(attn_9, out_8)', 'add(attn_9, out_99)'],
    ['a width that does not fit', 'fc_9: Linear(d, 2*d)', 'fc_9: Linear(d, 3*d)'],
    ['another activation', 'act_9: GELU()', 'act_9: ReLU()'],
    ['a line more', '  - act_9: GELU()', '  - act_9: GELU()\n  - more_9: GELU()'],
  ])('of blocks written out line by line, one of which has %s', (_, written, instead) => {
    const lines = ['dims: { batch: 8, d: 32 }', 'inputs: { x: "float32[batch, 16, d]" }', 'layers:'];
    for (let block = 0; block < 40; block += 1) {
      lines.push(
        `  - norm_${block}: LayerNorm(d)`,
        `  - attn_${block}: MultiheadAttention(d, 4)`,
        `  - res_${block}: add(attn_${block}, ${block === 0 ? 'x' : `out_${block - 1}`})`,
        `  - fc_${block}: Linear(d, 2*d)`,
        `  - act_${block}: GELU()`,
        `  - proj_${block}: Linear(2*d, d)`,
        `  - out_${block}: add(proj_${block}, res_${block})`,
      );
    }
    const { spec } = readLayerSpec(lines.join('\n').replace(written, instead));
    if (spec === undefined) throw new Error('the spec cannot be read');
    const { model, structure } = lowerLayerSpec(spec);
    expect(check(model, structure)).toBe(true);
    const analysis = analyzeOnnx(model, structure, 1);
    expect(bindTrainingGraph(analysis, new Map([['batch', 8]]), 'training').folded).toBeDefined();
  });

  const samples = resolve(import.meta.dirname, '../../samples');
  test.each(readdirSync(samples).filter((name) => name.endsWith('.onnx')))('of %s', (name) => {
    const { model } = readOnnx(byteSourceOfBuffer(new Uint8Array(readFileSync(join(samples, name)))));
    if (model === undefined) throw new Error(`${name} cannot be read`);
    check(model);
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
