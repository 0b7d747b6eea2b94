import { expect, it } from 'vitest';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
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
