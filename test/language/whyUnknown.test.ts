import { expect, it } from 'vitest';
import { hover } from '../../server/src/language/hover.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import { expectations, viewOf } from './fixture.ts';

/** Compares the hints (`# hint:`) and the `unknown` lines of hovers (`# unknown:`) of a spec. */
function check(text: string): void {
  const view = viewOf(text);
  const hints = new Map(inlayHints(view, 0, 100).map(({ position, text: hint }) => [position.line, hint]));
  for (const { line, kind, text: expected } of expectations(text)) {
    if (kind === 'hint') expect(hints.get(line)).toBe(expected);
    if (kind !== 'unknown') continue;
    const markdown = hover(view, { line, character: 5 })?.markdown ?? '';
    const said = /^unknown +([\s\S]*?)(?=\n(?:source|`))/m.exec(markdown)?.[1] ?? '';
    expect(said.replace(/\s+/g, ' ')).toBe(expected);
  }
}

it('names the layer at fault, its line and what is wrong with it', () => {
  check(`
inputs:
  x: float32[8, 512]
layers:
  - fc1: Linaer(512, 1024)
  # hint: cost unknown
  # unknown: \`Linaer\` is not a layer; did you mean \`Linear\`?
  - act: ReLU()
  # hint: cost unknown since fc1, line 5
  # unknown: since \`fc1\`, line 5: \`Linaer\` is not a layer; did you mean \`Linear\`?
  - conv: Conv2d(4, 3)
  # hint: cost unknown since fc1, line 5
  - fc2: Linear(1024, 10)
  # hint: cost unknown since fc1, line 5
`);
});

it('names the nearest layer at fault of each branch', () => {
  check(`
inputs:
  x: float32[8, 512]
layers:
  - left: Linaer(512, 512)
  - right: Lineer(512, 512) from x
  # hint: cost unknown
  - fine: ReLU() from x
  - act: ReLU() from right
  # hint: cost unknown since right, line 6
  - sum: add(fine, act)
  # hint: cost unknown since right, line 6
`);
});

it('names a layer of a block by its line', () => {
  check(`
inputs:
  x: float32[8, 512]
blocks:
  pair:
    - a: Linaer(512)
    # hint: cost unknown
    - b: ReLU()
    # hint: cost unknown since a, line 6
layers:
  - body: pair() * 3
  - out: Linear(512, 10)
  # hint: cost unknown since a, line 6
`);
});

it('keeps the reason of its own where a layer has one', () => {
  check(`
inputs:
  x: float32[8, 512]
layers:
  - fc1: Linaer(512, 512)
  - fc2: Lineer(512, 512)
  # unknown: \`Lineer\` is not a layer; did you mean \`Linear\`?
`);
});
