import { describe, expect, test } from 'vitest';
import type { ModelAnalysis } from '../../server/src/analysis/modelAnalysis.ts';
import { resolveScenario } from '../../server/src/estimate/resolveScenario.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { chain } from '../support/trainingGraph.ts';

const dynamic = chain([{ parameters: 1 }]).analysis;
const fixed: ModelAnalysis = { ...dynamic, batchSymbol: undefined, fixedBatch: 4, symbols: [] };
const text: ModelAnalysis = {
  ...dynamic,
  symbols: [
    { name: 'batch', default: 8 },
    { name: 'seq', default: undefined },
  ],
};

const limited: ModelAnalysis = {
  ...dynamic,
  symbols: [
    { name: 'batch', default: undefined, limit: 64 },
    { name: 'seq', default: undefined, limit: 1024 },
  ],
};

function resolve(requests: readonly ScenarioRequest[], analysis: ModelAnalysis = dynamic) {
  const { scenario, cluster, issues } = resolveScenario(requests, analysis);
  return { scenario, cluster, issues, codes: issues.map(({ severity, code }) => `${severity} ${code}`) };
}

describe('defaults', () => {
  test('one DGX H100 node, batch 1, bf16, AdamW, DDP, training', () => {
    const { scenario, codes } = resolve([{}]);
    expect(scenario).toEqual({
      cluster: 'dgx-h100',
      nodes: 1,
      gpus: 8,
      batchPerGpu: 1,
      dimensions: { batch: 1 },
      precision: 'bf16',
      optimizer: 'adamw',
      framework: { name: 'pytorch-ddp', options: {} },
      mode: 'training',
    });
    expect(codes).toEqual(['information scenario/default-batch']);
  });

  // The half precision of the tensor cores in PyTorch, fp32 elsewhere.
  test.each([
    ['h100-sxm', 'pytorch-ddp', 'bf16'],
    ['rtx-3090', 'pytorch-fsdp', 'bf16'],
    ['mi250x', 'horovod', 'bf16'],
    ['v100-sxm2-16gb', 'pytorch-ddp', 'fp16'],
    ['t4', 'deepspeed-zero', 'fp16'],
    ['p100-sxm2', 'pytorch-ddp', 'fp32'],
    ['k80-10gbe', 'pytorch-ddp', 'fp32'],
    ['v100-sxm2-16gb', 'caffe-mpi', 'fp32'],
    ['h100-sxm', 'tensorflow', 'fp32'],
    ['h100-sxm', 'mxnet', 'fp32'],
  ])('%s with %s: %s', (cluster, name, precision) => {
    const { scenario, issues } = resolve([{ cluster, gpus: 1, framework: { name, options: {} } }]);
    expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(scenario.precision).toBe(precision);
    expect(resolve([{ precision: 'tf32' }, { cluster }]).scenario.precision).toBe('tf32');
  });

  test('the first request wins, option by option and dimension by dimension', () => {
    const { scenario } = resolve(
      [
        { batch: 2, dimensions: { seq: 128 }, thresholds: { 'launch-bound': 0.5 } },
        {
          batch: 9,
          cluster: 't4',
          precision: 'fp16',
          dimensions: { seq: 1, other: 3 },
          thresholds: { 'launch-bound': 0.1, 'exposed-communication': 0.1 },
        },
      ],
      text,
    );
    expect(scenario).toMatchObject({
      batchPerGpu: 2,
      cluster: 't4',
      precision: 'fp16',
      dimensions: { batch: 2, seq: 128 },
      thresholds: { 'launch-bound': 0.5, 'exposed-communication': 0.1 },
    });
  });
});

describe('sizes', () => {
  test.each([
    [{ cluster: 'dgx-a100', gpus: 16 }, 2, 16],
    [{ cluster: 'dgx-a100', gpus: 3 }, 1, 3],
    [{ cluster: 'dgx-a100', nodes: 4 }, 4, 32],
    [{ cluster: 'dgx-a100', nodes: 4, gpus: 4 }, 4, 4],
    [{ cluster: 'a100-sxm-80gb' }, 1, 1],
    [{ cluster: 'DGX-A100' }, 1, 8],
  ])('%j is %i nodes with %i GPUs', (request, nodes, gpus) => {
    const { scenario, codes } = resolve([{ ...request, batch: 1 }]);
    expect([scenario.nodes, scenario.gpus]).toEqual([nodes, gpus]);
    expect(codes).toEqual([]);
  });

  test.each([
    [{ cluster: 'a100-sxm-80gb', gpus: 2 }, /one node of 1 GPU without a network/],
    [{ cluster: 'rtx-4090-workstation', nodes: 2 }, /one node of 2 GPUs without a network/],
    [
      { cluster: 'dgx-a100', nodes: 1, gpus: 9 },
      /9 GPUs do not fit on 1 node of 8: set only one of `gpus` and `nodes`, or use 1–8 GPUs$/,
    ],
    [
      { cluster: 'dgx-a100', nodes: 4, gpus: 2 },
      /2 GPUs do not fit on 4 nodes of 8: set only one of `gpus` and `nodes`, or use 4–32 GPUs$/,
    ],
    [{ cluster: 'dgx-a100', gpus: 0 }, /`gpus` is 0; it takes a whole number from 1/],
    [{ cluster: 'dgx-a100', nodes: 1.5 }, /`nodes` is 1.5/],
    [{ batch: -1 }, /`batch` is -1/],
    [{ framework: { name: 'caffe', options: {} } }, /No framework is called `caffe`/],
    [{ cluster: 'h100' }, /`h100` \(did you mean `dgx-h100`, [^?]* or another\?\)/],
    [{ cluster: 'dgxh1' }, /`dgxh1` \(did you mean `dgx-h100`\?\)/],
    [{ cluster: 'rtx4080' }, /`rtx4080` \(did you mean `rtx-4090`\?\)/],
    [{ cluster: 'abacus' }, /is called `abacus`; choose a built-in one, or describe your own$/],
    [{ cluster: 'dgx-a10' }, /No cluster or GPU is called `dgx-a10` \(did you mean `dgx-a100`\?\)/],
    [{ cluster: 'zzz' }, /called `zzz`; choose a built-in one, or describe your own$/],
  ])('%j is an error', (request, message) => {
    const { issues } = resolve([{ batch: 1, ...request }]);
    expect(issues).toHaveLength(1);
    expect(issues[0]?.severity).toBe('error');
    expect(issues[0]?.message).toMatch(message);
    expect(issues[0]?.message).not.toMatch(/\.$/);
  });

  test.each([
    ['kept where it fits', [{ cluster: 'dgx-a100' }, { cluster: 'dgx-h100', gpus: 64 }], 8, 64, []],
    [
      'given up where it does not',
      [{ cluster: 'a100-sxm-80gb' }, { cluster: 'dgx-h100', gpus: 64 }],
      1,
      1,
      ['information scenario/invalid'],
    ],
    ['not mixed', [{ gpus: 16 }, { cluster: 'dgx-h100', nodes: 8, gpus: 64 }], 2, 16, []],
  ] as const)('a size from below the chosen cluster is %s', (_, requests, nodes, gpus, expected) => {
    const { scenario, codes } = resolve([...requests, { batch: 1 }]);
    expect([scenario.nodes, scenario.gpus]).toEqual([nodes, gpus]);
    expect(codes).toEqual(expected);
  });

  // One GPU of the cluster is always among the workers.
  test.each([
    [3, 4, undefined],
    [4, 4, '`other-count` is 4 of 4 GPUs; costs assume 3'],
    [9, 4, '`other-count` is 9 of 4 GPUs; costs assume 3'],
    [1, 1, undefined],
    [2, 1, '`other-count` is 2 of 1 GPU; costs assume 0'],
  ])('%i other GPUs of %i: %s', (count, gpus, message) => {
    const workers = { others: { gpu: 'k80', count } };
    expect(resolve([{ cluster: 'dgx-a100', gpus, batch: 1, workers }]).issues[0]?.message).toBe(message);
  });

  test('an uneven split is costed for the fuller nodes, with a warning', () => {
    expect(resolve([{ cluster: 'dgx-a100', gpus: 12, batch: 1 }]).codes).toEqual([]);
    expect(resolve([{ cluster: 'dgx-a100', nodes: 3, gpus: 8, batch: 1 }]).issues[0]?.message).toBe(
      '8 GPUs do not divide evenly over 3 nodes; communication assumes 3 on each',
    );
    expect(resolve([{ cluster: 'dgx-a100', gpus: 13, batch: 1 }]).codes).toEqual([
      'warning scenario/invalid',
    ]);
  });
});

describe('batch and dimensions', () => {
  test.each([
    ['asked', [{ batch: 32 }], dynamic, 32, []],
    ['as a dimension', [{ dimensions: { batch: 16 } }], dynamic, 16, []],
    ['the model’s default', [{ dimensions: { seq: 2 } }], text, 8, []],
    ['asked over the default', [{ batch: 2, dimensions: { seq: 2 } }], text, 2, []],
    ['asked twice alike', [{ batch: 2, dimensions: { batch: 2 } }], dynamic, 2, []],
    [
      'asked twice otherwise',
      [{ batch: 2, dimensions: { batch: 4 } }],
      dynamic,
      2,
      ['warning scenario/invalid'],
    ],
    ['asked twice at two places', [{ batch: 2 }, { dimensions: { batch: 4 } }], dynamic, 2, []],
    [
      'of all GPUs, and as a dimension',
      [{ globalBatch: 64, dimensions: { batch: 8 } }],
      dynamic,
      8,
      ['warning scenario/invalid'],
    ],
    ['fixed by the model', [{}], fixed, 4, []],
    ['fixed, asked the same', [{ batch: 4 }], fixed, 4, []],
    ['fixed, in passes of a global batch', [{ globalBatch: 64 }], fixed, 4, []],
    ['fixed, asked otherwise', [{ batch: 64 }], fixed, 4, ['warning scenario/fixed-batch']],
  ] as const)('%s', (_, requests, analysis, batch, expected) => {
    const { scenario, codes } = resolve(requests, analysis);
    expect(scenario.batchPerGpu).toBe(batch);
    expect(codes).toEqual(expected);
  });

  test('a symbol without value and a value without symbol are reported', () => {
    expect(resolve([{ batch: 1 }], text).codes).toEqual(['warning shape/unbound-dimension']);
    const { issues } = resolve([{ batch: 1, dimensions: { sequence: 3, seq: 2 } }], text);
    expect(issues.map(({ message }) => message)).toEqual([
      'The model has no symbolic dimension `sequence`; it has batch, seq',
    ]);
  });
});

test.each<[ScenarioRequest, readonly string[]]>([
  [{ batch: 64, dimensions: { seq: 1024 } }, []],
  [{ batch: 65, dimensions: { seq: 1024 } }, ['`batch` is 65', 'at most 64']],
  [{ batch: 2, dimensions: { seq: 2048 } }, ['`seq` is 2048', 'at most 1024']],
])('a size beyond what the model was exported for is said: %j', (request, words) => {
  const found = resolve([request], limited).issues.filter(({ code }) => code === 'scenario/out-of-range');
  expect(found).toHaveLength(words.length === 0 ? 0 : 1);
  for (const word of words) expect(found[0]?.message).toContain(word);
});
