/** Embedding tables with sparse gradients, and sharded ones: volumes, memory and update by formula. */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { distinctRows } from '../../server/src/analysis/embeddingTables.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { recost } from '../../server/src/estimate/recost.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { formatTime } from '../../server/src/model/format.ts';
import type { Optimizer } from '../../server/src/model/scenario.ts';
import { seconds } from '../../server/src/model/units.ts';

const [rows, width, batch, bag] = [1_000_000, 64, 512, 4];

/** Two tables of bags beside a network of perceptrons, as DLRM has them. */
const text = (sparse = 'False') => `
dims: { batch: ${batch} }
inputs: { dense: 'float32[batch, 13]', ids: 'int64[batch, ${bag}]', other: 'int64[batch, ${bag}]' }
layers:
  - bottom: Linear(${width}) from dense
  - one: EmbeddingBag(${rows}, ${width}, mode='sum', sparse=${sparse}) from ids
  - two: EmbeddingBag(${rows}, ${width}, mode='sum', sparse=${sparse}) from other
  - all: cat(1) from bottom, one, two
  - top: Linear(1)
`;

const network = (13 * width + width + 3 * width + 1) * 4;
const lookups = batch * bag;
const tableBytes = rows * width * 4;
const rowBytes = lookups * (width * 4 + 8);
const bags = 2 * batch * width * 4;

function planOf(
  framework: string,
  options: Readonly<Record<string, string>>,
  gpus: number,
  { sparse, optimizer = 'sgd' }: { readonly sparse?: string; readonly optimizer?: Optimizer } = {},
) {
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text(sparse))), 'tables.layers.yaml');
  const { training, scenario, cluster, cost, issues } = estimateModel(opened, [
    { cluster: 'dgx-a100', gpus, optimizer, precision: 'fp32', framework: { name: framework, options } },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined || cost === undefined)
    throw new Error(issues.map(({ message }) => message).join());
  const plan = planStep(training, scenario, cluster);
  const sent = plan.exchange.messages.map(({ bytes, stages }) => ({
    bytes: Math.round(bytes),
    by: stages.map(({ operation }) =>
      operation.kind === 'collective'
        ? `${operation.collective}${operation.library === undefined ? '' : ` ${operation.library}`}`
        : operation.kind,
    ),
  }));
  return { memory: cost.totals.memory, time: cost.totals.time, sent, plan, issues };
}

describe('gradients of the rows that were looked up', () => {
  const sparse = { sparse: 'True' };

  test.each([
    ['pytorch-ddp', {}, 1, sparse],
    ['pytorch-ddp', {}, 8, sparse],
    ['pytorch-ddp', { embeddings: 'sparse' }, 8, {}],
    ['horovod', {}, 8, sparse],
    ['horovod', { embeddings: 'sparse' }, 8, {}],
  ])('%s %j on %i GPUs holds rows and indices: %j', (framework, options, gpus, extra) => {
    const { memory } = planOf(framework, options, gpus, extra);
    expect(memory.gradients).toBe(network + 2 * rowBytes);
    expect(memory.parameters).toBe(network + 2 * tableBytes);
  });

  test('Horovod gathers indices and values of each table, and all-reduces the rest', () => {
    const { sent } = planOf('horovod', {}, 8, sparse);
    const gathers = sent.filter(({ by }) => by[0] === 'all-gather');
    expect(gathers).toEqual([
      { bytes: rowBytes, by: ['all-gather', 'all-gather'] },
      { bytes: rowBytes, by: ['all-gather', 'all-gather'] },
    ]);
    const rest = sent.filter(({ by }) => by.includes('all-reduce'));
    expect(rest.reduce((total, { bytes }) => total + bytes, 0)).toBe(network);
  });

  test('what is gathered has the rows of all GPUs', () => {
    const { plan } = planOf('horovod', {}, 8, sparse);
    const stages = plan.exchange.messages.flatMap((message) => message.stages);
    const sizes = stages.flatMap(({ operation }) =>
      operation.kind === 'collective' && operation.collective === 'all-gather' ? [operation.bytes] : [],
    );
    expect(sizes).toEqual([8, 8 * 32, 8, 8 * 32].map((size) => size * lookups * 8));
  });

  test('DistributedDataParallel goes by gloo, and a message says why', () => {
    const { sent, issues } = planOf('pytorch-ddp', {}, 8, sparse);
    expect(new Set(sent.flatMap(({ by }) => by))).toEqual(
      new Set(['all-gather open-mpi', 'all-reduce open-mpi']),
    );
    expect(issues.map(({ code }) => code)).toContain('scenario/gloo');
    expect(planOf('pytorch-ddp', {}, 1, sparse).issues.map(({ code }) => code)).not.toContain(
      'scenario/gloo',
    );
  });

  test.each(['pytorch-fsdp', 'deepspeed-zero', 'cntk', 'chainer', 'naive'])(
    '%s sends whole tables, and a message says so',
    (framework) => {
      const [own, dense] = [planOf(framework, {}, 8, sparse), planOf(framework, {}, 8)];
      expect(own.time.step).toBe(dense.time.step);
      expect(own.issues.map(({ code }) => code)).toContain('scenario/dense-gradient');
      expect(dense.issues.map(({ code }) => code)).not.toContain('scenario/dense-gradient');
    },
  );

  // Elements that the update of two tables touches, rows came and met of 1,000,000: by the code of each framework.
  const came = 2 * 8 * lookups * width;
  const met = 2 * width * distinctRows(rows, 8 * lookups);
  const whole = 2 * rows * width;
  test.each<[string, Readonly<Record<string, string>>, Optimizer, number]>([
    ['horovod', {}, 'sgd', 3 * came],
    ['horovod', {}, 'momentum', 3 * came + 5 * whole],
    ['horovod', {}, 'adam', came + 41 * met],
    ['mxnet', {}, 'sgd', 3 * met],
    ['mxnet', {}, 'momentum', 5 * met],
    ['mxnet', {}, 'adam', 7 * met],
    ['tensorflow', { 'variable-update': 'replicated', 'all-reduce': 'copies' }, 'sgd', 3 * came],
    ['tensorflow', { 'variable-update': 'replicated', 'all-reduce': 'copies' }, 'momentum', came + 6 * met],
    [
      'tensorflow',
      { 'variable-update': 'replicated', 'all-reduce': 'copies' },
      'adam',
      came + 13 * met + 16 * whole,
    ],
  ])('%s %j, %s: its update touches so many elements of tables', (framework, options, optimizer, touched) => {
    const { plan } = planOf(framework, { ...options, embeddings: 'sparse' }, 8, { optimizer });
    const ofTables = plan.update.kernels.slice(-2);
    const sum = ofTables.reduce((total, kernel) => total + kernel.bytes, 0);
    expect(sum / (4 * touched + (8 * came) / width)).toBeCloseTo(1, 9);
  });

  test('TensorFlow makes rows of every lookup, unless NCCL sums gradients', () => {
    const rowsOf = (options: Readonly<Record<string, string>>) =>
      planOf('tensorflow', options, 8).memory.gradients;
    expect(rowsOf({})).toBe(network + 2 * rowBytes);
    expect(rowsOf({ 'variable-update': 'replicated' })).toBe(network + 2 * tableBytes);
    expect(rowsOf({ embeddings: 'dense' })).toBe(network + 2 * tableBytes);
  });

  test('MXNet makes rows where a layer asks for them', () => {
    // Each row once: 2,045.9 of 2,048 lookups.
    const unlike = distinctRows(rows, lookups) / lookups;
    expect(planOf('mxnet', {}, 8, sparse).memory.gradients).toBeCloseTo(network + 2 * rowBytes * unlike, 3);
    expect(planOf('mxnet', {}, 8).memory.gradients).toBe(network + 2 * tableBytes);
  });

  test.each<[Optimizer, number]>([
    ['sgd', 0],
    ['momentum', 4],
    ['adam', 8],
    ['adamw', 8],
  ])('%s keeps %i bytes for each element, and updates rows', (optimizer, perElement) => {
    const options = { sparse: 'True', optimizer };
    const { memory, plan } = planOf('horovod', {}, 1, options);
    const whole = planOf('horovod', { embeddings: 'dense' }, 1, options);
    expect(memory.optimizerState).toBe((perElement / 4) * (network + 2 * tableBytes));
    expect(memory.optimizerState).toBe(whole.memory.optimizerState);
    // Momentum passes over its whole buffer, which a step of a dense gradient does too.
    const [own, other] = [plan, whole.plan].map(({ updateTimes }) => updateTimes.middle[0] ?? Number.NaN);
    expect((own ?? Number.NaN) / (other ?? Number.NaN)).toBeLessThan(optimizer === 'momentum' ? 1 : 0.1);
  });

  test('backward fills no table with zeros', () => {
    const [rowsOnly, whole] = [planOf('pytorch-ddp', {}, 1, sparse), planOf('pytorch-ddp', {}, 1)];
    // 2 tables of 256 MB are written once at 2 TB/s at most.
    const less = (whole.time.backward ?? 0) - (rowsOnly.time.backward ?? 0);
    expect(less).toBeGreaterThan((2 * tableBytes) / 2.1e12);
  });
});

describe('sharded tables', () => {
  test.each([2, 8, 64])('%i GPUs: memory falls as 1/N, table-wise and row-wise', (gpus) => {
    for (const embeddings of ['table-wise', 'row-wise']) {
      const { memory } = planOf('pytorch-ddp', { embeddings }, gpus, { optimizer: 'adam' });
      expect(memory.parameters).toBe(network + (2 * tableBytes) / gpus);
      expect(memory.optimizerState).toBe(2 * (network + (2 * tableBytes) / gpus));
      expect(memory.gradients).toBe(network + 2 * rowBytes);
    }
  });

  test.each([
    ['table-wise', 8, ['all-to-all', 'all-to-all', 'all-to-all'], 1],
    ['row-wise', 8, ['all-to-all', 'reduce-scatter', 'all-gather'], 8],
    ['row-wise', 16, ['all-to-all', 'reduce-scatter', 'all-gather'], 16],
  ])('%s on %i GPUs: indices, bags and their gradients', (embeddings, gpus, collectives, parts) => {
    const { sent } = planOf('pytorch-ddp', { embeddings }, gpus);
    expect(sent.slice(0, 3)).toEqual([
      { bytes: 2 * lookups * 8, by: [collectives[0]] },
      { bytes: parts * bags, by: [collectives[1]] },
      { bytes: parts * bags, by: [collectives[2]] },
    ]);
    const rest = sent.slice(3);
    expect(rest.every(({ by }) => by[0] === 'all-reduce')).toBe(true);
    expect(rest.reduce((total, { bytes }) => total + bytes, 0)).toBe(network);
  });

  test('forward waits for bags before what reads them, backward for their gradients before the tables', () => {
    const { plan } = planOf('pytorch-ddp', { embeddings: 'table-wise' }, 8);
    const { operators } = plan.training.analysis.graph;
    const types = plan.exchange.messages.slice(0, 3).map(({ after, before }) =>
      [after, before].map((point) => {
        if (point.pass !== 'forward' && point.pass !== 'backward') return point.pass;
        const position = point.pass === 'forward' ? point.position : operators.length - 1 - point.position;
        return `${point.pass} ${operators[position]?.type}`;
      }),
    );
    expect(types).toEqual([
      ['start', 'forward Gather'],
      ['forward ReduceSum', 'forward Concat'],
      ['backward Concat', 'backward ReduceSum'],
    ]);
  });

  test('inference sends lookups alone', () => {
    const opened = openModel(byteSourceOfBuffer(Buffer.from(text())), 'tables.layers.yaml');
    const framework = { name: 'pytorch-ddp', options: { weights: 'fp32', embeddings: 'table-wise' } };
    const { cost } = estimateModel(opened, [{ cluster: 'dgx-a100', gpus: 8, framework, mode: 'inference' }]);
    expect(cost?.messages?.map(({ bytes }) => Math.round(bytes))).toEqual([2 * lookups * 8, bags]);
    expect(cost?.totals.memory.parameters).toBe(network + (2 * tableBytes) / 8);
  });
});

test('tied tables are no tables: their gradient is that of a product', () => {
  const tied = `
dims: { batch: 4 }
inputs: { ids: 'int64[batch, 16]' }
layers:
  - table: Embedding(1000, 32, sparse=True)
  - norm: LayerNorm(32)
  - head: Linear(1000, bias=False, weight=table)
`;
  const opened = openModel(byteSourceOfBuffer(Buffer.from(tied)), 'tied.layers.yaml');
  const { cost, issues } = estimateModel(opened, [{ cluster: 'dgx-a100', gpus: 1, precision: 'fp32' }]);
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(cost?.totals.memory.gradients).toBe(cost?.totals.memory.parameters);
});

test('distinct rows: at most the lookups and the rows, and those of even draws', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e9 }), fc.integer({ min: 1, max: 1e9 }), (all, drawn) => {
      const met = distinctRows(all, drawn);
      expect(met).toBeLessThanOrEqual(Math.min(all, drawn) * (1 + 1e-9));
      expect(met).toBeGreaterThanOrEqual(1 - 1e-9);
    }),
  );
  // Ten draws of ten: 10 · (1 − 0.9¹⁰).
  expect(distinctRows(10, 10)).toBeCloseTo(6.513, 3);
  expect(distinctRows(1, 5)).toBe(1);
});

describe('DLRM of the samples: advice is to send lookups, and the step is the one it names', () => {
  const dlrm = (name: string, options: Readonly<Record<string, string>> = {}) => {
    const file = 'samples/more/dlrm.layers.yaml';
    const opened = openModel(byteSourceOfBuffer(readFileSync(file)), file);
    // On a slower host its small kernels are what takes long.
    const framework = { name, options: { 'launch-us': '7', ...options } };
    const { cost } = estimateModel(opened, [
      { cluster: 'dgx-a100', gpus: 8, optimizer: 'sgd', precision: 'fp32', framework },
    ]);
    if (cost === undefined) throw new Error(file);
    const found = cost.findings.find(
      ({ code, fix }) => code === 'findings/exposed-communication' && fix !== '',
    );
    return { step: cost.totals.time.step ?? Number.NaN, memory: cost.totals.memory, found };
  };

  test.each([
    {
      name: 'pytorch-ddp',
      value: 'table-wise',
      times: 4,
      how: 'hard the tables over the GPUs (embeddings=table-wise)',
    },
    { name: 'horovod', value: 'sparse', times: 4, how: 'end only the rows looked up (embeddings=sparse)' },
    { name: 'mxnet', value: 'sparse', times: 3, how: 'end only the rows looked up (embeddings=sparse)' },
  ])('$name', ({ name, value, how, times }) => {
    const [own, advised] = [dlrm(name), dlrm(name, { embeddings: value })];
    expect(own.found?.fix).toContain(`${how}: the step takes ${formatTime(seconds(advised.step))}`);
    expect(own.found?.fix).not.toContain('batch');
    expect(own.found?.change).toEqual({ kind: 'framework-option', name: 'embeddings', value });
    expect(advised.step).toBeLessThan(own.step / times);
    // 2.01 GiB of tables in 8 parts.
    if (value === 'table-wise') expect(advised.memory.parameters).toBeLessThan(own.memory.parameters / 7.8);
  });

  test('a framework without the option is told which has it', () => {
    const { found } = dlrm('pytorch-fsdp');
    expect(found?.fix).toContain('(pytorch-ddp with embeddings=table-wise)');
    expect(found?.change).toBeUndefined();
  });

  test('sharded tables are not advised again', () => {
    expect(dlrm('pytorch-ddp', { embeddings: 'table-wise' }).found?.fix).not.toContain('able');
  });
});

test('a batch that hides lookups is one at which less is exposed: rows grow with it', () => {
  const { plan, time } = planOf('pytorch-ddp', { embeddings: 'table-wise' }, 64);
  const larger = recost(plan, { batchPerGpu: 8 * plan.training.batch });
  const sent = (each: typeof plan) => each.exchange.messages[1]?.bytes ?? Number.NaN;
  expect(larger === undefined ? Number.NaN : sent(larger) / sent(plan)).toBe(8);
  expect(time.exposedCommunication).toBeGreaterThan(0);
});
