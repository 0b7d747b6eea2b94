import { describe, expect, test } from 'vitest';
import type { Operation } from '../../server/src/communication/operation.ts';
import type { Exchange, Message, ProfiledStep, WorkerGroup } from '../../server/src/frameworks/exchange.ts';
import type { FrameworkEntry } from '../../server/src/frameworks/frameworkEntry.ts';
import type { Gradient } from '../../server/src/frameworks/gradient.ts';
import { frameworks, resolveFramework } from '../../server/src/frameworks/registry.ts';
import { type Bytes, bytes, seconds } from '../../server/src/model/units.ts';

/** Layers of a weight and a bias each, 1 ms of backward for each operator; the last layer is ready first. */
const layers = 12;
const gradients: readonly Gradient[] = Array.from({ length: 2 * layers }, (_, index): Gradient => {
  const layer = layers - 1 - Math.floor(index / 2);
  const elements = index % 2 === 0 ? 100_000 * (layer + 1) : 1000;
  return {
    parameter: `block.${layer}.${index % 2 === 0 ? 'weight' : 'bias'}`,
    index: 2 * layer + (index % 2),
    elements,
    bytes: bytes(4 * elements),
    readyAfter: layers - 1 - layer,
    usedFrom: layer,
  };
});
const whole = gradients.reduce((total, gradient) => total + gradient.bytes, 0);

const group = (gpus: number, nodes: number): WorkerGroup => ({
  gpus,
  nodes,
  gpusPerNode: gpus / nodes,
  operators: layers,
  precision: 'fp32',
});

const backwardEnds = () => Float64Array.from({ length: layers }, (_, position) => 1e-3 * (position + 1));
/** The host keeps pace with the GPU; 50 µs and 1 GB/s, whatever is sent. */
const profiled: ProfiledStep = {
  backwardEnds,
  backwardLaunches: backwardEnds,
  batchPerGpu: () => 32,
  timeOf: (operation) => seconds(50e-6 + ('bytes' in operation ? operation.bytes : 0) / 1e9),
};

const exchangeOf = (
  name: string,
  options: Record<string, string>,
  workers: WorkerGroup,
  of: readonly Gradient[] = gradients,
): Exchange => resolveFramework({ name, options }).behaviour.exchange(of, workers, profiled);

/** Every value of every option that lists its values, one at a time. */
const variants = ({ options }: FrameworkEntry): readonly Record<string, string>[] => [
  {},
  ...options.flatMap((option) => (option.expects.choices ?? []).map((value) => ({ [option.name]: value }))),
];

const everywhere = frameworks.flatMap((entry) =>
  variants(entry).map((options) => [`${entry.name} ${JSON.stringify(options)}`, entry, options] as const),
);

/** Whether it goes over the ports of nodes. */
const crosses = (
  operation: Operation,
  { nodes }: WorkerGroup,
): operation is Extract<Operation, { bytes: Bytes }> => {
  if (operation.kind === 'collective') return nodes > 1 && operation.over !== 'node';
  const isServed =
    operation.kind === 'server' || (operation.kind === 'host pass' && operation.at !== undefined);
  return isServed || operation.kind === 'gather at rank 0';
};

describe.each(everywhere)('%s', (_, entry, options) => {
  test('sends nothing on one GPU, but to and from host memory', () => {
    const { messages, onHost } = exchangeOf(entry.name, options, group(1, 1));
    const stages = messages.flatMap((message) => message.stages);
    expect(stages.filter(({ operation }) => operation.kind !== 'copy')).toEqual([]);
    expect(messages.length > 0).toBe(onHost !== undefined);
  });

  test.each([group(4, 1), group(8, 2), group(4, 4)])(
    'carries every gradient, $gpus GPUs on $nodes',
    (workers) => {
      if (entry.oneNode && workers.nodes > 1) return;
      const { messages, shards, buffers } = exchangeOf(entry.name, options, workers);
      const carried = new Set(messages.flatMap((message) => message.gradients.map(({ index }) => index)));
      expect(carried.size).toBe(gradients.length);
      expect(buffers).toBeGreaterThanOrEqual(0);
      for (const share of Object.values(shards)) expect(share).toBeGreaterThanOrEqual(1);
      for (const message of messages) {
        expect(message.stages.length).toBeGreaterThan(0);
        expect(message.before.pass).not.toBe('start');
        for (const moment of [message.after, message.before]) {
          if ('position' in moment) expect(moment.position).toBeLessThan(layers);
        }
      }
    },
  );

  // Channels are served side by side, so that two over one link would each have all of it.
  test.each([group(4, entry.oneNode ? 1 : 2), group(4, entry.oneNode ? 1 : 4)])(
    'keeps what crosses the network on one channel, but for agreements, $nodes nodes',
    (workers) => {
      const { messages } = exchangeOf(entry.name, options, workers);
      const crossing = messages
        .flatMap(({ stages }) => stages)
        .filter(({ operation }) => crosses(operation, workers) && operation.bytes > 1024);
      expect(new Set(crossing.map(({ channel }) => channel)).size).toBeLessThanOrEqual(1);
    },
  );

  test('sends gradients when they are ready, not before', () => {
    const { messages } = exchangeOf(entry.name, options, group(4, entry.oneNode ? 1 : 2));
    for (const { after, gradients: own, before } of messages) {
      if (after.pass !== 'backward' || before.pass === 'backward') continue;
      for (const gradient of own) expect(gradient.readyAfter).toBeLessThanOrEqual(after.position);
    }
  });
});

const collectives = (messages: readonly Message[]) =>
  messages
    .flatMap(({ stages }) => stages.map(({ operation }) => operation))
    .filter((o) => o.kind === 'collective');

describe('volumes that one rank sends, in whole models', () => {
  const two = 2 * (3 / 4);
  test.each([
    ['pytorch-ddp', {}, two],
    ['horovod', {}, two],
    ['mg-wfbp', {}, two],
    ['bytescheduler', {}, two],
    ['naive', {}, two],
    ['caffe-mpi', {}, two],
    ['cntk', {}, two],
    ['chainer', {}, two],
    ['deepspeed-zero', { stage: '1' }, two],
    ['deepspeed-zero', { stage: '2' }, two],
    ['deepspeed-zero', { stage: '3', 'persistence-threshold': '0' }, 1.5 * two],
    ['megatron', {}, two],
    ['megatron', { 'distributed-optimizer': 'true' }, two],
    ['torchtitan', {}, 1.5 * two],
    ['torchtitan', { 'reshard-after-forward': 'never' }, two],
    ['pytorch-fsdp', { sharding: 'full' }, 1.5 * two],
    ['pytorch-fsdp', { sharding: 'shard-grad-op' }, two],
  ] as const)('%s %o: %f', (name, options, volume) => {
    const sent = collectives(exchangeOf(name, options, group(4, 1)).messages).map(
      ({ collective, bytes: size }) => (collective === 'all-reduce' ? two : two / 2) * size,
    );
    expect(sent.reduce((total, size) => total + size, 0) / whole).toBeCloseTo(volume, 9);
  });
});

test('Megatron-LM sends one buffer behind backward; with overlap, buckets during it, and weights ahead of forward', () => {
  const syncs = (options: Record<string, string>) =>
    exchangeOf('megatron', options, group(4, 1)).messages.map(({ after, before }) => [after, before]);
  const end = { pass: 'backward', position: layers - 1 };
  const update = { pass: 'update' };
  const distributed = { 'distributed-optimizer': 'true' };
  expect(syncs({})).toEqual([[end, update]]);
  expect(syncs(distributed)).toEqual([
    [end, update],
    [update, { pass: 'forward', position: 0 }],
  ]);
  // Layers of 1.2, 1.1, … million elements: a bucket is closed at 4 million.
  const overlap = { ...distributed, 'overlap-grad-reduce': 'true', 'bucket-size': '4e6' };
  const ready = [3, 11].map((position) => ({ pass: 'backward', position }));
  expect(syncs({ ...overlap, 'overlap-param-gather': 'true' })).toEqual([
    ...ready.map((after) => [after, update]),
    ...[0, 8].map((position) => [update, { pass: 'forward', position }]),
  ]);
});

test.each([
  [8, 1, 40e6],
  [64, 8, 64e6],
])('buckets of Megatron-LM close at %i GPUs on %i nodes when they have %f elements', (gpus, nodes, least) => {
  const wide = gradients.map((gradient) => ({ ...gradient, elements: 50 * gradient.elements }));
  const sent = exchangeOf('megatron', { 'overlap-grad-reduce': 'true' }, group(gpus, nodes), wide).messages;
  const elements = sent.map((message) => message.gradients.map((gradient) => gradient.elements));
  const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
  expect(elements.length).toBeGreaterThan(2);
  for (const sizes of elements.slice(0, -1)) {
    expect(sum(sizes)).toBeGreaterThanOrEqual(least);
    expect(sum(sizes.slice(0, -1))).toBeLessThan(least);
  }
});

test('ZeRO sends a bucket when the first gradient is ready that it has no room for', () => {
  const options = { stage: '2', 'overlap-comm': 'true', 'reduce-bucket-size': '2.5e6' };
  const scatters = exchangeOf('deepspeed-zero', options, group(4, 1)).messages.filter(
    ({ after }) => after.pass === 'backward',
  );
  // 1.2 + 1.1, then 1.0 + 0.9, 0.8 + 0.7 + 0.6, 0.5 + 0.4 + 0.3 + 0.2 + 0.1 million elements, and biases.
  expect(scatters.map((message) => message.gradients.length / 2)).toEqual([2, 2, 3, 5]);
  expect(scatters.map(({ after }) => after)).toEqual(
    [2, 4, 7, layers - 1].map((position) => ({ pass: 'backward', position })),
  );
});

test('ByteScheduler without its patch fills messages up to 64 MiB', () => {
  // 32 MiB each, in as many parts as fill no cycle.
  const [one] = gradients;
  if (one === undefined) throw new Error('no gradient');
  const three = [0, 1, 2].map((index) => ({
    ...one,
    index,
    usedFrom: index,
    elements: 2 ** 23,
    bytes: bytes(2 ** 25),
  }));
  const options = { patched: 'false', 'partition-elements': String(2 ** 22) };
  const sent = exchangeOf('bytescheduler', options, group(4, 1), three).messages;
  expect(sent.map((message) => message.bytes)).toEqual([2 ** 26, 2 ** 25]);
});

test('MG-WFBP fits all-reduces of 8 Ki to 504 Ki floats', () => {
  const sizes = new Set<number>();
  const timeOf = (operation: Operation) => {
    if (operation.kind === 'collective') sizes.add(operation.bytes);
    return profiled.timeOf(operation);
  };
  const { behaviour } = resolveFramework({ name: 'mg-wfbp', options: {} });
  behaviour.exchange(gradients, group(4, 1), { ...profiled, timeOf });
  expect([...sizes]).toEqual(Array.from({ length: 63 }, (_, index) => 4 * 8192 * (index + 1)));
});

test('Horovod copies a gradient that is all alone into no buffer', () => {
  const options = { 'fusion-mb': '1' };
  expect(exchangeOf('horovod', options, group(4, 1)).buffers).toBe(2 ** 20);
  expect(exchangeOf('horovod', options, group(4, 1), gradients.slice(0, 1)).buffers).toBe(0);
});

test('Megatron-LM gathers weights ahead of forward only where it scatters gradients during backward', () => {
  const { issues } = resolveFramework({ name: 'megatron', options: { 'overlap-param-gather': 'true' } });
  expect(issues.map(({ message }) => message)).toEqual([
    '`overlap-param-gather` needs `distributed-optimizer` and `overlap-grad-reduce`, as in Megatron-LM; set them to true',
  ]);
});

test('a stage of torchtitan keeps its blocks whole, and shards what it updates', () => {
  const { behaviour } = resolveFramework({ name: 'torchtitan', options: {} });
  const { messages, shards, buffers } = behaviour.exchange(
    gradients,
    { ...group(4, 1), precision: 'bf16', pipelined: true },
    profiled,
  );
  expect(messages).toHaveLength(2 * layers);
  expect(shards).toEqual({ parameters: 4, gradients: 1, optimizerState: 4 });
  // bf16 of all, and the fp32 copy of the largest gradients but one.
  expect(buffers).toBe(whole / 2 + 4 * 1_101_000);
});

test('MG-WFBP merges what start-up would hold up, by the fitted cost', () => {
  const slow: ProfiledStep = {
    ...profiled,
    timeOf: (o) => seconds(5e-3 + ('bytes' in o ? o.bytes : 0) / 1e12),
  };
  const { behaviour } = resolveFramework({ name: 'mg-wfbp', options: {} });
  const few = behaviour.exchange(gradients, group(8, 2), slow).messages;
  const many = behaviour.exchange(gradients, group(8, 2), profiled).messages;
  expect(few.length).toBeLessThan(many.length);
});

test('Horovod sends what is ready in a cycle together, and a threshold of 0 keeps tensors apart', () => {
  // The first is found half a cycle late, with the one after it.
  const afterOf = exchangeOf('horovod', { 'cycle-ms': '3' }, group(8, 2)).messages.map(({ after }) => after);
  expect(afterOf).toEqual([1, 4, 7, 10, 11].map((position) => ({ pass: 'backward', position })));
  expect(exchangeOf('horovod', { 'fusion-mb': '0' }, group(8, 2)).messages).toHaveLength(gradients.length);
});

test('FSDP gathers at most two blocks ahead, and each before it is used', () => {
  const { messages } = exchangeOf('pytorch-fsdp', {}, group(4, 1));
  const forward = messages.filter(({ before }) => before.pass === 'forward');
  expect(forward.map(({ before }) => ('position' in before ? before.position : -1))).toEqual(
    Array.from({ length: layers }, (_, index) => index),
  );
  expect(forward[5]?.after).toEqual({ pass: 'forward', position: 3 });
});

test('FSDP gathers the root once, and lets no block wait for it: it is used at both ends of the model', () => {
  const ends = [
    { parameter: 'embed', readyAfter: layers + 1, usedFrom: 0 },
    { parameter: 'head', readyAfter: 0, usedFrom: layers + 1 },
  ].map((end, index): Gradient => ({ ...end, index: 2 * layers + index, elements: 10, bytes: bytes(40) }));
  const blocks = gradients.map((gradient) => ({
    ...gradient,
    readyAfter: gradient.readyAfter + 1,
    usedFrom: gradient.usedFrom + 1,
  }));
  const { behaviour } = resolveFramework({ name: 'pytorch-fsdp', options: {} });
  const workers = { ...group(4, 1), operators: layers + 2 };
  const { messages } = behaviour.exchange([...blocks, ...ends], workers, profiled);
  const isOfRoot = ({ gradients: own }: Message): boolean =>
    own.some(({ parameter }) => parameter === 'head');
  expect(messages.filter(isOfRoot).map(({ after, before }) => [after, before])).toEqual([
    [{ pass: 'start' }, { pass: 'forward', position: 0 }],
    [{ pass: 'backward', position: layers + 1 }, { pass: 'update' }],
  ]);
  const gathers = messages.filter(
    (message) =>
      !isOfRoot(message) && (message.before.pass === 'forward' || message.before.pass === 'backward'),
  );
  expect(gathers.slice(0, 4).map(({ after }) => after)).toEqual([
    { pass: 'start' },
    { pass: 'start' },
    { pass: 'forward', position: 1 },
    { pass: 'forward', position: 2 },
  ]);
  expect(gathers.slice(layers, layers + 4).map(({ after }) => after)).toEqual([
    { pass: 'forward', position: layers + 1 },
    { pass: 'forward', position: layers + 1 },
    { pass: 'backward', position: 1 },
    { pass: 'backward', position: 2 },
  ]);
});

test('a process of one node is not costed on two', () => {
  expect(resolveFramework({ name: 'pytorch-dp', options: {} }).oneNode).toBe(true);
});

test('10,000 gradients are turned into messages in one pass', () => {
  const many = Array.from(
    { length: 10_000 },
    (_, index): Gradient => ({
      parameter: `h.${index >> 3}.w${index % 8}`,
      index,
      elements: 1000 + (index % 7),
      bytes: bytes(4 * (1000 + (index % 7))),
      readyAfter: index,
      usedFrom: 9999 - index,
    }),
  );
  const workers = { ...group(64, 8), operators: 10_000 };
  for (const entry of frameworks) {
    let asked = 0;
    const counted: ProfiledStep = {
      ...profiled,
      backwardEnds: () => Float64Array.from({ length: 10_000 }, (_, position) => 1e-5 * position),
      backwardLaunches: () => Float64Array.from({ length: 10_000 }, (_, position) => 1e-5 * position),
      timeOf: (operation) => {
        asked += 1;
        return profiled.timeOf(operation);
      },
    };
    const { messages } = resolveFramework({ name: entry.name, options: {} }).behaviour.exchange(
      many,
      workers,
      counted,
    );
    expect(asked).toBeLessThan(100);
    expect(messages.length).toBeLessThanOrEqual(2 * many.length + 100);
  }
});

test('merges by the cost that is given, not by what a message takes', () => {
  const messagesBy = (options: Record<string, string>) =>
    exchangeOf('mg-wfbp', options, group(4, 2)).messages.length;
  expect(messagesBy({ 'startup-us': '0', 'ns-per-byte': '0' })).toBe(gradients.length);
  expect(messagesBy({ 'startup-us': '1e6' })).toBe(1);
});

test('a merged message has the type of its first gradient, where batch normalizations stay fp32', () => {
  const merged = { 'startup-us': '1e6', 'gradient-dtype': 'fp16' };
  const sizeOf = (options: Record<string, string>, first: boolean) => {
    const ofBatchNorm = gradients.map((gradient, index) => ({
      ...gradient,
      ofBatchNorm: (index === 0) === first,
    }));
    const { behaviour } = resolveFramework({ name: 'mg-wfbp', options });
    return behaviour.exchange(ofBatchNorm, group(4, 2), profiled).messages.map(({ bytes: size }) => size);
  };
  const kept = { ...merged, 'kept-fp32': 'batch-norm' };
  expect(sizeOf(kept, true)).toEqual([whole]);
  expect(sizeOf(kept, false)).toEqual([whole / 2]);
  expect(sizeOf(merged, true)).toEqual([whole / 2]);
});

describe('Horovod, where the host is 100 ms ahead', () => {
  const ahead: ProfiledStep = {
    ...profiled,
    backwardLaunches: () => backwardEnds().map((end) => end / 10 - 0.1),
  };
  const messagesOf = (options: Record<string, string>, step = ahead) =>
    resolveFramework({ name: 'horovod', options }).behaviour.exchange(gradients, group(8, 2), step).messages;
  const afterOf = ({ after }: Message) => (after.pass === 'backward' ? after.position : -1);

  test('sends together what the host has launched within a cycle', () => {
    // A tenth of a millisecond each: six layers until it is first found, the others in the next cycle.
    expect(messagesOf({}).map(afterOf)).toEqual([5, 11]);
    expect(messagesOf({ 'fusion-mb': '0' }).map(afterOf)).toEqual(
      gradients.map(({ readyAfter }) => readyAfter),
    );
  });

  test('sends together all that was launched while its thread waits', () => {
    const cycles = { 'cycle-ms': '0.25' };
    expect(messagesOf(cycles).length).toBeGreaterThan(2);
    expect(messagesOf({ ...cycles, 'waits-for-data': 'true' }).map(afterOf)).toEqual([1, 11]);
  });

  test('without a cache rank 0 gathers names, from more workers for longer', () => {
    const asked: Operation['kind'][] = [];
    const timeOf = (operation: Operation) => {
      asked.push(operation.kind);
      return profiled.timeOf(operation);
    };
    messagesOf({ cache: 'false' }, { ...ahead, timeOf });
    expect(asked).toContain('gather at rank 0');
  });
});

describe('ByteScheduler updates by one thread', () => {
  const updates = (options: Record<string, string>) =>
    exchangeOf('bytescheduler', options, group(4, 1)).messages.flatMap(({ stages }) =>
      stages.flatMap(({ channel, operation }) =>
        operation.kind === 'fixed' && channel.name === 'updating thread' ? [operation.time] : [],
      ),
    );
  test.each([{}, { patched: 'false' }, { 'partition-elements': '1000' }])(
    '%o: each parameter once',
    (options) => {
      const total = updates(options).reduce((sum, time) => sum + time, 0);
      expect(total).toBeCloseTo(gradients.length * (730e-6 + (gradients.length / 2) * 2.4e-6), 9);
    },
  );
  test('servers update without it', () => {
    expect(updates({ over: 'parameter-servers' })).toEqual([]);
  });
  test('without the patch it sends nothing during backward, and in one message what it hands over in a cycle', () => {
    const messagesOf = (partition: string) =>
      exchangeOf('bytescheduler', { patched: 'false', 'partition-elements': partition }, group(4, 1))
        .messages;
    for (const { after } of messagesOf('1000')) {
      expect(after).toEqual({ pass: 'backward', position: layers - 1 });
    }
    expect(messagesOf('1000000')).toHaveLength(1);
    const parts = gradients.reduce((sum, { elements }) => sum + Math.ceil(elements / 1000), 0);
    expect(messagesOf('1000')).toHaveLength(Math.ceil(parts / 50));
  });
});
