import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateStep } from '../../server/src/estimate/estimateStep.ts';
import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { Scenario } from '../../server/src/model/scenario.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';
import { type ChainLayer, chain } from '../support/trainingGraph.ts';

function cluster(name: string): ClusterProfile {
  const found = findCluster(name);
  if (found === undefined) throw new Error(name);
  return found;
}

function scenario(change: Partial<Scenario> = {}): Scenario {
  return {
    cluster: 'dgx-a100',
    nodes: 1,
    gpus: 1,
    batchPerGpu: 1,
    dimensions: {},
    precision: 'fp32',
    optimizer: 'adamw',
    framework: { name: 'pytorch-ddp', options: {} },
    mode: 'training',
    ...change,
  };
}

const layers: readonly ChainLayer[] = [
  { name: 'embed', flops: 1e9, parameters: 2e6, output: 1e6 },
  { name: 'act', class: 'elementwise', type: 'Relu', output: 1e6, saved: [{ kind: 'output', index: 0 }] },
  { name: 'head', flops: 4e12, parameters: 8e6, output: 1e5 },
];

describe('memory by kind, by hand', () => {
  const { totals } = estimateStep(chain(layers, 3), scenario({ gpus: 8 }), cluster('dgx-a100'));
  test('10 M fp32 parameters: 40 MB, as much gradient, twice that for AdamW, as much for buckets', () => {
    expect(totals.memory.parameters).toBe(40e6);
    expect(totals.memory.gradients).toBe(40e6);
    expect(totals.memory.optimizerState).toBe(80e6);
    expect(totals.memory.communicationBuffers).toBe(40e6);
  });
  test('saved: x (3 · 1e6), act.out (also the input of head, once), embed’s input', () => {
    // embed saves x; act saves its output; head saves its input, which is the same tensor.
    expect(totals.memory.activations).toBe(3 * 1e6 * 4 * 2);
  });
  test('workspace: the gradients around act (2 · 3 · 1e6 · 4 B) and cuBLAS’s 8 MiB and 128 KiB', () => {
    expect(totals.memory.workspace).toBe(24e6 + 8519680);
  });
  test('the peak is at act in backward: all is kept, head has its gradient, embed has none yet', () => {
    const always = 40e6 + 80e6 + 40e6;
    const backward = 32e6 + 24e6 + 1.2e6 + 24e6;
    const update = 40e6 + 40e6;
    expect(backward).toBeGreaterThan(update);
    expect(totals.memory.peak).toBe(always + backward + 8519680);
    expect(totals.memory.capacity).toBe(Math.round(79.14 * 2 ** 30));
  });
});

describe('modes and sizes', () => {
  test('one GPU sends nothing', () => {
    const { totals, messages } = estimateStep(chain(layers), scenario(), cluster('dgx-a100'));
    expect(messages).toBeUndefined();
    expect([totals.time.communication, totals.time.exposedCommunication]).toEqual([0, 0]);
    expect(totals.memory.communicationBuffers).toBe(0);
    expect(totals.scalingEfficiency).toBe(1);
  });

  test('inference has no backward, no gradients, no optimizer, no messages', () => {
    const { totals, layers: costs } = estimateStep(
      chain(layers),
      scenario({ mode: 'inference', gpus: 8 }),
      cluster('dgx-a100'),
    );
    expect(totals.time.backward).toBe(0);
    expect(totals.time.update).toBe(0);
    expect(totals.time.communication).toBe(0);
    expect(totals.flops.backward).toBe(0);
    expect([totals.memory.gradients, totals.memory.optimizerState]).toEqual([0, 0]);
    expect(costs.every(({ memory }) => memory.gradient === 0 && memory.optimizerState === 0)).toBe(true);
    expect(totals.throughput).toBeGreaterThan(0);
  });

  test('nothing to train is not updated', () => {
    const { totals } = estimateStep(
      chain([{ name: 'act', flops: 1e9, output: 1e6 }]),
      scenario({ precision: 'fp16' }),
      cluster('dgx-a100'),
    );
    expect([totals.time.update, totals.time.communication]).toEqual([0, 0]);
  });

  test('throughput counts every GPU, and mfu is FLOPs over the peak of the precision', () => {
    const { totals } = estimateStep(chain(layers, 2), scenario({ gpus: 8 }), cluster('dgx-a100'));
    const step = totals.time.step ?? Number.NaN;
    expect(totals.throughput).toBeCloseTo(16 / step, 6);
    expect(totals.mfu).toBeCloseTo((totals.flops.forward + totals.flops.backward) / (step * 19.5e12), 9);
  });

  test('fp32 convolutions that run in TF32 are measured against TF32, so mfu stays below 1', () => {
    const convolution: ChainLayer = { class: 'convolution', type: 'Conv', flops: 5e12, output: 1e5 };
    const { totals } = estimateStep(chain([convolution]), scenario(), cluster('dgx-a100'));
    const step = totals.time.step ?? Number.NaN;
    expect(totals.mfu).toBeCloseTo(5e12 / (step * 156e12), 6);
    expect(totals.mfu).toBeLessThan(1);
  });

  test('input is not modelled: unknown, and the total is exact without it', () => {
    const { totals } = estimateStep(chain(layers), scenario(), cluster('dgx-a100'));
    expect(totals.time.input).toBeNull();
    expect(totals.exact).toBe(true);
  });
});

describe('what is unknown', () => {
  const unknown = [...layers, { name: 'odd', type: 'Mystery', unknown: 'operator Mystery is not known' }];
  const cost = estimateStep(chain(unknown), scenario(), cluster('dgx-a100'));

  test('is listed with its reason, and totals are lower bounds', () => {
    expect(cost.totals.exact).toBe(false);
    expect(cost.totals.unknown).toEqual([
      { operator: 'odd', reason: 'operator Mystery is not known', since: null, atMost: null },
    ]);
    const known = estimateStep(chain(layers), scenario(), cluster('dgx-a100'));
    expect(cost.totals.time.step).toBeGreaterThanOrEqual(known.totals.time.step ?? Number.NaN);
  });

  test('is null on its layer, never 0', () => {
    const odd = cost.layers.find(({ name }) => name === 'odd');
    expect(odd?.flops).toEqual({ forward: null, backwardData: null, backwardWeight: null });
    expect([odd?.time.forward, odd?.time.backward, odd?.memory.activations, odd?.range]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    expect([odd?.source, odd?.unknown]).toEqual(['unknown', 'operator Mystery is not known']);
  });
});

describe('what holds for every graph', () => {
  const layer = fc.record({
    flops: fc.integer({ min: 0, max: 1e12 }),
    parameters: fc.nat(5_000_000),
    output: fc.integer({ min: 1, max: 1_000_000 }),
    class: fc.constantFrom('matmul', 'convolution', 'elementwise', 'normalization'),
  }) as fc.Arbitrary<ChainLayer>;
  const graph = fc.array(layer, { minLength: 1, maxLength: 12 });
  const anyScenario = fc.record({
    gpus: fc.constantFrom(1, 2, 8, 64),
    precision: fc.constantFrom('fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'nvfp4'),
    optimizer: fc.constantFrom('sgd', 'momentum', 'adamw', 'none'),
    framework: fc.constantFrom('pytorch-ddp', 'naive', 'horovod'),
  });
  type Drawn = typeof anyScenario extends fc.Arbitrary<infer Value> ? Value : never;
  const made = (drawn: Drawn): Scenario =>
    scenario({
      gpus: drawn.gpus,
      nodes: Math.ceil(drawn.gpus / 8),
      precision: drawn.precision,
      optimizer: drawn.optimizer,
      framework: { name: drawn.framework, options: {} },
    });

  test('layers add up to totals; exposed ≤ communication; the range holds the step', () => {
    fc.assert(
      fc.property(graph, anyScenario, (specification, drawn) => {
        const { totals, layers: costs } = estimateStep(
          chain(specification),
          made(drawn),
          cluster('dgx-a100'),
        );
        const total = (read: (cost: (typeof costs)[number]) => number | null) =>
          costs.reduce((sum, cost) => sum + (read(cost) ?? 0), 0);
        const { time } = totals;
        expect(total((cost) => cost.time.forward)).toBeCloseTo(time.forward ?? Number.NaN, 9);
        expect(total((cost) => cost.time.backward)).toBeCloseTo(time.backward ?? Number.NaN, 9);
        expect(total((cost) => cost.time.communication)).toBeCloseTo(time.communication ?? Number.NaN, 9);
        expect(total((cost) => cost.time.exposedCommunication)).toBeCloseTo(
          time.exposedCommunication ?? Number.NaN,
          9,
        );
        expect(total((cost) => cost.flops.forward)).toBeCloseTo(totals.flops.forward, -3);
        expect(total((cost) => cost.memory.activations)).toBe(totals.memory.activations);
        expect(time.exposedCommunication ?? 0).toBeLessThanOrEqual((time.communication ?? 0) + 1e-12);
        const step = time.step ?? 0;
        expect(
          (time.forward ?? 0) + (time.backward ?? 0) + (time.exposedCommunication ?? 0) + (time.update ?? 0),
        ).toBeCloseTo(step, 9);
        expect(time.range?.low ?? 0).toBeLessThanOrEqual(step + 1e-12);
        expect(step).toBeLessThanOrEqual((time.range?.high ?? 0) + 1e-12);
      }),
      { numRuns: 60 },
    );
  });

  test('memory never shrinks when the batch grows', () => {
    fc.assert(
      fc.property(graph, anyScenario, fc.integer({ min: 1, max: 64 }), (specification, drawn, batch) => {
        const peak = (size: number) =>
          estimateStep(chain(specification, size), made(drawn), cluster('dgx-a100')).totals.memory.peak;
        expect(peak(batch)).toBeLessThanOrEqual(peak(batch + 1));
      }),
      { numRuns: 60 },
    );
  });

  test('more memory and link bandwidth never costs time', () => {
    fc.assert(
      fc.property(graph, anyScenario, (specification, drawn) => {
        const slow = cluster('dgx-a100');
        const twice = (entry: { readonly value: number; readonly source: string }) => ({
          ...entry,
          value: bytesPerSecond(entry.value * 2),
        });
        const fast: ClusterProfile = {
          ...slow,
          gpu: { ...slow.gpu, memoryBandwidth: twice(slow.gpu.memoryBandwidth) },
          link: slow.link && { ...slow.link, busBandwidth: twice(slow.link.busBandwidth) },
          network: slow.network && { ...slow.network, nodeBandwidth: twice(slow.network.nodeBandwidth) },
        };
        const time = (profile: ClusterProfile) =>
          estimateStep(chain(specification), made(drawn), profile).totals.time.step ?? Number.NaN;
        expect(time(fast)).toBeLessThanOrEqual(time(slow) + 1e-12);
      }),
      { numRuns: 60 },
    );
  });
});

describe('findings', () => {
  const codes = (cost: ReturnType<typeof estimateStep>) => cost.findings.map(({ code }) => code);

  test('out of memory names what dominates and the largest batch that fits, which does', () => {
    const large: readonly ChainLayer[] = [
      { name: 'a', flops: 1e12, parameters: 1e6, output: 2e8 },
      { name: 'b', flops: 1e12, parameters: 1e6, output: 2e8 },
      { name: 'c', flops: 1e12, parameters: 1e6, output: 2e8 },
      { name: 'd', flops: 1e12, parameters: 1e6, output: 10 },
    ];
    // Made by hand, so that it cannot be bound to another batch.
    const fixed = (batch: number) => {
      const graph = chain(large, batch);
      return { ...graph, analysis: { ...graph.analysis, batchSymbol: undefined } };
    };
    const at = (batch: number) =>
      estimateStep(fixed(batch), scenario({ cluster: 't4', batchPerGpu: batch }), cluster('t4'));
    const finding = at(16).findings.find(({ code }) => code === 'findings/out-of-memory');
    expect(finding?.message).toMatch(/^The step needs .* GiB; T4 has 14\.8 GiB.*saved activations/);
    const fits = Number(/batch per GPU to (\d+)/.exec(finding?.fix ?? '')?.[1]);
    expect(codes(at(fits))).not.toContain('findings/out-of-memory');
    expect(codes(at(fits + 1))).toContain('findings/out-of-memory');
  });

  test('a model whose state alone is too large is told so', () => {
    const huge = [{ name: 'a', flops: 1e9, parameters: 5e9, output: 10 }];
    const cost = estimateStep(chain(huge), scenario({ cluster: 't4' }), cluster('t4'));
    expect(cost.findings[0]?.fix).toMatch(/^No batch fits/);
  });

  test('exposed communication names the layer, the bytes, the bandwidth and the batch that hides it', () => {
    const model: readonly ChainLayer[] = [
      { name: 'wte', flops: 1e9, parameters: 38.6e6, output: 1000 },
      { name: 'body', flops: 6e12, parameters: 1e6, output: 1000 },
    ];
    // The message is exposed because its gradient is late, which would be said instead.
    const thresholds = { 'late-gradient': 1 };
    const over = scenario({ cluster: 'k80-10gbe', gpus: 8, nodes: 2, thresholds });
    const cost = estimateStep(chain(model, 4), over, cluster('k80-10gbe'));
    const finding = cost.findings.find(({ code }) => code === 'findings/exposed-communication');
    expect(finding?.layer).toBe('wte');
    expect(finding?.message).toMatch(
      /% of the step waits for gradients\. The last message \(wte.*MiB\).*8 GPUs.*bus bandwidth/,
    );
    expect(finding?.fix).toMatch(/batch|gradient-dtype/i);
    const { time } = cost.totals;
    expect(cost.layers[0]?.time.exposedCommunication).toBeGreaterThan(0.9 * (time.exposedCommunication ?? 0));
    const share = (time.exposedCommunication ?? 0) / (time.step ?? 0);
    const from = (threshold: number) => ({
      ...over,
      thresholds: { ...thresholds, 'exposed-communication': threshold },
    });
    expect(codes(estimateStep(chain(model, 4), from(share - 0.01), cluster('k80-10gbe')))).toContain(
      finding?.code,
    );
    expect(codes(estimateStep(chain(model, 4), from(share + 0.01), cluster('k80-10gbe')))).not.toContain(
      finding?.code,
    );
  });

  test('launch-bound small kernels, and none of it on large ones', () => {
    const small = Array.from({ length: 50 }, (_, index) => ({
      name: `s${index}`,
      flops: 1e5,
      parameters: 100,
      output: 100,
    }));
    expect(codes(estimateStep(chain(small), scenario(), cluster('dgx-h100')))).toContain(
      'findings/launch-bound',
    );
    expect(codes(estimateStep(chain(layers), scenario(), cluster('dgx-a100')))).toEqual([]);
  });

  test('bf16 on V100 runs in fp32, and fp16 is offered', () => {
    const cost = estimateStep(chain(layers), scenario({ precision: 'bf16' }), cluster('v100-sxm2-16gb'));
    const finding = cost.findings.find(({ code }) => code === 'findings/unsupported-precision');
    expect(finding?.message).toMatch(
      /no bf16 tensor cores\. Matrix multiplications fall back to fp32 \(peak 15\.7 TFLOP\/s\)/,
    );
    expect(finding?.fix).toMatch(/Use fp16/);
  });
});

describe('use measured times instead of predictions', () => {
  const model = chain(layers, 4);
  const eight = scenario({ gpus: 8 });

  test('a measured step replaces compute; communication stays on top of it', () => {
    const predicted = estimateStep(model, eight, cluster('dgx-a100'));
    const cost = estimateStep(model, { ...eight, measuredStep: seconds(5) }, cluster('dgx-a100'));
    const { time } = cost.totals;
    const computed = (time.forward ?? 0) + (time.backward ?? 0) + (time.update ?? 0);
    // It waits for the slowest of eight workers, and what travels beside it slows it.
    const slowest = 5 * (1 + 0.025 * 1.4236);
    expect(computed).toBeGreaterThan(slowest - 1e-4);
    expect(computed).toBeLessThan(slowest + 1e-4 + 0.35 * (time.communication ?? 0));
    expect(time.step).toBeCloseTo(computed + (time.exposedCommunication ?? 0), 9);
    expect(time.communication).toBe(predicted.totals.time.communication);
    expect(cost.totals.throughput).toBeCloseTo(32 / (time.step ?? Number.NaN), 6);
  });

  test('measured layers keep their times, others theirs, and exposure follows the new backward', () => {
    const predicted = estimateStep(model, eight, cluster('dgx-a100'));
    const cost = estimateStep(model, eight, cluster('dgx-a100'), {
      origin: 'test',
      layers: new Map([['head', { forward: seconds(0.25), backward: seconds(0.5) }]]),
    });
    const head = cost.layers.find(({ name }) => name === 'head');
    expect([head?.time.forward, head?.time.backward, head?.source, head?.range]).toEqual([
      0.25,
      0.5,
      'measured',
      { low: expect.closeTo(0.75, 12), high: expect.closeTo(0.75, 12) },
    ]);
    expect(cost.layers[0]?.time.forward).toBe(predicted.layers[0]?.time.forward);
    expect(cost.layers[0]?.source).toBe('profile');
    expect(cost.totals.time.exposedCommunication).toBeLessThanOrEqual(cost.totals.time.communication ?? 0);
  });

  test('nothing measured changes nothing', () => {
    const predicted = estimateStep(model, eight, cluster('dgx-a100'));
    const cost = estimateStep(model, eight, cluster('dgx-a100'), { origin: 'test', layers: new Map() });
    expect(cost.totals.time.step).toBeCloseTo(predicted.totals.time.step ?? Number.NaN, 9);
    expect(cost.layers).toEqual(predicted.layers);
  });
});

test('message costs name the layers whose gradients they carry', () => {
  const { messages } = estimateStep(chain(layers), scenario({ gpus: 8 }), cluster('dgx-a100'));
  expect(messages?.map(({ layers: shares }) => shares.map(({ index }) => index))).toEqual([[2], [0]]);
  expect(messages?.[0]?.bytes).toBe(bytes(32e6));
});

test.each([
  ['v100-infiniband', 'fp16', 'fp16'],
  ['v100-infiniband', 'fp32', 'fp16'],
  ['cpu-10gbe', 'fp32', 'fp16'],
  ['dgx-a100', 'bf16', 'bf16'],
  ['dgx-a100', 'fp16', 'fp16'],
] as const)('advice for gradients on %s in %s names %s', (name, precision, advised) => {
  const graph = chain(
    [1, 2, 3].map((each) => ({ name: `l${each}`, flops: 1e6, parameters: 1e9, output: 10 })),
    1,
  );
  const asked = scenario({ cluster: name, nodes: 4, gpus: 4 * cluster(name).gpusPerNode.value, precision });
  const { findings } = estimateStep(graph, asked, cluster(name));
  const { fix } = findings.find(({ code }) => code === 'findings/exposed-communication') ?? { fix: '' };
  expect(/gradient-dtype=(\w+)/.exec(fix)?.[1]).toBe(advised);
});
