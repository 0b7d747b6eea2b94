/** How values lie in memory, and whose, as PyTorch says (`golden/writeViews.py`). `x` and `y` are float32[2, 6, 4, 8]. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { viewStorage } from '../../server/src/frameworks/pytorch/viewStorage.ts';

interface Lying {
  readonly sizes: readonly number[];
  /** `null` along axes of one entry, which is never stepped along. */
  readonly strides: readonly (number | null)[];
  /** Its memory is that of `x`. */
  readonly shares: boolean;
}

const golden: Readonly<Record<string, Lying>> = JSON.parse(
  readFileSync('test/frameworks/golden/views.json', 'utf8'),
);

type Questions = Parameters<typeof viewStorage>[1];

const plain: Questions = {
  isCast: () => false,
  attention: () => undefined,
  inOrder: () => false,
  liesLast: () => false,
};

/** Of lines of a layer spec, those without a name get one: `v0`, `v1`, … `contiguous()` is what an archive has of the call. */
function viewsOf(program: string, questions: Partial<Questions> = {}) {
  const lines = program
    .replaceAll('contiguous()', 'Identity()')
    .split('; ')
    .map((line, index) => (/^\w+(, \w+)*: /.test(line) ? line : `v${index}: ${line}`));
  const shape = 'float32[2, 6, 4, 8]';
  const text = `inputs: { x: '${shape}', y: '${shape}' }\nlayers:\n${lines.map((line) => `  - ${line}\n`).join('')}`;
  const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'views.layers.yaml');
  const { training: found, issues } = estimateModel(opened, [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'fp32', loss: 'none' },
  ]);
  if (found === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const training = program.includes('contiguous()') ? withLaidOut(found) : found;
  const views = viewStorage(training, { ...plain, ...questions });
  const { operators } = training.analysis.graph;
  const last = operators.at(-1)?.outputs.at(-1) ?? '';
  return { ...views, last, copied: [...views.copies].map((index) => operators[index]?.type) };
}

function withLaidOut(training: TrainingGraph): TrainingGraph {
  const { graph } = training.analysis;
  const operators = graph.operators.map((operator) =>
    operator.type === 'Identity' ? { ...operator, isLaidOut: true as const } : operator,
  );
  return { ...training, analysis: { ...training.analysis, graph: { ...graph, operators } } };
}

describe('PyTorch lays it so', () => {
  test.each(Object.entries(golden))('%s', (program, expected) => {
    const { layout, storage, last } = viewsOf(program);
    const lies = layout(last);
    expect({
      sizes: lies?.sizes,
      strides: lies?.strides.map((stride, axis) => (lies.sizes[axis] === 1 ? null : stride)),
      shares: storage(last) === 'x',
    }).toEqual(expected);
  });
});

/** Only a reshape of what is repeated is written out by the reshape; what was transposed is written out by the `Transpose` before it. */
test.each([
  ['narrow(x, 1, 0, 1); expand(2, 5, 4, 8); reshape((2, 20, 8))', ['Reshape']],
  ['narrow(x, 1, 0, 1); expand(2, 5, 4, 8); reshape((2, 5, 32))', []],
  ['transpose(x, 1, 2); reshape((2, 24, 8))', []],
])('%s: written out by %s', (program, copied) => expect(viewsOf(program).copied).toEqual(copied));

/** The kernels of PyTorch 2.13 that decide by themselves how a result lies. Strides of [2, 8, 6, 4]. */
describe('what is made', () => {
  const turned = 't: permute(x, 0, 3, 1, 2); relu(t)';
  const strides = (program: string, questions: Partial<Questions> = {}) => {
    const { layout, last } = viewsOf(program, questions);
    return layout(last)?.strides;
  };
  test('by a convolution in channels-last format lies so, images alone', () => {
    expect(strides('relu(x)', { liesLast: () => true })).toEqual([192, 1, 48, 6]);
    expect(strides('z: reshape(x, (2, 6, 32)); relu(z)', { liesLast: () => true })).toEqual([192, 32, 1]);
  });

  test('by a fused normalization lies in order, whatever it reads', () => {
    expect(strides(turned)).toEqual([192, 1, 32, 8]);
    expect(strides(turned, { inOrder: ({ type }) => type === 'Relu' })).toEqual([192, 24, 4, 1]);
  });

  /** `Tensor.to` has `memory_format=torch.preserve_format`: what is cast has memory of its own, and lies as it did. */
  test('by a cast that does something is a copy, by one that does nothing the tensor itself', () => {
    const cast = 't: permute(x, 0, 3, 1, 2); onnx.Cast(t, to=1)';
    const kept = viewsOf(cast);
    expect([kept.storage(kept.last), kept.copied]).toEqual(['x', []]);
    const made = viewsOf(cast, { isCast: ({ type }) => type === 'Cast' });
    expect([made.storage(made.last), made.copied]).toEqual([made.last, ['Cast']]);
    for (const { layout, last } of [kept, made]) expect(layout(last)?.strides).toEqual([192, 1, 32, 8]);
  });

  /** `mha_fwd` of FlashAttention: as the query lies; an output of its own. */
  test('by fused attention lies as its query', () => {
    const attention: Questions['attention'] = ({ type, inputs: [query = ''] }) =>
      type === 'Relu' ? { query, value: query, mask: undefined } : undefined;
    const liesLast = () => true;
    expect(strides('permute(x, 0, 2, 1, 3); relu()', { attention, liesLast })).toEqual([192, 8, 32, 1]);
    expect(strides('relu(x)', { attention, liesLast })).toEqual([192, 32, 8, 1]);
  });
});

/**
 * torch/nn/functional.py, `_in_projection_packed`: `proj.unflatten(-1, (3, E)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()`,
 * of which queries and keys are taken, and viewed with heads beside sequences: what is laid out in order is the whole.
 */
test('a whole of which parts are viewed as no view of it can show is laid out in order', () => {
  const packed =
    'parted: reshape(x, (2, 6, 4, 8)); whole: permute(parted, 2, 1, 0, 3); part: select(whole, 0, 1)';
  const apart = viewsOf(`${packed}; reshape(part, (6, 16))`);
  expect([...apart.laidOut]).toHaveLength(1);
  const [whole = ''] = apart.laidOut;
  // In order: [4, 6, 2, 8]; the part is one of four, and rows of it are seen as they lie there.
  expect(apart.layout(whole)?.strides).toEqual([96, 16, 8, 1]);
  expect(apart.storage(whole)).toBe(whole);
  expect(apart.storage(apart.last)).toBe(whole);
  expect(apart.layout(apart.last)?.strides).toEqual([16, 1]);
  const kept = viewsOf(`${packed}; reshape(part, (6, 2, 2, 4))`);
  expect([...kept.laidOut]).toEqual([]);
  expect(kept.storage(kept.last)).toBe('x');
});

/**
 * A copy where the tensor does not lie in order, else the tensor itself
 * (aten/src/ATen/native/TensorProperties.cpp, `contiguous`). Strides of [2, 4, 6, 8].
 */
test('contiguous() of what does not lie in order is a copy in order', () => {
  const turned = viewsOf('t: transpose(x, 1, 2); contiguous()');
  expect([...turned.laidOut]).toEqual([turned.last]);
  expect(turned.storage(turned.last)).toBe(turned.last);
  expect(turned.layout(turned.last)?.strides).toEqual([192, 48, 8, 1]);
  for (const program of [
    'r: reshape(x, (2, 4, 6, 8)); contiguous()',
    't: permute(x, 0, 3, 1, 2); contiguous()',
    't: transpose(x, 1, 2); Identity()',
  ]) {
    const kept = viewsOf(program);
    expect([[...kept.laidOut], kept.storage(kept.last)]).toEqual([[], 'x']);
  }
  // Fused attention lays its result out as the query lies, so that tokens are put first by a copy.
  const attention: Questions['attention'] = ({ type, inputs: [query = ''] }) =>
    type === 'Relu' ? { query, value: query, mask: undefined } : undefined;
  const given = 't: transpose(x, 1, 2); i: contiguous(); a: relu(i); back: transpose(a, 1, 2); contiguous()';
  expect(viewsOf(given, { attention }).laidOut.size).toBe(2);
  expect(
    viewsOf(given.replace('; i: contiguous()', '').replace('(i)', '(t)'), { attention }).laidOut.size,
  ).toBe(0);
});
