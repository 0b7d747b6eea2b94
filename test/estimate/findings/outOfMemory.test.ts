/** A step that does not fit: what is said of sizes that are given, and that each way out was costed and holds. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import type { EstimatedStep } from '../../../server/src/estimate/findings/estimatedStep.ts';
import {
  batchThatFits,
  largestBatch,
  largestKind,
  outOfMemory,
  shortageText,
} from '../../../server/src/estimate/findings/outOfMemory.ts';
import type { ReservedMemory } from '../../../server/src/estimate/memory/reservedMemory.ts';
import type { StepMemory } from '../../../server/src/estimate/memory/stepMemory.ts';
import { formatBytes, formatPercent } from '../../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { type Bytes, bytes } from '../../../server/src/model/units.ts';
import { stepOf } from '../../support/estimatedStep.ts';
import { wide } from '../../support/wideSpec.ts';

const gib = (count: number): Bytes => bytes(count * 2 ** 30);

describe('what a step needs', () => {
  const text = (peak: number, capacity: number): string =>
    shortageText('The step', 'A GPU', { peak: gib(peak), capacity: gib(capacity) }, () => gib(9));

  test('is what tensors need and half a gibibyte of driver and framework', () => {
    expect(text(10, 8)).toBe(
      'The step needs 10.5 GiB; A GPU has 8.00 GiB. Tensors need 10.0 GiB, driver and framework 512 MiB',
    );
    expect(text(8, 8)).toMatch(/^The step needs 8\.50 GiB; .* Tensors need 8\.00 GiB, driver/);
  });

  test('is what the allocator takes, where tensors alone would fit', () => {
    expect(text(7.5, 8)).toBe(
      'The step needs 9.50 GiB; A GPU has 8.00 GiB. Tensors need 7.50 GiB, for which the caching allocator reserves up to 9.00 GiB, driver and framework 512 MiB',
    );
  });
});

test.each([
  ['activations', true, 'saved activations'],
  ['activations', false, 'activations'],
  ['parameters', true, 'parameters'],
  ['gradients', true, 'gradients'],
  ['optimizerState', true, 'optimizer state'],
  ['workspace', true, 'workspace'],
  ['communicationBuffers', true, 'communication buffers'],
] as const)('the largest part is %s, where %s it learns: %s', (kind, learns, name) => {
  const one = gib(1);
  const kinds = {
    ...{ parameters: one, gradients: one, optimizerState: one, activations: one, workspace: one },
    ...{ communicationBuffers: one, peak: one, capacity: one },
  };
  expect(largestKind({ ...kinds, [kind]: gib(2) }, learns)).toEqual([name, gib(2)]);
  expect(largestKind(kinds, learns)[0]).toBe(learns ? 'saved activations' : 'activations');
});

describe('the largest batch that a report names', () => {
  /** 1 GiB for each sample. */
  const memory = (peak: number, capacity: number): StepMemory => ({
    ...stepOf({ cluster: 't4', gpus: 1, batch: 8 }).memory,
    peak: gib(peak),
    capacity: gib(capacity),
    largestBatch: (room) => Math.floor(room / gib(1)),
  });
  const reserved =
    (high: number, fits = true) =>
    (): ReservedMemory => ({
      bounds: { low: gib(1), high: gib(high) },
      fitsIn: () => fits,
      surelyFitsIn: () => fits,
      held: () => ({ peak: gib(high), reserved: gib(high) }),
    });
  const never = (): never => expect.fail('nothing is placed');
  const finding = (
    change?: { kind: 'batch'; batch: number } | { kind: 'framework-option'; name: string; value: string },
  ) => [
    {
      ...({ code: 'findings/out-of-memory', severity: 'warning', layer: '', message: '', fix: '' } as const),
      ...(change === undefined ? {} : { change }),
    },
  ];

  test('far below the memory of the GPU is by tensors alone, which are not placed', () => {
    // 10.5 GiB, half a gibibyte for the driver: 10 samples.
    expect(batchThatFits(memory(2, 10.5), 4, never, never)).toBe(10);
    // The batch that is costed fits, whatever another guess says.
    expect(batchThatFits(memory(2, 10.5), 12, never, never)).toBe(12);
    expect(largestBatch(memory(2, 10.5))).toBe(10);
  });

  test('close to it is what the allocator leaves for tensors', () => {
    // It takes 10 GiB for 8: of 10 GiB of room, 8 are for tensors.
    expect(batchThatFits(memory(8, 10.5), 4, reserved(10), never)).toBe(8);
    expect(batchThatFits(memory(8, 10.5), 4, reserved(8), never)).toBe(10);
    // It never takes less than tensors need.
    expect(batchThatFits(memory(8, 10.5), 4, reserved(4), never)).toBe(10);
  });

  test('of a step that does not fit is the one that the finding found', () => {
    const change = { kind: 'batch', batch: 3 } as const;
    expect(batchThatFits(memory(12, 10.5), 4, never, () => finding(change))).toBe(3);
    expect(batchThatFits(memory(9, 10.5), 4, reserved(12, false), () => finding(change))).toBe(3);
    expect(batchThatFits(memory(12, 10.5), 4, never, () => finding())).toBe(0);
    const option = { kind: 'framework-option', name: 'stage', value: '3' } as const;
    expect(batchThatFits(memory(12, 10.5), 4, never, () => finding(option))).toBe(0);
  });
});

/** Of blocks whose activations are most of a step. */
const deep = `dims: { seq: 512, d: 512 }
inputs: { x: "float32[batch, seq, d]" }
layers:
  - h: TransformerEncoderLayer(d, 8, batch_first=True, norm_first=True) * 12
`;

const costOf = (spec: string, request: ScenarioRequest) => {
  const { cost } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [request]);
  return cost ?? expect.fail('not costed');
};
const findingOf = (step: EstimatedStep) => outOfMemory(step)[0] ?? expect.fail('it fits');

describe('a batch', () => {
  const request: ScenarioRequest = { cluster: 't4', gpus: 1, precision: 'fp32', optimizer: 'sgd' };

  test('that is advised fits, and most of the next does not', () => {
    const found = findingOf(stepOf({ ...request, batch: 128 }, deep));
    const change = found.change;
    if (change?.kind !== 'batch') throw new Error('no batch fits');
    expect(found.fix).toContain(`Lower the batch per GPU to ${change.batch}, the largest found that fits`);
    expect(costOf(deep, { ...request, batch: change.batch }).fits).not.toBe('no');
    expect(costOf(deep, { ...request, batch: Math.ceil(change.batch * 1.2) }).fits).toBe('no');
  });

  test('with blocks that keep their inputs alone needs and takes what is said', () => {
    const step = stepOf({ ...request, batch: 128 }, deep);
    const after = costOf(deep, { ...request, batch: 128, checkpoint: 'block' });
    const { peak, context } = after.totals.memory;
    const longer = (after.totals.time.step ?? Number.NaN) / step.timeline.step - 1;
    expect(after.fits).not.toBe('no');
    expect(findingOf(step).fix).toContain(
      `; or keep only the inputs of its 12 blocks (checkpoint: block), which needs ${formatBytes(bytes(peak + context))} and takes ${formatPercent(longer)} longer at the same batch`,
    );
  });

  test('is larger with blocks that keep their inputs alone, where the same does not fit', () => {
    const step = stepOf({ ...request, batch: 4096 }, deep);
    const [, most] = /\(checkpoint: block\), which lets a batch of (\d+) fit/.exec(findingOf(step).fix) ?? [];
    const fits = (batch: number): string => costOf(deep, { ...request, batch, checkpoint: 'block' }).fits;
    expect(fits(Number(most))).not.toBe('no');
    expect(fits(Math.ceil(Number(most) * 1.2))).toBe('no');
  });

  test.each<[string, ScenarioRequest]>([
    ['inference', { mode: 'inference', batch: 100_000 }],
    ['checkpoints that are there', { checkpoint: 'block', batch: 4096 }],
  ])('no such advice for %s', (_, more) => {
    expect(findingOf(stepOf({ ...request, ...more }, deep)).fix).not.toContain('checkpoint: block');
  });
});

// 24 matrices of 8,192²: 6 GiB in fp32, as much of gradients, and twice that of moments.
describe('state of the model', () => {
  const adam: ScenarioRequest = { precision: 'fp32', optimizer: 'adamw', batch: 1 };

  test('leaves no batch, and shards of it are a part each', () => {
    const found = findingOf(stepOf({ cluster: 'dgx-1-v100', gpus: 4, ...adam }, wide));
    expect(found.message).toMatch(/\. The largest part is optimizer state, 12\.0 GiB$/);
    // Buckets hold the gradients once more (PyTorch DistributedDataParallel, `gradient_as_bucket_view=False`).
    expect(found.fix).toMatch(
      /^No batch fits: 24\.0 GiB of parameters, optimizer state and buffers stay, before the first sample\. Shard/,
    );
    expect(found.fix).toContain(
      'hard parameters, gradients and optimizer state over the 4 GPUs (pytorch-fsdp), which leaves 6.00 GiB of their 24.0 GiB on each',
    );
    expect(found.fix).toMatch(/; or choose a GPU with more memory$/);
    expect(found.change).toBeUndefined();
  });

  test('in inference is parameters alone', () => {
    // 6 GiB are more than a quarter of 16 GiB, and less than a quarter of 32.
    const step = stepOf({ cluster: 'dgx-1-v100', gpus: 4, ...adam, mode: 'inference' }, wide);
    const given = (capacity: number): string =>
      findingOf({ ...step, memory: { ...step.memory, peak: gib(100), capacity: gib(capacity) } }).fix;
    expect(given(24)).toContain(
      'shard parameters over the 4 GPUs (pytorch-fsdp), which leaves 1.50 GiB of their 6.00 GiB on each',
    );
    expect(given(24.5)).not.toContain('shard');
  });

  test.each<[string, ScenarioRequest]>([
    ['one GPU', { gpus: 1 }],
    ['shards that are there', { gpus: 4, framework: { name: 'deepspeed-zero', options: { stage: '1' } } }],
  ])('is not sharded over %s', (_, request) => {
    const { fix } = findingOf(stepOf({ cluster: 't4', ...adam, ...request }, wide));
    expect(fix).not.toContain('pytorch-fsdp');
  });

  test('in 8 bits is advised where moments are a tenth of the memory, and the rest would fit', () => {
    const step = stepOf({ cluster: 'rtx-3090', gpus: 1, ...adam }, wide);
    const given = (optimizerState: number, capacity = 23.7): string => {
      const memory = { ...step.memory, optimizerState: gib(optimizerState), capacity: gib(capacity) };
      return findingOf({ ...step, memory: { ...memory, peak: gib(100) } }).fix;
    };
    expect(given(12)).toContain('adamw-8bit');
    // Three quarters of 3.1 GiB are less than a tenth of 23.7.
    expect(given(3.1)).not.toContain('adamw-8bit');
    expect(given(3.2)).toContain('adamw-8bit');
    // 12 + a quarter of 12 are 15 GiB.
    expect(given(12, 15.4)).not.toContain('adamw-8bit');
  });

  test('of tables is sharded table by table, where they are most of it', () => {
    const tables =
      'inputs: { i: "int64[batch, 26]" }\nlayers:\n  - e: Embedding(60000000, 64)\n  - fc: Linear(64)\n';
    const request = {
      cluster: 'dgx-1-v100',
      gpus: 8,
      batch: 64,
      precision: 'fp32',
      optimizer: 'adamw',
    } as const;
    const options = { embeddings: 'table-wise' };
    const { peak, context } = costOf(tables, { ...request, framework: { name: 'pytorch-ddp', options } })
      .totals.memory;
    const { fix } = findingOf(stepOf(request, tables));
    const whole = stepOf(request, tables).memory.peak;
    const advice = `hard the embedding tables over the 8 GPUs (embeddings=table-wise), which needs ${formatBytes(bytes(peak + context))}`;
    expect(peak).toBeLessThan(whole / 2);
    expect(fix).toContain(advice);
  });
});
