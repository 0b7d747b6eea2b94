import { expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { diagnostics } from '../../../server/src/language/diagnostics.ts';
import { layerSpecFixes } from '../../../server/src/language/layer-spec/fixes/layerSpecFixes.ts';
import { readSpecText } from '../../../server/src/language/layer-spec/specText.ts';
import { applyEdits } from '../../../server/src/language/textEdit.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { oneGpu, viewOf } from '../fixture.ts';

/** The fixes of all diagnostics with this code: titles, and the text each makes. */
function fixes(
  text: string,
  code: string,
  request: ScenarioRequest = oneGpu,
): readonly { readonly title: string; readonly text: string }[] {
  const view = viewOf(text, request);
  const recost = (source: string) => {
    const opened = openLayerSpec(source, 'test.layers.yaml');
    return estimateModel(opened, [opened.scenario, request]);
  };
  const wrong = diagnostics(view).filter((diagnostic) => diagnostic.code === code);
  expect(wrong.map((diagnostic) => diagnostic.code)).not.toEqual([]);
  return layerSpecFixes(readSpecText(text), view, wrong, recost).map(({ title, edits }) => ({
    title,
    text: applyEdits(text, edits),
  }));
}

/** The first fix has the title and turns `before` into `after`; then the diagnostic is gone. */
function check(
  before: string,
  code: string,
  title: string | RegExp,
  after: string,
  request?: ScenarioRequest,
): void {
  const [first] = fixes(before, code, request);
  expect(first?.title).toMatch(title);
  expect(first?.text).toBe(after);
  const left = diagnostics(viewOf(after, request)).filter((diagnostic) => diagnostic.code === code);
  expect(left).toEqual([]);
}

const spec = (layers: string, rest = ''): string => `dims: { batch: 8, d: 64 }
inputs:
  x: float32[batch, d]
layers:
${layers}
${rest}`;

it.each([
  ['a layer', '  - a: Linaer(d, d)', 'spec/unknown-layer', '`Linear`', '  - a: Linear(d, d)'],
  [
    'an argument',
    '  - a: Linear(d, d, bais=False)',
    'spec/argument',
    '`bias`',
    '  - a: Linear(d, d, bias=False)',
  ],
  ['a dim', '  - a: Linear(d, dd)', 'spec/dimension', '`d`', '  - a: Linear(d, d)'],
  [
    'a source',
    '  - first: ReLU()\n  - a: Linear(d, d) from frist',
    'spec/unknown-source',
    '`first`',
    '  - first: ReLU()\n  - a: Linear(d, d) from first',
  ],
])('puts the nearest name for %s', (_, before, code, name, after) =>
  check(spec(before), code, `Change to ${name}`, spec(after)),
);

it.each([
  ['x + y', 'Write `add(x, y)`', 'add(x, y)'],
  ['x * y', 'Write `mul(x, y)`', 'mul(x, y)'],
  ['MSELoss()(x, y)', 'Write `from x, y`', 'MSELoss() from x, y'],
  ['Linear[d, (d)] * 2', 'Write parentheses', 'Linear(d, (d)) * 2'],
  ['Linear{d, d}', 'Write parentheses', 'Linear(d, d)'],
  ['Linear(d, d]', 'Change to `)`', 'Linear(d, d)'],
  ['Linear(d, d])', 'Remove `]`', 'Linear(d, d)'],
  ['Linear(d, d', 'Insert `)`', 'Linear(d, d)'],
  ['GELU() x 3', 'Write `*`', 'GELU() * 3'],
  ['GELU', 'Write `GELU()`', 'GELU()'],
])('writes the call that %s means', (before, title, after) => {
  const text = (call: string): string => spec(`  - y: Linear(d, d)\n  - a: ${call}`);
  const [first] = fixes(text(before), 'spec/call');
  expect(first).toEqual({ title, text: text(after) });
});

it('offers every cluster whose name holds what is written', () => {
  const made = fixes(
    spec('  - a: Linear(d, d)', 'scenario: { cluster: h100 }\n'),
    'scenario/unknown-cluster',
  );
  expect(made.map(({ title }) => title)).toEqual([
    'Change to `dgx-h100`',
    'Change to `nd-h100-v5`',
    'Change to `bm-gpu-h100-8`',
    'Change to `lambda-h100`',
    'Change to `h100-pcie`',
    'Change to `h100-nvl`',
    'Change to `h100-sxm`',
    'Change to `h100-sxm-96gb`',
  ]);
  expect(made.at(-1)?.text).toMatch(/^scenario: \{ cluster: h100-sxm-96gb \}$/m);
});

it('puts the nearest name of a cluster, a framework, a key and a value of the scenario', () => {
  const layers = '  - a: Linear(d, d)';
  check(
    spec(layers, 'scenario: { cluster: dgx-h10 }\n'),
    'scenario/unknown-cluster',
    'Change to `dgx-h100`',
    spec(layers, 'scenario: { cluster: dgx-h100 }\n'),
  );
  check(
    spec(layers, 'scenario: { framework: "fsdp,bucket-mb=1" }\n'),
    'scenario/unknown-framework',
    'Change to `pytorch-fsdp`',
    spec(layers, 'scenario: { framework: "pytorch-fsdp,bucket-mb=1" }\n'),
  );
  check(
    spec(layers, 'scenario: { framework: pytorch-dpp }\n'),
    'scenario/unknown-framework',
    'Change to `pytorch-ddp`',
    spec(layers, 'scenario: { framework: pytorch-ddp }\n'),
  );
  check(
    spec(layers, 'scenario: { framework: "pytorch-ddp,bukcet-mb=50" }\n'),
    'scenario/invalid',
    'Change to `bucket-mb`',
    spec(layers, 'scenario: { framework: "pytorch-ddp,bucket-mb=50" }\n'),
  );
  check(
    spec(layers, 'scenario:\n  framework:\n    bukcet-mb: 50 # MiB\n    name: pytorch-ddp\n'),
    'scenario/invalid',
    'Change to `bucket-mb`',
    spec(layers, 'scenario:\n  framework:\n    bucket-mb: 50 # MiB\n    name: pytorch-ddp\n'),
  );
  check(
    spec(layers, 'scenario: { framework: { name: pytorch-dpp } }\n'),
    'scenario/unknown-framework',
    'Change to `pytorch-ddp`',
    spec(layers, 'scenario: { framework: { name: pytorch-ddp } }\n'),
  );
  check(
    spec(layers, 'scenario: { framework: { name: pytorch-ddp, gradient-dtype: bf61 } }\n'),
    'scenario/invalid',
    'Change to `bf16`',
    spec(layers, 'scenario: { framework: { name: pytorch-ddp, gradient-dtype: bf16 } }\n'),
  );
  check(
    spec(layers, 'scenario: { framework: "pytorch-ddp,attention=eagre" }\n'),
    'scenario/invalid',
    'Change to `eager`',
    spec(layers, 'scenario: { framework: "pytorch-ddp,attention=eager" }\n'),
  );
  check(
    spec(layers, 'scenario: { precison: bf16 }\n'),
    'spec/scenario',
    'Change to `precision`',
    spec(layers, 'scenario: { precision: bf16 }\n'),
  );
  check(
    spec(layers, 'scenario: { precision: bf61 }\n'),
    'spec/scenario',
    'Change to `bf16`',
    spec(layers, 'scenario: { precision: bf16 }\n'),
  );
});

it('adds a missing argument', () => {
  check(
    spec('  - a: Linear()'),
    'spec/argument',
    'Add `out_features`',
    spec('  - a: Linear(out_features=1)'),
  );
});

it('removes a size that contradicts the input', () => {
  check(spec('  - a: Linear(63, d)'), 'shape/mismatch', /^Remove `63`/, spec('  - a: Linear(d)'));
  check(
    spec('  - a: Linear(out_features=d, in_features=63)'),
    'shape/mismatch',
    /^Remove `63`/,
    spec('  - a: Linear(out_features=d)'),
  );
});

it('removes what is not used', () => {
  const block = `blocks:
  pair:
    - a: ReLU()
  other:
    - b: ReLU()
`;
  const text = `${block}${spec('  - a: pair()')}`;
  check(text, 'spec/unused', 'Remove block `other`', text.replace('  other:\n    - b: ReLU()\n', ''));
  const dims = spec('  - a: Linear(d, d)').replace('d: 64 }', 'd: 64, heads: 4 }');
  check(dims, 'spec/unused', 'Remove dim `heads`', spec('  - a: Linear(d, d)'));
});

it('removes a layer that nothing reads, or makes it an output', () => {
  const text = spec('  - a: Linear(d, d)\n  - side: Linear(d, 4096)\n  - b: ReLU() from a');
  check(
    text,
    'spec/unread-layer',
    /^Remove `side`: .* faster/,
    spec('  - a: Linear(d, d)\n  - b: ReLU() from a'),
  );
  const asOutput = (before: string): string | undefined =>
    fixes(before, 'spec/unread-layer').find(({ title }) => title === 'Make `side` an output')?.text;
  expect(asOutput(text)).toBe(`${text}outputs: [b, side]\n`);
  expect(asOutput(`${text}outputs: [b, a]\n`)).toBe(`${text}outputs: [b, a, side]\n`);
});

it('renames the second of two layers with one name, and what reads it', () => {
  check(
    spec('  - a: ReLU()\n  - a: Linear(d, d)\n  - b: add(a, x)'),
    'spec/duplicate-name',
    'Rename to `a_2`',
    spec('  - a: ReLU()\n  - a_2: Linear(d, d)\n  - b: add(a_2, x)'),
  );
});

it('lowers the batch until the step fits, and says what it then needs', () => {
  const text = `dims: { batch: 65536, d: 8192 }
inputs:
  x: float32[batch, d]
layers:
  - a: Linear(d, 4*d)
  - b: ReLU()
  - c: Linear(4*d, d)
`;
  const request = { ...oneGpu, cluster: 't4', precision: 'fp32', optimizer: 'sgd' } as const;
  const [first] = fixes(text, 'findings/out-of-memory', request);
  expect(first?.title).toMatch(/^Use a batch of \d+: may not fit: \d+\.?\d* GiB of \d+\.?\d* GiB$/);
  expect(diagnostics(viewOf(first?.text ?? '', request)).map(({ code }) => code)).not.toContain(
    'findings/out-of-memory',
  );
});

it('offers no other network where nothing fits', () => {
  const text = `dims: { batch: 1, d: 16384 }
inputs:
  x: float32[batch, d]
blocks:
  pair:
    - a: Linear(d, d)
    - b: ReLU()
layers:
  - body: pair() * 40
`;
  const request = { ...oneGpu, cluster: 't4', optimizer: 'sgd', precision: 'fp32' } as const;
  const found = fixes(text, 'findings/out-of-memory', request);
  for (const { text: edited } of found) expect(edited).toContain('body: pair() * 40');
});

it('takes out the line by which a block calls itself', () => {
  const text = (line: string): string => `inputs:
  x: float32[8, 64]
blocks:
  decoder:
    - fc: Linear(64)
${line}layers:
  - h: decoder() * 2
  - act: ReLU()
`;
  const found = fixes(text('    - again: decoder()\n'), 'spec/structure');
  expect(found).toEqual([{ title: 'Take the line out', text: text('') }]);
});

it('takes a precision that the GPU has', () => {
  const text = `dims: { batch: 512, d: 1024 }
inputs:
  x: float32[batch, d]
layers:
  - a: Linear(d, d)
scenario: { cluster: t4, precision: bf16 }
`;
  check(text, 'findings/unsupported-precision', /^Use fp16: .* faster/, text.replace('bf16', 'fp16'));
});

it('hides gradients by half precision or other buckets, in a scenario of the text or a new one', () => {
  const text = `dims: { batch: 4, d: 4096 }
inputs:
  x: float32[batch, d]
layers:
  - a: Linear(d, d)
  - b: Linear(d, d)
  - c: Linear(d, d)
`;
  const request = { cluster: 'k80-10gbe', gpus: 8 } as const;
  const found = fixes(text, 'findings/exposed-communication', request);
  const narrow = found.find(({ title }) => title.startsWith('Send gradients as fp16'));
  expect(narrow?.title).toMatch(/faster/);
  expect(narrow?.text).toBe(`${text}\nscenario: { framework: "pytorch-ddp,gradient-dtype=fp16" }\n`);
  const own = `${text}scenario: { gpus: 8 }\n`;
  const inOwn = fixes(own, 'findings/exposed-communication', request).find(({ title }) =>
    title.startsWith('Send gradients as fp16'),
  );
  expect(inOwn?.text).toContain('scenario: { gpus: 8, framework: "pytorch-ddp,gradient-dtype=fp16" }');
  const mappings = [
    ['{ framework: { name: pytorch-ddp } }', '{ framework: { name: pytorch-ddp, gradient-dtype: fp16 } }'],
    [
      '{ framework: { gradient-dtype: fp32, name: pytorch-ddp } }',
      '{ framework: { gradient-dtype: fp16, name: pytorch-ddp } }',
    ],
    [
      '\n  framework:\n    name: pytorch-ddp # ours\n  gpus: 8',
      '\n  framework:\n    name: pytorch-ddp # ours\n    gradient-dtype: fp16\n  gpus: 8',
    ],
  ];
  for (const [before = '', after] of mappings) {
    const change = fixes(`${text}scenario: ${before}\n`, 'findings/exposed-communication', request).find(
      ({ title }) => title.startsWith('Send gradients as fp16'),
    );
    expect(change?.text).toBe(`${text}scenario: ${after}\n`);
  }
});
