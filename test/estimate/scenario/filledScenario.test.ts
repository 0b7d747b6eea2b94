/** The parts of a scenario that nothing but a request decides: where they go, what leaves them out, and what is said of it. */

import { describe, expect, test } from 'vitest';
import type { ModelAnalysis } from '../../../server/src/analysis/modelAnalysis.ts';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { resolveScenario } from '../../../server/src/estimate/resolveScenario.ts';
import { findCluster } from '../../../server/src/hardware/clusters.ts';
import type { Scenario, ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { chain } from '../../support/trainingGraph.ts';

const { analysis: plain } = chain([{ parameters: 1 }]);
const fixed: ModelAnalysis = { ...plain, batchSymbol: undefined, fixedBatch: 4, symbols: [] };

const base: ScenarioRequest = { cluster: 'dgx-a100', batch: 8 };
/** What stands in every scenario of `base`. */
const filled: Scenario = {
  cluster: 'dgx-a100',
  nodes: 1,
  gpus: 8,
  batchPerGpu: 8,
  dimensions: { batch: 8 },
  precision: 'bf16',
  optimizer: 'adamw',
  framework: { name: 'pytorch-ddp', options: {} },
  mode: 'training',
};
const resolve = (requests: readonly ScenarioRequest[], analysis: ModelAnalysis = plain) => {
  const { scenario, issues, cluster } = resolveScenario(requests, analysis);
  return {
    scenario,
    cluster,
    said: issues.map(({ severity, scenarioKey, message }) => `${severity} ${scenarioKey}: ${message}`),
  };
};
const halfWeights = { name: 'pytorch-ddp', options: { weights: 'half' } };

describe('what is taken as it is', () => {
  const all: ScenarioRequest = {
    measuredStep: seconds(2),
    input: { sampleBytes: bytes(100) },
    thresholds: { 'launch-bound': 0.5 },
    workers: { spread: 0.1 },
    loss: 'none',
    freeze: ['a.*'],
    lora: { rank: 8 },
    accumulate: 3,
  };
  const { accumulate, freeze, lora, loss, ...ofBoth } = all;

  test('in training, all of it', () => {
    expect(resolve([{ ...base, ...all }])).toMatchObject({ scenario: { ...filled, ...all }, said: [] });
    expect(resolve([{ ...base, ...all }]).scenario).toEqual({ ...filled, ...all });
  });

  test('in inference, nothing of what is trained', () => {
    const { scenario } = resolve([{ ...base, ...all, mode: 'inference' }]);
    // Weights are loaded in the precision that they run in.
    expect(scenario).toEqual({ ...filled, ...ofBoth, mode: 'inference', framework: halfWeights });
    expect([accumulate, freeze, lora, loss]).not.toContain(undefined);
  });

  test.each<[string, ScenarioRequest]>([
    ['an empty list of patterns freezes nothing', { freeze: [] }],
    ['one pass is what a step has', { accumulate: 1 }],
  ])('%s: it is left out', (_, request) => {
    expect(resolve([{ ...base, ...request }]).scenario).toEqual(filled);
  });

  test('the first request that says it wins; thresholds one by one', () => {
    const second: ScenarioRequest = {
      ...all,
      thresholds: { 'launch-bound': 0.1, 'expert-communication': 0.2 },
    };
    const first: ScenarioRequest = {
      ...base,
      ...{
        measuredStep: seconds(1),
        workers: { spread: 0.2 },
        loss: 'auto',
        freeze: ['b'],
        lora: { rank: 4 },
      },
      ...{ accumulate: 2, input: { sampleBytes: bytes(1) }, thresholds: { 'launch-bound': 0.3 } },
    };
    const { cluster: _, batch: __, ...own } = first;
    expect(resolve([first, {}, second]).scenario).toEqual({
      ...filled,
      ...own,
      thresholds: { 'launch-bound': 0.3, 'expert-communication': 0.2 },
    });
  });
});

describe('tokens in the cache', () => {
  const noEffect = 'warning past: `past` has no effect in training; set `mode` to `inference`';
  test.each<[string, ScenarioRequest, Partial<Scenario>, readonly string[]]>([
    [
      'of a decode step',
      { mode: 'inference', past: 64 },
      { mode: 'inference', framework: halfWeights, past: 64 },
      [],
    ],
    ['none yet', { mode: 'inference', past: 0 }, { mode: 'inference', framework: halfWeights, past: 0 }, []],
    ['of no decode step', { mode: 'inference' }, { mode: 'inference', framework: halfWeights }, []],
    ['in training', { past: 64 }, {}, [noEffect]],
    ['none, in training', { past: 0 }, {}, [noEffect]],
  ])('%s', (_, request, change, said) => {
    expect(resolve([{ ...base, ...request }])).toMatchObject({ said });
    expect(resolve([{ ...base, ...request }]).scenario).toEqual({ ...filled, ...change });
  });
});

describe('a batch over all GPUs', () => {
  const asked = (request: ScenarioRequest, analysis = plain) => {
    const { scenario, said } = resolve([{ cluster: 'dgx-a100', ...request }], analysis);
    const { batchPerGpu, globalBatch, accumulate } = scenario;
    return [batchPerGpu, globalBatch, accumulate, ...said];
  };
  const fixedAt = 'The model fixes its batch at 4, so';
  // On 8 GPUs.
  test.each<[string, ScenarioRequest, ModelAnalysis, ReturnType<typeof asked>]>([
    ['divides', { globalBatch: 64 }, plain, [8, 64, undefined]],
    ['leaves a part to some', { globalBatch: 65 }, plain, [9, 65, undefined]],
    ['in passes', { globalBatch: 64, accumulate: 2 }, plain, [4, 64, 2]],
    [
      'of inference has one pass',
      { globalBatch: 64, accumulate: 2, mode: 'inference' },
      plain,
      [8, 64, undefined],
    ],
    [
      'leaves GPUs idle',
      { globalBatch: 6 },
      plain,
      [
        1,
        6,
        undefined,
        'warning globalBatch: A batch of 6 over 8 GPUs leaves 2 of them without a sample; use fewer GPUs or a larger batch',
      ],
    ],
    [
      'leaves passes idle',
      { globalBatch: 12, accumulate: 2 },
      plain,
      [
        1,
        12,
        2,
        'warning globalBatch: A batch of 12 over 2 passes of 8 GPUs leaves 4 of them without a sample; use fewer passes or GPUs or a larger batch',
      ],
    ],
    ['of a file takes passes of its batch', { globalBatch: 64 }, fixed, [4, 64, 2]],
    [
      'of a file with passes that do not give it is none',
      { globalBatch: 64, accumulate: 1 },
      fixed,
      [
        4,
        undefined,
        undefined,
        `warning batch: ${fixedAt} 8 samples per GPU cannot be applied. Export it with a dynamic batch`,
      ],
    ],
  ])('%s', (_, request, analysis, expected) => {
    expect(asked(request, analysis)).toEqual(expected);
  });
});

describe('a run', () => {
  const run = { samples: 1000, epochs: 2 };
  const offered = { run: { ...run, price: 3 } };
  test.each<[string, readonly ScenarioRequest[], Scenario['run'], readonly string[]]>([
    ['not asked for', [{}], undefined, []],
    ['without a price that is known', [{ run }], run, []],
    ['with a price', [offered], { ...run, price: { perGpuHour: 3 } }, []],
    [
      'asked for twice',
      [offered, { run: { samples: 1, epochs: 1 } }],
      { ...run, price: { perGpuHour: 3 } },
      [],
    ],
    [
      'with a kind of price that is not known',
      [{ run: { ...run, price: 'spot' } }],
      run,
      [
        'information run: No `spot` price of `dgx-a100` is known, nor any other: give yours as `price=N`, in US dollars per GPU-hour',
      ],
    ],
    [
      'with an offer of the place that asks',
      [
        { run: { ...run, price: 'spot' } },
        {
          market: {
            today: '2026-03-01',
            offers: [],
          },
        },
      ],
      run,
      [
        'information run: No `spot` price of `dgx-a100` is known, nor any other: give yours as `price=N`, in US dollars per GPU-hour',
      ],
    ],
  ])('%s', (_, requests, expected, said) => {
    const found = resolve([base, ...requests]);
    expect([found.scenario.run, found.said]).toEqual([expected, said]);
  });
});

describe('a layout', () => {
  const { analysis } = openLayerSpec(
    'dims: { seq: 64, d: 64 }\ninputs: { x: "float32[batch, seq, d]" }\nlayers:\n  - h: TransformerEncoderLayer(d, 4, batch_first=True) * 4\n',
    'm.layers.yaml',
  );
  if (analysis === undefined) throw new Error('not read');
  const parallel = (request: ScenarioRequest) => resolve([{ cluster: 'dgx-a100', ...request }], analysis);

  test('copies, not GPUs, share a batch, in micro-batches of so many', () => {
    const { scenario, said } = parallel({ globalBatch: 32, parallel: { tensor: 4, microBatch: 2 } });
    // Two copies of four GPUs: eight passes of two samples.
    expect(scenario).toMatchObject({
      batchPerGpu: 2,
      globalBatch: 32,
      accumulate: 8,
      parallel: { tensor: 4, pipeline: 1 },
    });
    expect(said).toEqual([]);
  });

  test('idle copies are said', () => {
    expect(parallel({ globalBatch: 1, parallel: { tensor: 4 } }).said).toEqual([
      'warning globalBatch: A batch of 1 over 2 copies of the model leaves 1 of them without a sample; use fewer GPUs or a larger batch',
    ]);
  });

  test.each<[ScenarioRequest, string]>([
    [
      { globalBatch: 1, accumulate: 2, parallel: { tensor: 4 } },
      '2 passes of 2 copies of the model leaves 3',
    ],
    [{ globalBatch: 1, accumulate: 2, parallel: { tensor: 8 } }, '2 passes of 1 copy of the model leaves 1'],
    [{ globalBatch: 1, accumulate: 2, gpus: 1 }, '2 passes of 1 GPU leaves 1'],
  ])('idle passes of %j', (request, among) => {
    expect(parallel(request).said).toEqual([
      `warning globalBatch: A batch of 1 over ${among} of them without a sample; use fewer passes or GPUs or a larger batch`,
    ]);
  });

  test('that is refused is the only thing said of it, and each GPU has a copy', () => {
    const { scenario, said } = parallel({ globalBatch: 2, parallel: { tensor: 3 } });
    expect(said).toEqual([
      'error parallel: 8 GPUs do not divide into groups of 3 (tp 3 × pp 1); use a multiple of 3 GPUs, or other degrees',
    ]);
    expect(scenario.parallel).toBeUndefined();
  });

  test('with sequences that do not divide', () => {
    const { said } = parallel({
      batch: 1,
      parallel: { context: 4 },
      framework: { name: 'megatron', options: {} },
    });
    expect(said).toEqual([]);
    const { analysis: odd } = openLayerSpec(
      'dims: { seq: 60, d: 64 }\ninputs: { x: "float32[batch, seq, d]" }\nlayers:\n  - h: TransformerEncoderLayer(d, 4, batch_first=True) * 4\n',
      'm.layers.yaml',
    );
    if (odd === undefined) throw new Error('not read');
    expect(
      resolve([{ ...base, parallel: { context: 4 }, framework: { name: 'megatron', options: {} } }], odd)
        .said,
    ).toEqual([
      'error parallel: `x` has 60 positions, which do not divide into 8 pieces, two for each GPU of `cp=4`; use a multiple of 8, or a smaller `cp`',
    ]);
  });

  test('of parts of tensors, beside an optimizer that needs whole ones', () => {
    const of = (tensor: number) => parallel({ batch: 1, optimizer: 'muon', parallel: { tensor } }).said;
    expect(of(2)).toEqual([
      'error optimizer: Muon needs whole tensors, and `tp=2` gives each GPU a part; choose `adamw`, or leave `tp` out',
    ]);
    expect(parallel({ batch: 1, optimizer: 'muon', parallel: { pipeline: 2 } }).said).toEqual([]);
    expect(parallel({ batch: 1, optimizer: 'muon' }).said).toEqual([]);
  });

  // torch/distributed/pipelining/schedules.py, `ScheduleInterleaved1F1B`: `n_microbatches // pp_group_size` rounds of one size.
  test('uneven rounds of interleaved stages', () => {
    const layout = { pipeline: 2, chunks: 2 };
    expect(parallel({ batch: 1, accumulate: 5, parallel: layout }).said).toEqual([
      'error parallel: 5 micro-batches do not divide into 2 like rounds for 2 interleaved pipeline ranks; use a multiple of 2, such as 6, or `schedule=1f1b`',
    ]);
  });
});

describe('other rules are asked with what the scenario has', () => {
  test('a framework of one process, of nodes', () => {
    const framework = { name: 'pytorch-dp', options: {} };
    const message =
      'error framework: `pytorch-dp` runs in one process, so on one node, not on 2; use one node, or `pytorch-ddp`';
    expect(resolve([{ ...base, framework, nodes: 2 }]).said).toEqual([message]);
    expect(resolve([{ ...base, framework }]).said).toEqual([]);
    expect(resolve([{ ...base, nodes: 2 }]).said).toEqual([]);
  });

  test('gradients freed in backward, of passes', () => {
    const framework = { name: 'torchtitan', options: {} };
    const freed = { name: 'pytorch-ddp', options: { 'optimizer-in-backward': 'true' } };
    const message =
      'error accumulate: `optimizer-in-backward` frees the gradients of each pass, so that passes cannot add them up; leave one of both out';
    const single: ScenarioRequest = { ...base, gpus: 1, framework: freed };
    expect(resolve([{ ...single, accumulate: 2 }]).said).toEqual([message]);
    expect(resolve([single]).said).toEqual([]);
    expect(resolve([{ ...single, accumulate: 2, mode: 'inference' }]).said).toEqual([]);
    expect(resolve([{ ...base, accumulate: 2, framework }]).said).toEqual([]);
  });

  test('checkpoints, of blocks', () => {
    const message =
      'warning checkpoint: `checkpoint: block` has no effect: the model has no numbered modules of the same structure. Mark layers of a layer spec with `recompute`, or export the model with its module names';
    const asked = resolve([{ ...base, checkpoint: 'block' }]);
    expect([asked.scenario.checkpoint, asked.said]).toEqual(['block', [message]]);
    const none = resolve([{ ...base, checkpoint: 'none' }]);
    expect([none.scenario.checkpoint, none.said]).toEqual([undefined, []]);
    const infers = resolve([{ ...base, checkpoint: 'block', mode: 'inference' }]);
    expect([infers.scenario.checkpoint, infers.said]).toEqual([undefined, []]);
  });

  test('a dimension that a layer spec has settled', () => {
    const said = (settled: readonly string[]) =>
      resolveScenario([{ ...base, dimensions: { seq: 4 } }], plain, findCluster, settled).issues.map(
        ({ message }) => message,
      );
    expect(said(['seq'])).toEqual([]);
    expect(said([])).toEqual(['The model has no symbolic dimension `seq`; it has batch']);
  });

  test('a dimension without a value, which an editor can give', () => {
    const open: ModelAnalysis = {
      ...plain,
      symbols: [...plain.symbols, { name: 'seq', default: undefined }],
    };
    expect(resolveScenario([base], open).issues).toEqual([
      {
        severity: 'warning',
        code: 'shape/unbound-dimension',
        message: 'Dimension `seq` has no value, so costs that depend on it are unknown',
        scenarioKey: 'dimensions',
        unset: ['seq'],
      },
    ]);
    const [undefinedBatch] = resolveScenario([{ cluster: 'dgx-a100' }], plain).issues;
    expect(undefinedBatch?.unset).toEqual(['batch']);
    const [withoutValues] = resolveScenario([{ ...base, past: 1 }], plain).issues;
    expect(withoutValues).not.toHaveProperty('unset');
  });

  test('a cluster of one’s own', () => {
    const dgx = findCluster('dgx-a100');
    if (dgx === undefined) throw new Error('no cluster');
    const own = { ...dgx, name: 'mine', gpusPerNode: { value: 2, source: 'test' } };
    const { scenario, cluster, issues } = resolveScenario([{ cluster: 'ours', batch: 1 }], plain, (name) =>
      name === 'ours' ? own : undefined,
    );
    expect([scenario.cluster, scenario.gpus, cluster, issues]).toEqual(['mine', 2, own, []]);
  });
});
