import { expect, it } from 'vitest';
import { inlayHints, longestHint } from '../../server/src/language/inlayHints.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { seconds } from '../../server/src/model/units.ts';
import { expectations, oneGpu, viewOf } from './fixture.ts';

/** Compares the hints of every line with `# hint:` below it; `…` in an expectation stands for any text. */
function check(text: string, request?: ScenarioRequest): void {
  const view = viewOf(text, request);
  const hints = inlayHints(view, 0, 1000);
  const expected = expectations(text).filter(({ kind }) => kind === 'hint');
  expect(hints.map(({ position }) => position.line)).toEqual(expected.map(({ line }) => line));
  for (const [index, hint] of hints.entries()) {
    expect(hint.text).toMatch(patternOf(expected[index]?.text ?? ''));
    expect(hint.position.character).toBe(text.split('\n')[hint.position.line]?.length);
  }
}

const patternOf = (text: string): RegExp =>
  new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*')}$`);

it('shows FLOPs and time of both directions together', () => {
  check(`
dims: { batch: 4 }
inputs:
  x: float32[batch, 1024]
layers:
  - fc: Linear(1024, 4096)
  # hint: 67.1 MFLOP · … µs
  - act: ReLU()
  # hint: … µs
`);
});

it('shows the gradient where GPUs exchange it, and what of it is exposed', () => {
  check(
    `
inputs:
  x: float32[batch, 4096]
layers:
  - first: Linear(4096, 4096)
  # hint: 268 MFLOP · … · grad 64.0 MiB, … exposed
  - second: Linear(4096, 4096)
  # hint: 403 MFLOP · … · grad 64.0 MiB…
`,
    { cluster: 'k80-10gbe', gpus: 8, batch: 4 },
  );
});

it('sums the repetitions of a block on its lines, and all of it on the line that calls it', () => {
  check(`
inputs:
  x: float32[batch, 512]
blocks:
  pair:
    - a: Linear(512, 512)
    # hint: 4.19 MFLOP · … · sum of 3
    - b: ReLU()
    # hint: … · sum of 3
layers:
  - body: pair() * 3
  # hint: 4.19 MFLOP · … · sum of 6
`);
});

it('has at most 60 characters, and keeps what matters most', () => {
  const name = 'x'.repeat(40);
  const models = ['one', 'two', 'three'].map(
    (model, index) =>
      `  ${model}_${name}:\n    dims: { d: ${4096 * (index + 1)} }\n    layers:\n      - a: body(d) * 32\n`,
  );
  const text = `inputs:\n  x: float32[batch, d]\nblocks:\n  body(d):\n    - fc: Linear(d, d)\nmodels:\n${models.join('')}`;
  const plain = `inputs:\n  x: float32[batch, 8192]\nblocks:\n  body:\n    - fc: Linear(8192, 8192)\nlayers:\n  - all: body() * 32\n`;
  const request = { cluster: 'k80-10gbe', gpus: 8, batch: 4 };
  const predicted = viewOf(plain, request);
  const measurements = {
    origin: 'NVIDIA H100 80GB HBM3, torch 2.13.0',
    layers: new Map(
      (predicted.estimate.cost?.layers ?? []).map(({ name: layer }) => [
        layer,
        { forward: seconds(0.0123456), backward: seconds(0.0246912) },
      ]),
    ),
  };
  const measured = { ...predicted, measurements };
  const hints = [viewOf(text, request), predicted, measured].flatMap((view) =>
    inlayHints(view, 0, 1000, { cost: true, shape: true }),
  );
  expect(Math.max(...hints.map((hint) => hint.text.length))).toBeLessThanOrEqual(longestHint);
  // Without the limit: `51.0 GFLOP · 961 ms · measured 1.19 s on H100 80GB HBM3 · grad 8.00 GiB, 11.7 s exposed · sum of 32`.
  expect(inlayHints(measured, 4, 4).map((hint) => hint.text)).toEqual([
    expect.stringMatching(/^Σ32 [\d.]+ m?s · measured 1\.19 s on H100/),
  ]);
});

it('gives no hint to a line that costs nothing', () => {
  check(`
inputs:
  x: float32[batch, 8, 8]
layers:
  - flat: Flatten()
`);
});

it('gives the hints of the asked lines only', () => {
  const view = viewOf(
    ['inputs:', '  x: float32[batch, 8]', 'layers:', '  - a: Linear(8, 8)', '  - b: Linear(8, 8)'].join('\n'),
  );
  expect(inlayHints(view, 4, 4).map(({ position }) => position.line)).toEqual([4]);
});

it('shows measured times beside predicted ones, where every layer of the line was measured', () => {
  const text = [
    'inputs:',
    '  x: float32[batch, 8]',
    'layers:',
    '  - a: Linear(8, 8)',
    '  - b: Linear(8, 8)',
  ].join('\n');
  const measurements = {
    origin: 'a test',
    layers: new Map([['a', { forward: seconds(1e-3), backward: seconds(2e-3) }]]),
  };
  const [first, second] = inlayHints(viewOf(text, oneGpu, measurements), 0, 10);
  expect(first?.text).toContain(' · measured 3.00 ms on a test');
  expect(second?.text).not.toContain('measured');
  const [onCpu] = inlayHints(viewOf(text, oneGpu, { ...measurements, origin: 'CPU (a test)' }), 0, 10);
  expect(onCpu?.text).toContain(' · measured 3.00 ms on CPU');
  const origin = 'NVIDIA H200, torch 2.13.0, 2026-11-21';
  const [onGpu] = inlayHints(viewOf(text, oneGpu, { ...measurements, origin }), 0, 10);
  expect(onGpu?.text).toContain(' · measured 3.00 ms on H200');
});

it('shows the gradient of a parameter on its own line, not on the one that adds it', () => {
  check(
    `
inputs:
  x: float32[batch, 1024]
layers:
  - fc: Linear(1024, 1024)
  # hint: … · grad 4.00 MiB…
  - shift: Parameter(1024, 1024)
  # hint: …grad 4.00 MiB…
  - sum: add(fc, shift)
  # hint: … µs
`,
    { cluster: 'dgx-a100', gpus: 2, batch: 1024, precision: 'fp32' },
  );
});

/** Two all-to-alls in forward and two in backward of each of four mixtures. */
it('shows what GPUs that share experts exchange', () => {
  check(
    `
dims: { batch: 1, seq: 256, d: 512 }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - experts: MixtureOfExperts(d, 1024, num_experts=8, top_k=2)
    # hint: … · A2A … ×16…
    - res: add(experts, input)
    # hint: …
layers:
  - embed: Embedding(1000, d)
  # hint: …
  - h: decoder() * 4
  # hint: …
  - head: Linear(d, 1000)
  # hint: …
`,
    { cluster: 'dgx-h100', gpus: 8, parallel: { expert: 8 } },
  );
});

/** Two all-reduces of a Megatron pair in each of four blocks, forward and backward; a norm is whole on every GPU. */
it('shows the part of a GPU, and what those that share layers exchange', () => {
  check(
    `
dims: { batch: 4, seq: 256, d: 1024 }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - norm: LayerNorm(d)
    # hint: … µs · sum of 4
    - up: Linear(d, 4*d)
    # hint: … GFLOP · … ms /tp4 · AR … µs ×4 · sum of 4
    - act: GELU()
    # hint: … µs · sum of 4
    - down: Linear(4*d, d)
    # hint: … GFLOP · … ms /tp4 · AR … µs ×4 · sum of 4
    - res: add(down, input)
    # hint: … µs · sum of 4
layers:
  - embed: Embedding(1000, d)
  # hint: …
  - h: decoder() * 4
  # hint: … /tp4 · AR … ×8 · sum of 20
  - head: Linear(d, 1000)
  # hint: …
`,
    { cluster: 'dgx-h100', gpus: 4, parallel: { tensor: 4 } },
  );
});

const wide = `inputs:
  x: float32[batch, 4096]
layers:
  - first: Linear(4096, 4096)
  - second_layer_of_a_model_whose_names_are_long: Linear(in_features=4096, out_features=4096)
`;

it.each([
  [43, 0, [/^268 MFLOP · \S+ ms · \S+ ms exposed$/, /^403 MFLOP · \S+ ms · \S+ ms exposed$/]],
  [60, 50, [/^\S+ m?s$/, /grad/]],
  [60, 86, [/^268 MFLOP · \S+ \S+ · grad 64.0 MiB, \S+ \S+ exposed$/, /grad/]],
  [60, 96, [/grad/, /^\S+ m?s$/]],
] as const)(
  'ends a hint where an editor shows no more: %i characters, column %i',
  (longest, lastColumn, expected) => {
    const view = viewOf(wide, { cluster: 'k80-10gbe', gpus: 8, batch: 4 });
    const hints = inlayHints(view, 0, 10, undefined, { longest, lastColumn });
    expect(hints.map(({ text }) => text)).toEqual(expected.map((each) => expect.stringMatching(each)));
  },
);

it('a sum of layers says so before it says FLOPs: it would read as the time of one', () => {
  const repeated = `inputs:
  x: float32[batch, 512]
blocks:
  pair:
    - a: Linear(512, 512)
layers:
  - p: pair() * 3
`;
  const shown = (longest: number) =>
    inlayHints(viewOf(repeated, oneGpu), 4, 4, undefined, { longest, lastColumn: 200 })[0]?.text;
  expect(shown(60)).toMatch(/^\S+ MFLOP · \S+ \S+ · sum of 3$/);
  expect(shown(22)).toMatch(/^\S+ µs · sum of 3$/);
  expect(shown(12)).toMatch(/^Σ3 \S+ µs$/);
  const [signed = 0, least = 0] = [shown(12)?.length, shown(1)?.length];
  expect(shown(1)).toMatch(/^[^Σ]+ µs$/);
  expect(shown(signed - 1)).toMatch(/^Σ\S+ µs$/);
  expect(shown(least + 1)).toMatch(/^Σ\S+ µs$/);
  expect(shown(least)).toMatch(/^[^Σ]+ µs$/);
});

it('shares the room of a line between the shape and the cost', () => {
  const kinds = { cost: true, shape: true };
  const view = viewOf(wide, { cluster: 'k80-10gbe', gpus: 8, batch: 4 });
  const [shape, cost] = inlayHints(view, 3, 3, kinds, { longest: 43, lastColumn: 60 });
  expect(shape?.text).toBe('[4, 4096]');
  expect(cost?.text).toMatch(/^\S+ m?s$/);
});
