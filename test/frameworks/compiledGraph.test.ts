/**
 * How operators take part in fusion. PyTorch 2.13: what Inductor calls a library for are matmuls, convolutions, attention and what
 * `fallback_handler` has (torch/_inductor/lowering.py, kernel/{mm,conv}.py); `make_reduction` makes rows, `max_pool2d_with_offsets` and
 * `avg_pool2d` windows, `embedding` an indirect load; views (`torch/_inductor/ir.py`, `BaseView`) make no kernel.
 */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import {
  CompiledGraph,
  isFusible,
  type Part,
} from '../../server/src/frameworks/pytorch/compiled/compiledGraph.ts';
import { keptOf } from '../../server/src/frameworks/pytorch/compiled/keep.ts';
import { eagerOperators } from '../../server/src/frameworks/pytorch/lowerEager.ts';
import type { Mode, Precision } from '../../server/src/model/scenario.ts';

interface Asked {
  readonly input?: string;
  readonly precision?: Precision;
  readonly mode?: Mode;
  readonly compilesLoss?: boolean;
}

/** `lines` of a layer spec behind a linear layer `h`; the input is [2, 8, 16]. */
function compiledGraph(lines: readonly string[], asked: Asked = {}): CompiledGraph {
  const { input = 'float32[2, 8, 16]', precision = 'fp32', mode = 'training', compilesLoss = true } = asked;
  const text = `inputs: { x: '${input}', ids: 'int64[2, 8]' }\nlayers:\n${lines.map((line) => `  - ${line}\n`).join('')}`;
  const { training, issues } = estimateModel(openLayerSpec(text, 'parts.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision, mode, loss: 'none' },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const options = { convolutionTf32: false, fusedCalls: true, fusedAttention: true, channelsLast: false };
  return new CompiledGraph(training, eagerOperators(training, precision, mode, options), false, compilesLoss);
}

const operatorsOf = (graph: CompiledGraph) => graph.training.analysis.graph.operators;
const lastOf = (graph: CompiledGraph) => {
  const last = operatorsOf(graph).at(-1);
  if (last === undefined) throw new Error('no operators');
  return last;
};

const images = { input: 'float32[2, 8, 16, 16]' };
const scores = { input: 'float32[2, 16, 8]' };

describe('the last operator', () => {
  test.each<[string, string, Asked, string]>([
    ['a matmul', 'Linear(16, 4, bias=False)', {}, 'extern'],
    ['its bias', 'Linear(16, 4)', {}, 'folded bias'],
    ['of two tensors', 'matmul(x, y)', {}, 'extern'],
    ['a convolution', 'Conv2d(8, 4, 3)', images, 'extern'],
    ['attention', 'scaled_dot_product_attention(x, x, x)', { input: 'float32[2, 4, 8, 16]' }, 'extern'],
    ['an activation', 'relu()', {}, 'pointwise'],
    ['one that is exported as several', 'GELU()', {}, 'pointwise'],
    ['a sum of two', 'add(x, x)', {}, 'pointwise'],
    ['dropout', 'Dropout(0.5)', {}, 'pointwise'],
    ['what is joined', 'cat((x, x), dim=-1)', {}, 'pointwise'],
    ['a softmax', 'softmax(dim=-1)', {}, 'rows'],
    ['a sum of rows', 'sum(dim=-1)', {}, 'rows'],
    ['a layer normalization', 'LayerNorm(16)', {}, 'rows'],
    ['one of squares', 'RMSNorm(16)', {}, 'rows'],
    ['one of groups', 'GroupNorm(2, 8)', images, 'rows'],
    ['batches', 'BatchNorm2d(8)', images, 'batch normalization'],
    // By running statistics it scales and shifts, which is fused like the rest.
    ['batches in inference', 'BatchNorm2d(8)', { ...images, mode: 'inference' }, 'pointwise'],
    ['maxima', 'MaxPool2d(2)', images, 'window'],
    ['means', 'AvgPool2d(2)', images, 'window'],
    ['the mean of an image', 'AdaptiveAvgPool2d(1)', images, 'rows'],
    ['means of columns', 'AdaptiveAvgPool2d((1, 4))', images, 'window'],
    ['rows of a table', 'Embedding(100, 4) from ids', {}, 'embedding'],
    ['a reshape', 'reshape((2, 128))', {}, 'view'],
    ['a transposition', 'transpose(1, 2)', {}, 'view'],
    ['a slice', 'narrow(x, 1, 0, 4)', {}, 'view'],
    ['a part', 'chunk(x, 2, dim=-1)', {}, 'view'],
    ['sizes', 'onnx.Shape(x)', {}, 'nothing'],
    ['a loss', 'MSELoss() from x, x', {}, 'rows'],
    ['a loss of scores', 'CrossEntropyLoss() from x, ids', scores, 'rows'],
    [
      'one behind what is compiled',
      'CrossEntropyLoss() from x, ids',
      { ...scores, compilesLoss: false },
      'extern',
    ],
  ])('%s: %s', (_, line, asked, part) => {
    const before = line.includes('y)') ? ['y: transpose(x, 1, 2)'] : [];
    const name = line.startsWith('chunk') ? 'a, b' : 'last';
    const graph = compiledGraph([...before, `${name}: ${line}`], asked);
    expect(graph.partOf(lastOf(graph))).toBe(part);
  });

  test.each<[Part, boolean]>([
    ['nothing', true],
    ['view', true],
    ['pointwise', true],
    ['rows', true],
    ['batch normalization', true],
    ['extern', false],
    ['window', false],
    ['embedding', false],
    ['folded bias', false],
  ])('%s becomes part of a generated kernel: %s', (part, expected) => {
    expect(isFusible(part)).toBe(expected);
  });
});

describe('rows', () => {
  test.each<[string, Asked, number, 'normalization' | 'reduction']>([
    ['softmax(dim=-1)', {}, 16, 'reduction'],
    ['sum(dim=1)', {}, 8, 'reduction'],
    ['sum(dim=-1)', {}, 16, 'reduction'],
    ['mean(dim=(1, 2))', {}, 128, 'reduction'],
    ['LayerNorm(16)', {}, 16, 'normalization'],
    ['LayerNorm((8, 16))', {}, 128, 'normalization'],
    ['AdaptiveAvgPool2d(1)', images, 256, 'normalization'],
    ['CrossEntropyLoss() from x, ids', scores, 16, 'reduction'],
  ])('%s', (line, asked, elements, rowClass) => {
    const graph = compiledGraph([`last: ${line}`], asked);
    const last = lastOf(graph);
    expect([graph.rowOf(last), graph.rowClassOf(last)]).toEqual([elements, rowClass]);
  });
});

describe('bytes', () => {
  test('of a tensor, of its gradient, of a part of that, and of what is no tensor', () => {
    const graph = compiledGraph(['h: Linear(16, 4)']);
    const name = lastOf(graph).outputs[0] ?? '';
    const size = 4 * 2 * 8 * 4;
    expect([name, `d:${name}`, `d:${name}|3`, `${name}#24`, 'ids', 'nobody'].map(graph.bytesOf)).toEqual([
      ...[size, size, size, 24],
      8 * 2 * 8,
      0,
    ]);
  });

  /** In bf16 a kernel computes in fp32, and stores what libraries alone read as they read it; what the caller gets is as eager has it. */
  test.each([
    ['what a softmax gives', ['h: Linear(16, 16)', 's: softmax(dim=-1)'], 4],
    ['what a matmul alone reads of that', ['h: Linear(16, 16)', 's: softmax(dim=-1)', 'o: Linear(16, 4)'], 2],
    [
      'what is read beside it',
      ['h: Linear(16, 16)', 's: softmax(dim=-1)', 'o: Linear(16, 16)', 'e: exp(s)', 'm: add(o, e)'],
      4,
    ],
    ['what a matmul gives', ['s: Linear(16, 16)', 'o: exp()'], 2],
  ] as const)('in bf16, %s', (_, lines, expected) => {
    const graph = compiledGraph(lines, { precision: 'bf16' });
    const made = operatorsOf(graph)
      .flatMap(({ outputs }) => outputs)
      .find((name) => name === 's' || name.startsWith('s/'));
    expect(graph.bytesPerElementOf(made ?? '')).toBe(expected);
  });
});

/**
 * torch/csrc/autograd/FunctionsManual.cpp, `split_backward`: gradients of parts are joined, so each is added up by itself; that of a view of a
 * part is a view of that of the part.
 */
test('a gradient is added to that of the part, or of the memory, that a view shows', () => {
  const graph = compiledGraph([
    'h: Linear(16, 16)',
    'rows: reshape(h, (2, 128))',
    'a, b: chunk(h, 2, dim=-1)',
    'flat: reshape(b, (2, 64))',
    'short: narrow(b, 1, 0, 2)',
    'out: relu(flat)',
    'more: relu(short)',
    'whole: relu(rows)',
  ]);
  const outputsOf = (type: string) =>
    operatorsOf(graph)
      .filter((operator) => operator.type === type)
      .flatMap(({ outputs }) => outputs);
  const [first = '', second = ''] = outputsOf('Split');
  const [rows = '', flat = ''] = outputsOf('Reshape');
  const [short = ''] = outputsOf('Slice');
  const linear = 'h/Add';
  expect([first, second, flat, rows, linear].map((name) => graph.receiverOf(name))).toEqual([
    first,
    second,
    second,
    linear,
    linear,
  ]);
  // A range of a part is none of it: the gradient is put into one of zeros.
  expect(graph.receiverOf(short)).not.toBe(second);
});

/** torch/_functorch/partitioners.py, `solve_min_cut`: what is cheaper to make again is made again. Weights are bytes. */
describe('kept or made again', () => {
  const chain = (key: string): readonly string[] | undefined =>
    /^v\d+$/.test(key) && Number(key.slice(1)) > 0 ? [`v${Number(key.slice(1)) - 1}`] : undefined;
  const kept = (
    asked: Readonly<Record<string, { readonly mustStay?: boolean; readonly from?: readonly string[] }>>,
    sources: (key: string) => readonly string[] | undefined,
    weights: Readonly<Record<string, number>> = {},
  ) => {
    const list = Object.entries(asked).map(
      ([key, { mustStay = false, from = [key] }]) => [key, { mustStay, from }] as const,
    );
    return [...keptOf(new Map(list), sources, (key) => weights[key] ?? 10)].sort();
  };

  test('what must stay stays, whatever it is made of', () => {
    expect(kept({ v1: { mustStay: true } }, chain, { v0: 1 })).toEqual(['v1']);
  });

  test('what is made of less is not kept, but that is', () => {
    expect(kept({ v1: {} }, chain, { v0: 9 })).toEqual(['v0']);
    // As much is no gain.
    expect(kept({ v1: {} }, chain, { v0: 10 })).toEqual(['v1']);
    expect(kept({ v1: {} }, chain, { v0: 11 })).toEqual(['v1']);
  });

  test('what is kept anyway costs nothing more', () => {
    expect(kept({ v0: { mustStay: true }, v3: {} }, chain, { v0: 100 })).toEqual(['v0']);
    const both = (key: string) => (key === 'sum' ? ['a', 'b'] : undefined);
    expect(kept({ sum: {} }, both, { a: 4, b: 5 })).toEqual(['a', 'b']);
    expect(kept({ sum: {} }, both, { a: 5, b: 5 })).toEqual(['sum']);
    expect(kept({ a: { mustStay: true }, sum: {} }, both, { a: 5, b: 5 })).toEqual(['a', 'b']);
  });

  test('what nothing can make again is kept', () => {
    expect(kept({ v0: {} }, chain)).toEqual(['v0']);
  });

  /** `ban_if_long_fusible_chains`: 12 steps back are made again, more are not. */
  test('long ways are not gone again', () => {
    expect(kept({ v12: {} }, chain, { v0: 1 })).toEqual(['v0']);
    expect(kept({ v13: {} }, chain, { v0: 1 })).toEqual(['v13']);
    const of = (count: number) => (key: string) =>
      key === 'sum' ? Array.from({ length: count }, (_, index) => `part${index}`) : undefined;
    const weights = { sum: 1000 };
    expect(kept({ sum: {} }, of(12), weights)).toHaveLength(12);
    expect(kept({ sum: {} }, of(13), weights)).toEqual(['sum']);
  });
});
