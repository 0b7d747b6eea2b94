import { expect, it } from 'vitest';
import { diagnostics } from '../../../server/src/language/diagnostics.ts';
import { keepLastGood } from '../../../server/src/language/keepLastGood.ts';
import { completeLayerSpec } from '../../../server/src/language/layer-spec/completeLayerSpec.ts';
import { includeAt, includeProposals } from '../../../server/src/language/layer-spec/includeProposals.ts';
import { viewOf } from '../fixture.ts';
import { atCursor } from './cursor.ts';

/** The frame of a model; `…` stands for the line that is being written. */
const frame = `dims: { batch: 8, d: 768, heads: 12 }
inputs:
  x: float32[batch, d]
blocks:
  pair(width, ratio=4):
    - up: Linear(width, ratio*width)
    - act: GELU()
layers:
  - first: Linear(d, d)
  - second: ReLU()
`;
const line = (text: string): string => `${frame}  - new: ${text}\n`;

function labels(marked: string): readonly string[] {
  const { document, offset } = atCursor(marked);
  const view = keepLastGood(viewOf(document.source), viewOf(frame));
  return completeLayerSpec(document, offset, view).map(({ label }) => label);
}

/** The first proposals are these; with `only`, there are no others. */
function check(marked: string, expected: readonly string[], only = false): void {
  const found = labels(marked);
  expect(only ? found : found.slice(0, expected.length)).toEqual(expected);
}

it('proposes blocks of the file, then layers, then ONNX operators', () => {
  const found = labels(line('|'));
  expect(found[0]).toBe('pair');
  expect(found).toContain('Linear');
  expect(found.indexOf('Linear')).toBeLessThan(found.indexOf('Gemm'));
});

it('puts layers of another rank after those that fit', () => {
  const found = labels(line('|'));
  expect(found.indexOf('LayerNorm')).toBeLessThan(found.indexOf('Conv2d'));
});

it.each([
  ['the size of the input first', 'Linear(|', ['768', 'd', 'heads', 'batch', 'in_features=']],
  ['dims where a size is required', 'Linear(d, |', ['d', 'heads', 'batch', 'out_features=', 'bias=']],
  ['names of options once all sizes are given', 'Linear(d, d, |', ['bias=']],
  ['values after a keyword', 'Linear(d, d, bias=|', ['False', 'True']],
  ['a half-typed keyword, by the editor’s filter', 'Linear(d, d, bi|', ['bias=']],
  ['layers above for a function, the nearest first', 'add(|', ['second', 'first', 'x']],
  ['layers that are not taken yet', 'add(second, |', ['first', 'x']],
  ['dims in an expression', 'Linear(d, 4*|', ['d', 'heads', 'batch']],
  ['parameters of a block after sizes', 'pair(|', ['d', 'heads', 'batch', 'width=', 'ratio=']],
  ['layers above after `from`', 'Linear(d, d) from |', ['second', 'first', 'x']],
  ['others after a comma', 'add() from second, |', ['first', 'x']],
  ['others, and the one that is being written', 'add() from second, first|', ['first', 'x']],
  ['dims for the repetition', 'Linear(d, d) * |', ['batch', 'd', 'heads']],
  ['what may follow a call', 'Linear(d, d) |', ['from', 'frozen', 'recompute', 'precision']],
  ['values of a mark', 'Linear(d, d) precision=|', ['fp32', 'tf32', 'fp16']],
])('proposes %s', (_, text, expected) => {
  const found = labels(line(text));
  for (const [index, label] of expected.entries()) {
    if (index === 0) expect(found[0]).toBe(label);
    else expect(found.indexOf(label)).toBeGreaterThan(found.indexOf(expected[index - 1] ?? ''));
  }
});

it('proposes what a layer has inside, after its point', () => {
  const below = (text: string): string =>
    `${frame}  - body: pair(d)\n  - out, h: LSTM(d)\n  - new: ${text}\n`;
  check(below('Linear(d, d, weight=body.|)'), ['up', 'act'], true);
  check(below('Linear(d, d, weight=body.u|)'), ['up', 'act'], true);
  check(below('add(out.|'), ['output', 'h_n', 'c_n'], true);
  check(below('Linear(d, d, weight=first.|)'), [], true);
});

it('proposes parameters and the input of a block inside it', () => {
  const inside = frame.replace('    - act: GELU()\n', '    - act: add(|\n');
  expect(labels(inside).slice(0, 3)).toEqual(['up', 'input', 'x']);
  const size = frame.replace('    - act: GELU()\n', '    - act: Linear(|\n');
  expect(labels(size).filter((label) => ['width', 'ratio', 'd'].includes(label))).toEqual([
    'width',
    'ratio',
    'd',
  ]);
});

it('proposes keys of the top level that are not there yet', () => {
  check(`${frame}|`, ['name', 'include', 'outputs', 'scenario', 'models']);
  check(`${frame}out|`, ['name', 'include', 'outputs', 'scenario', 'models']);
});

it('proposes what a scenario may say', () => {
  check(`${frame}scenario: { | }`, ['cluster', 'nodes', 'gpus', 'batch', 'precision']);
  check(`${frame}scenario:\n  |`, ['cluster', 'nodes', 'gpus', 'batch', 'precision']);
  check(`${frame}scenario: { cluster: dgx-h100, | }`, ['nodes', 'gpus']);
  check(`${frame}scenario: { precision: | }`, ['fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'nvfp4'], true);
  expect(labels(`${frame}scenario: { cluster: dgx-h| }`)).toContain('dgx-h100');
  const parallel = (text: string): string => `${frame}scenario:\n  parallel: "${text}"`;
  expect(labels(parallel('tp=2,|'))).toContain('stages');
  expect(labels(parallel('tp=2,|'))).not.toContain('tp');
  check(parallel('pp=4,stages=|'), ['balanced', 'uniform', 'torchtitan'], true);
  check(parallel('pp=4,schedule=v-|'), ['gpipe', '1f1b'], false);
  check(`${frame}scenario:\n  run: "samples=1000,price=|"`, ['on-demand'], false);
  check(`${frame}scenario:\n  framework: |`, ['pytorch-ddp']);
  expect(labels(`${frame}scenario:\n  framework: pytorch-ddp,|`)).toContain('bucket-mb');
  const framework = (text: string): string => `${frame}scenario:\n  framework: ${text}`;
  check(framework('pytorch-ddp,attention=|'), ['as-exported', 'fused', 'eager'], true);
  check(framework('pytorch-ddp,bucket-mb=|'), ['25'], true);
  check(framework('"pytorch-ddp,bucket-mb=50,memory-format=ch|"'), ['channels-first', 'channels-last'], true);
  check(framework('pytorch-ddp,nothing=|'), [], true);
  const mapping = (text: string): void => {
    for (const scenario of [`scenario:\n  framework: { ${text} }`, `scenario: { framework: { ${text} } }`]) {
      expect(labels(`${frame}${scenario}`).slice(0, 1)).toEqual(['name']);
    }
  };
  mapping('|');
  mapping('na|');
  for (const [text, expected] of [
    ['{ name: | }', 'pytorch-ddp'],
    ['{ name: pytorch-ddp, | }', 'bucket-mb'],
    ['{ name: pytorch-ddp, buck| }', 'bucket-mb'],
    ['{ compile: true, name: pytorch-ddp, | }', 'bucket-mb'],
    ['{ name: pytorch-ddp, attention: | }', 'as-exported'],
    ['{ name: pytorch-ddp, bucket-mb: | }', '25'],
    ['{ bucket-mb: |, name: pytorch-ddp }', '25'],
  ] as const) {
    expect(labels(framework(text))[0]).toBe(expected);
    expect(labels(`${frame}scenario: { gpus: 8, framework: ${text} }`)[0]).toBe(expected);
  }
  check(`${frame}scenario: { framework: { name: mxnet }, | }`, ['cluster', 'nodes', 'gpus']);
  check(`${frame}scenario:\n  framework:\n    |`, ['name'], true);
  check(`${frame}scenario:\n  framework:\n    name: |\n  gpus: 8`, ['pytorch-ddp']);
  check(`${frame}scenario:\n  framework:\n    name: horovod\n    |\n  gpus: 8`, ['fusion-mb']);
  check(
    `${frame}scenario:\n  framework:\n    attention: |\n    name: pytorch-ddp\n`,
    ['as-exported', 'fused', 'eager'],
    true,
  );
});

it('replaces the whole word of a name with hyphens', () => {
  const { document, offset } = atCursor(`${frame}scenario: { cluster: dgx-h| }`);
  const [first] = completeLayerSpec(document, offset, undefined);
  expect(document.source.slice(first?.span.start, first?.span.end)).toBe('dgx-h');
});

it('proposes element types and sizes of inputs, and dims for dims', () => {
  check(frame.replace('float32[batch, d]', '|'), ['float32', 'int64', 'bool']);
  check(frame.replace('[batch, d]', '[batch, |]'), ['batch', 'd', 'heads'], true);
  check(frame.replace('heads: 12', 'heads: |'), ['batch', 'd'], true);
});

it('proposes nothing in comments, names and texts', () => {
  check(line('Linear(d, d) # |'), [], true);
  check(`${frame}name: |`, [], true);
  check(`${frame}  - |`, ['layer', 'residual']);
});

it('proposes for a model below `models` what it and all models have', () => {
  const models = `models:
  small:
    dims: { d: 64 }
    layers:
      - a: Linear(d, d)
      - b: add(|
  large:
    dims: { d: 256 }
inputs:
  x: float32[batch, d]
`;
  check(models, ['a', 'x']);
  check(models.replace('add(|', 'ReLU()').replace('d: 256 }', 'd: 256 }\n    |'), ['inputs', 'blocks']);
});

it.each([
  ['include: |', '', ['parts/', 'own.yaml', 'used.yaml']],
  ['include: parts/m|', 'parts/', undefined],
  ['include: [used.yaml, |]', '', ['parts/', 'own.yaml']],
  ['include:\n  - used.yaml\n  - "|', '', ['parts/', 'own.yaml']],
  ['include: ../|', undefined, undefined],
  ['blocks:\n  - |', undefined, undefined],
])('proposes paths of files to include: %s', (marked, folder, expected) => {
  const { document, offset } = atCursor(marked);
  const place = includeAt(document, offset);
  expect(place?.folder).toBe(folder);
  if (place === undefined || expected === undefined) return;
  const entries = [
    { name: 'used.yaml', isFolder: false },
    { name: 'self.yaml', isFolder: false },
    { name: 'own.yaml', isFolder: false },
    { name: 'model.onnx', isFolder: false },
    { name: 'parts', isFolder: true },
    { name: '.git', isFolder: true },
  ];
  expect(includeProposals(document, place, entries, 'self.yaml').map(({ label }) => label)).toEqual(expected);
});

it('leaves something to go on with behind a key', () => {
  const insertOf = (marked: string): string | undefined => {
    const { document, offset } = atCursor(marked);
    return completeLayerSpec(document, offset, undefined).find(({ label }) => label === 'layers')?.insert;
  };
  expect(insertOf('inputs: {}\nlay|')).toBe(`layers:\n  - \${1:fc}: $0`);
});

it('begins an empty text with a model, each of which can be costed', () => {
  const { document, offset } = atCursor('|');
  const models = completeLayerSpec(document, offset, undefined).slice(0, 4);
  expect(models.map(({ label }) => label)).toEqual(['model', 'MLP', 'CNN', 'transformer']);
  for (const { insert } of models) {
    const text = insert.replace(/\$\{\d+:([^}]*)\}|\$\d+/g, '$1');
    const view = viewOf(text);
    expect(diagnostics(view).filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(view.estimate.cost?.totals.time.step ?? 0).toBeGreaterThan(0);
  }
});
