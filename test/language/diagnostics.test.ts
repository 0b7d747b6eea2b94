import { expect, it } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { diagnostics } from '../../server/src/language/diagnostics.ts';
import { locateOnnxText } from '../../server/src/language/locateOnnxText.ts';
import { viewOnnxText } from '../../server/src/language/viewOnnxText.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { expectations, oneGpu, viewOf } from './fixture.ts';

const kinds = { error: 'error', warning: 'warning', information: 'info' } as const;

/** Compares codes, places and columns of all issues (findings have tests of their own); an expectation is a code, then part of the message. */
function check(text: string, request: ScenarioRequest = { ...oneGpu, batch: 1 }): void {
  const found = diagnostics(viewOf(text, request)).filter(({ code }) => !code.startsWith('findings/'));
  const expected = expectations(text).filter(({ kind }) => ['error', 'warning', 'info'].includes(kind));
  const shown = found
    .map(({ code, severity, range, message }) => ({
      line: range.start.line,
      kind: kinds[severity],
      code,
      columns: [range.start.character, range.end.character],
      message,
    }))
    .sort((a, b) => a.line - b.line);
  expect(shown.map(({ line, kind, code }) => `${line} ${kind} ${code}`)).toEqual(
    expected.map(({ line, kind, text: wanted }) => `${line} ${kind} ${wanted.split(' ')[0]}`),
  );
  for (const [index, { columns, text: wanted }] of expected.entries()) {
    if (columns !== undefined) expect(shown[index]?.columns).toEqual(columns);
    expect(shown[index]?.message).toContain(wanted.split(' ').slice(1).join(' '));
  }
}

it('underlines the word that is wrong', () => {
  check(`
inputs:
  x: float32[batch, 8]
layers:
  - a: Linaer(8, 8)
  #    ^^^^^^ error: spec/unknown-layer Linear
`);
});

it('underlines the argument that contradicts the input', () => {
  check(`
inputs:
  x: float32[batch, 8]
layers:
  - a: Linear(9, 8)
  #           ^ error: shape/mismatch 9
`);
});

it('puts what is wrong with the scenario of a layer spec where it is written', () => {
  check(`
inputs:
  x: float32[batch, 8]
layers:
  - a: Linear(8, 8)
scenario: { cluster: dgx-9000, gpus: 8, batch: 1 }
#                    ^^^^^^^^ error: scenario/unknown-cluster dgx-9000
`);
});

it('puts what is wrong with an option where the option is', () => {
  check(`
inputs:
  x: float32[batch, 8]
layers:
  - a: Linear(8, 8)
scenario: { cluster: v100-sxm2-16gb, gpus: 1, batch: 1, framework: "pytorch-ddp,compile,bukcet-mb=5" }
#                                                                                       ^^^^^^^^^^^ error: scenario/invalid did you mean \`bucket-mb\`
`);
  check(`
inputs:
  x: float32[batch, 8]
layers:
  - a: Linear(8, 8)
scenario:
  batch: 1
  framework:
    name: pytorch-ddp
    bucket-mb: many
#   ^^^^^^^^^^^^^^^ error: scenario/invalid a positive number
`);
});

it.each([
  ['framework: pytorch-dpp', 'pytorch-dpp', 'scenario/unknown-framework', 'did you mean `pytorch-ddp`'],
  ['framework: "pytorch-ddp,bukcet-mb=5"', 'bukcet-mb=5', 'scenario/invalid', 'did you mean `bucket-mb`'],
  ['framework: "pytorch-ddp,bucket-mb=x"', 'bucket-mb=x', 'scenario/invalid', 'a positive number'],
  ['gpus: 12', '12', 'scenario/invalid', 'use at most 1'],
  ['nodes: 3', '3', 'scenario/invalid', 'is one node'],
])('puts %s where it is written', (written, wrong, code, words) => {
  const cluster = written.startsWith('nodes') ? 'rtx-3090' : 'v100-sxm2-16gb';
  const start = 2 + written.indexOf(wrong);
  const text = `inputs:
  x: float32[4, 8]
layers:
  - a: Linear(8, 8)
scenario:
  cluster: ${cluster}
  ${written}
`;
  const found = diagnostics(viewOf(text, {})).filter(({ severity }) => severity === 'error');
  expect(found).toMatchObject([
    {
      code,
      message: expect.stringContaining(words),
      range: {
        start: { line: 6, character: start },
        end: { line: 6, character: start + wrong.length },
      },
    },
  ]);
});

it('puts a finding about the whole step on the first line with text', () => {
  const text = `# A comment
name: large
inputs:
  x: float32[batch, 65536]
layers:
  - a: Linear(65536, 65536)
  - b: Linear(65536, 65536)
`;
  const found = diagnostics(viewOf(text, { ...oneGpu, cluster: 't4', batch: 1 }));
  const memory = found.find(({ code }) => code === 'findings/out-of-memory');
  expect(memory?.severity).toMatch(/error|warning/);
  expect(memory?.message).toMatch(/GiB/);
  expect(memory?.range.start.line).toBe(1);
});

it('says once what holds for every repetition of a line', () => {
  const text = `inputs:
  x: float32[batch, 4096]
blocks:
  stage:
    - fc: Linear(4096, 4096)
layers:
  - body: stage() * 4
`;
  const found = diagnostics(viewOf(text, { cluster: 'k80-10gbe', gpus: 16, batch: 1 }));
  const perLine = new Map<string, number>();
  for (const { code, range } of found) {
    const key = `${code} ${range.start.line}`;
    perLine.set(key, (perLine.get(key) ?? 0) + 1);
  }
  expect([...perLine.values()].every((count) => count === 1)).toBe(true);
  expect(found.some(({ code }) => code === 'findings/exposed-communication')).toBe(true);
});

it.each([
  [
    '<ir_version: 8, opset_import: ["" : 17]>\nnet (float[batch, 4096] x) => (float[batch, 4096] y) {\n  y = Relu (x)\n}\n',
    1,
  ],
  [
    '<\n  ir_version: 8,\n  opset_import: ["" : 17]\n>\nnet (float[batch, 4096] x) => (float[batch, 4096] y) {\n  y = Relu (x)\n}\n',
    4,
  ],
])('puts a finding about a whole ONNX text on its graph, not on its header', (text, line) => {
  const opened = openOnnxText(text, 'net.onnxtxt');
  const spans = opened.onnxSpans ?? { nodes: [], values: new Map(), sections: [] };
  const estimate = estimateModel(opened, [{ ...oneGpu, batch: 10_000_000 }]);
  const found = diagnostics(viewOnnxText(locateOnnxText(text, spans), estimate));
  expect(
    found.filter(({ code }) => code === 'findings/out-of-memory').map(({ range }) => range.start.line),
  ).toEqual([line]);
});
