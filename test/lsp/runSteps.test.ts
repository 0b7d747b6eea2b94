import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openLayerSpec, openSpecInSteps } from '../../server/src/analysis/openModel.ts';
import { estimateInSteps, estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planEstimate } from '../../server/src/estimate/planner/planEstimate.ts';
import { readLayerSpec } from '../../server/src/formats/layer-spec/readLayerSpec.ts';
import { runSteps, turnOfTimer } from '../../server/src/lsp/runSteps.ts';
import { finish, type Steps } from '../../server/src/model/steps.ts';
import { nextTurn } from '../../server/src/node/nextTurn.ts';

function* counting(count: number, done: number[]): Steps<string> {
  for (let step = 1; step <= count; step += 1) {
    done.push(step);
    if (step < count) yield;
  }
  return 'finished';
}

it.each([
  ['Node', nextTurn],
  ['a browser', turnOfTimer],
])('runs steps to their end in %s, and lets others take turns between them', async (_, turn) => {
  const done: number[] = [];
  const seen: number[] = [];
  const watch = setInterval(() => seen.push(done.length), 0);
  const slow = async (): Promise<void> => {
    await turn();
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  expect(await runSteps(counting(4, done), slow, () => false)).toBe('finished');
  clearInterval(watch);
  expect(done).toEqual([1, 2, 3, 4]);
  expect(new Set(seen).size).toBeGreaterThan(1);
});

it('stops before the next step once the work is superseded', async () => {
  const done: number[] = [];
  expect(await runSteps(counting(4, done), turnOfTimer, () => done.length === 2)).toBeUndefined();
  expect(done).toEqual([1, 2]);
});

it('makes steps of everything that takes long after a keystroke', () => {
  const layers = Array.from({ length: 300 }, (_, layer) => `  - fc_${layer}: Linear(64, 64)`).join('\n');
  const read = readLayerSpec(`inputs: { x: 'float32[batch, 64]' }\nlayers:\n${layers}\n`);
  const opening = [...openSpecInSteps(read, 'long.layers.yaml')];
  const opened = finish(openSpecInSteps(read, 'long.layers.yaml'));
  const estimating = [...estimateInSteps(opened, [])];
  // Bound; blocks found, kernels, plan, times, memory.
  expect({ opening: opening.length, estimating: estimating.length }).toEqual({ opening: 3, estimating: 6 });
});

it('makes steps of every stage of the layouts of a plan', () => {
  const text = readFileSync('samples/tinyllama.layers.yaml', 'utf8');
  const estimate = estimateModel(openLayerSpec(text, 'tinyllama.layers.yaml'), [{ cluster: 'dgx-h100' }]);
  let costed = 0;
  const steps = planEstimate(estimate, {
    gpus: [64],
    globalBatch: 512,
    top: 8,
    onCosted: () => {
      costed += 1;
    },
  });
  const turns: number[] = [];
  for (let step = steps.next(); step.done !== true; step = steps.next()) turns.push(costed);
  // A step ends with a layout, or before.
  turns.forEach((after, turn) => {
    expect(after - (turns[turn - 1] ?? 0)).toBeLessThanOrEqual(1);
  });
  // Each layout is bound, divided, and has its kernels, its times and its memory found: most have more stages than one.
  expect(costed).toBeGreaterThan(30);
  expect(turns.length).toBeGreaterThan(5 * costed);
});
