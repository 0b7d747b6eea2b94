/** What lenses and hovers say of layers that GPUs share, and of the stages of a pipeline. */

import { expect, it } from 'vitest';
import { codeLenses } from '../../server/src/language/codeLenses.ts';
import { hoverLine } from '../../server/src/language/hover.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { viewOf } from './fixture.ts';

const text = `dims: { batch: 4, seq: 256, d: 1024 }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - norm: LayerNorm(d)
    - up: Linear(d, 4*d)
    - act: GELU()
    - down: Linear(4*d, d)
    - res: add(down, input)
layers:
  - embed: Embedding(1000, d)
  - h: decoder() * 4
  - head: Linear(d, 1000)
`;
const shared = (parallel: ScenarioRequest['parallel'], gpus: number): ScenarioRequest => ({
  cluster: 'dgx-h100',
  gpus,
  globalBatch: 32,
  ...(parallel === undefined ? {} : { parallel }),
});
const lineOf = (name: string): number => text.split('\n').findIndex((line) => line.includes(`- ${name}:`));

it.each<[ScenarioRequest['parallel'], number, layout: string]>([
  [undefined, 8, 'dgx-h100 · 8 GPUs · batch 4'],
  [{ tensor: 4 }, 4, 'dgx-h100 · 4 GPUs · tp4 · dp1 · batch'],
  [{ tensor: 2, pipeline: 2, microBatch: 2 }, 8, 'dgx-h100 · 8 GPUs · tp2 · pp2 · dp2 · batch 8 × 2'],
])('the lens says the layout: %j', (parallel, gpus, layout) => {
  const titles = codeLenses(viewOf(text, shared(parallel, gpus))).map(({ title }) => title);
  expect(titles[1]).toContain(layout);
});

it.each<[line: string, ScenarioRequest['parallel'], wanted: readonly RegExp[], absent: RegExp | undefined]>([
  [
    'down',
    { tensor: 4 },
    [
      /divided +by 4 GPUs; figures are of one of them/,
      /tensors +reads \[32, 256, 4096\/4\] · weight \[1024, 4096\/4\] · gives\s+\[32, 256, 1024\]\n/,
      /collectives +all-reduce × 4, [\d.]+ µs, in a micro-batch/,
    ],
    /stage/,
  ],
  ['norm', { tensor: 4 }, [/LayerNorm/], /divided|tensors|collectives|stage/],
  [
    'norm',
    { tensor: 4, sequence: true },
    [/tensors +reads \[32, 256\/4, 1024\] · gives \[32, 256\/4, 1024\]\n/],
    /divided/,
  ],
  [
    'up',
    { tensor: 4, sequence: true },
    [
      /tensors +reads \[32, 256\/4, 1024\] · weight \[4096\/4, 1024\] · bias\s+\[4096\/4\] · gives \[32, 256, 4096\/4\]\n/,
    ],
    /stage/,
  ],
  ['up', { context: 2, tensor: 2 }, [/reads \[32, 256\/2, 1024\] · weight \[4096\/2, 1024\]/], /stage/],
  ['embed', { pipeline: 2, microBatch: 2 }, [/stage +1 of 2 of the pipeline/], /divided/],
  ['head', { pipeline: 2, microBatch: 2 }, [/stage +2 of 2 of the pipeline/], /divided/],
  ['up', { pipeline: 4, microBatch: 2 }, [/stage +1 to 4 of 4 of the pipeline/], undefined],
  ['down', undefined, [/Linear/], /divided|tensors|collectives|stage/],
])('the hover of %s under %j', (line, parallel, wanted, absent) => {
  const said = hoverLine(viewOf(text, shared(parallel, 4)), lineOf(line));
  for (const each of wanted) expect(said).toMatch(each);
  if (absent !== undefined) expect(said).not.toMatch(absent);
});
