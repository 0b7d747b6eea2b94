/** A step as its allocator sees it holds at once what the step is said to need, whatever the scenario. */

import { describe, expect, test } from 'vitest';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { CachingAllocator } from '../../server/src/estimate/memory/cachingAllocator.ts';
import { memoryOf } from '../../server/src/estimate/memory/memoryOf.ts';
import { memoryTrace, replay } from '../../server/src/estimate/memory/memoryTrace.ts';
import { reservedMemory } from '../../server/src/estimate/memory/reservedMemory.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import type { StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { openGraph, openWithFusedAttention } from '../support/savedActivations.ts';

const models = [
  'samples/resnet50.layers.yaml',
  'samples/gpt2.onnx',
  'samples/more/unet.layers.yaml',
  'samples/more/swin-t.layers.yaml',
].map((path) => ({
  path,
  opened: openGraph(path),
  fused: path.endsWith('.layers.yaml') ? openWithFusedAttention(path) : openGraph(path),
}));

const requests: readonly (readonly [string, ScenarioRequest])[] = [
  ['fp32, sgd', { precision: 'fp32', optimizer: 'sgd' }],
  ['bf16, adamw', { precision: 'bf16', optimizer: 'adamw' }],
  ['bf16, momentum, accumulated', { precision: 'bf16', optimizer: 'momentum', accumulate: 4 }],
  ['fp16, adamw, checkpointed', { precision: 'fp16', optimizer: 'adamw', checkpoint: 'block', loss: 'none' }],
  // Scores that are written out leave gaps of their size in the memory of inference.
  ['inference, fused attention', { mode: 'inference', precision: 'fp32' }],
  ['FSDP', { precision: 'bf16', gpus: 8, framework: { name: 'pytorch-fsdp', options: {} } }],
];

function planOf(opened: (typeof models)[number]['opened'], request: ScenarioRequest): StepPlan {
  const { training, scenario, cluster } = estimateModel(opened, [
    { cluster: 'dgx-a100', gpus: 1, batch: 8, ...request },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined) throw new Error('no plan');
  return planStep(training, scenario, cluster);
}

describe.each(models)('$path', ({ opened, fused }) => {
  test.each(requests)('%s', (_, request) => {
    const plan = planOf(request.mode === 'inference' ? fused : opened, request);
    const { peak } = memoryOf(plan);
    const trace = memoryTrace(plan);
    const allocator = new CachingAllocator();
    expect(replay(trace, allocator)).toBe(true);
    expect(Math.abs(allocator.mostAllocated / peak - 1)).toBeLessThan(0.05);

    const { bounds, fitsIn } = reservedMemory(plan, peak);
    expect(bounds.low).toBeGreaterThanOrEqual(peak);
    expect(bounds.high).toBeGreaterThanOrEqual(bounds.low);
    expect(bounds.high).toBeLessThan(1.5 * peak);
    expect([fitsIn(bounds.high), fitsIn(0.99 * peak)]).toEqual([true, false]);
  });

  test('a loss leaves gaps of the size of its tensors at most', () => {
    const plan = planOf(opened, { precision: 'fp16', checkpoint: 'block', loss: 'auto' });
    const { peak } = memoryOf(plan);
    const { bounds } = reservedMemory(plan, peak);
    const largest = Math.max(...memoryTrace(plan).sizes);
    expect(bounds.low).toBeGreaterThanOrEqual(peak);
    expect(bounds.high).toBeLessThan(1.5 * peak + largest);
  });

  test('everything is given back that a step does not keep', () => {
    const { sizes, events, always, state } = memoryTrace(planOf(opened, { optimizer: 'adamw' }));
    const given = new Set(events.filter((event) => event < 0).map((event) => ~event));
    const left = sizes.filter((_, number) => !given.has(number)).reduce((total, size) => total + size, 0);
    const parameters = always.reduce((total, size) => total + size, 0);
    // Gradients, and the batch until the next one comes.
    expect(left).toBeGreaterThanOrEqual(0.99 * parameters);
    expect(left).toBeLessThan(1.1 * parameters + 64 * 2 ** 20);
    expect(state.reduce((total, size) => total + size, 0)).toBeCloseTo(2 * parameters, -3);
  });
});
