import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Operation } from '../../server/src/communication/operation.ts';
import { cudnnEraOptions } from '../../server/src/frameworks/cudnn/cudnnEra.ts';
import type {
  Exchange,
  Message,
  ProfiledStep,
  SyncPoint,
  WorkerGroup,
} from '../../server/src/frameworks/exchange.ts';
import type { Gradient } from '../../server/src/frameworks/gradient.ts';
import { eagerOptions } from '../../server/src/frameworks/pytorchDdp.ts';
import { frameworks, resolveFramework } from '../../server/src/frameworks/registry.ts';
import { precisions } from '../../server/src/model/scenario.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';

/** Of `messages.txt`, where the model is described. */
const gradient = (index: number, parameter: string, elements: number, usedFrom: number): Gradient => ({
  parameter,
  index,
  elements,
  bytes: bytes(4 * elements),
  readyAfter: 3 - usedFrom,
  usedFrom,
});
const gradients = [
  gradient(4, 'h', 8_192, 3),
  gradient(3, 'block.1.v', 253_952, 2),
  gradient(1, 'block.0.w', 2_500_000, 1),
  gradient(2, 'block.0.b', 65_536, 1),
  gradient(0, 'e', 3_988_064, 0),
];

/** `e` as a table of rows of 32 elements, of which 1,000 are looked up by the first operator and read by the second. */
const withTable = (isBag: boolean): readonly Gradient[] =>
  gradients.map((each) => (each.parameter === 'e' ? asTable(each, isBag) : each));

function asTable(each: Gradient, isBag: boolean): Gradient {
  const result = { elements: 32_000, isBag, from: 0, to: 1 };
  const table = {
    index: 0,
    rows: 124_627,
    width: 32,
    lookups: 1000,
    isSparse: false,
    operators: [0],
    result,
  };
  return { ...each, table };
}

/** Positions of backward end 1 ms after another; the host launches each at once; 50 µs and 1 GB/s for whatever is sent, but for passes of the host. */
const backwardEnds = () => Float64Array.of(1e-3, 2e-3, 3e-3, 4e-3);
const profiled: ProfiledStep = {
  backwardEnds,
  backwardLaunches: backwardEnds,
  batchPerGpu: () => 32,
  timeOf: (operation) => {
    const rate = operation.kind === 'host pass' ? operation.rate : 1e9;
    return seconds(50e-6 + ('bytes' in operation ? operation.bytes / rate : 0));
  },
};

const isInference = (words: readonly string[]): boolean => words.includes('inference');
const precisionOf = (words: readonly string[]): WorkerGroup['precision'] =>
  precisions.find((each) => words.includes(each)) ?? 'fp32';

/**
 * `pytorch-ddp,bucket-mb=50 4x2 bf16 inference`: framework and options, GPUs of how many nodes, what else is not as usual.
 * `unpooled`: rows of the table are not added before they are read.
 */
function exchangeOf(row: string): Exchange | undefined {
  const [choice = '', size = '', ...more] = row.split(' ');
  const [name = '', ...pairs] = choice.split(',');
  const [gpus = 0, nodes = 0] = size.split('x').map(Number);
  const group = { gpus, nodes, gpusPerNode: gpus / nodes, operators: 4, precision: precisionOf(more) };
  const options = Object.fromEntries(pairs.map((pair) => pair.split('=')));
  const { behaviour, issues } = resolveFramework({ name, options });
  expect(issues).toEqual([]);
  const { embeddings = 'as-written' } = options;
  const given = ['as-written', 'dense'].includes(embeddings)
    ? gradients
    : withTable(!more.includes('unpooled'));
  return isInference(more)
    ? behaviour.exchangeInInference?.(given, group)
    : behaviour.exchange(given, group, profiled);
}

/** Facts of the exchange, then each route with the messages that take it, in the order they are issued. */
function exchangeText(exchange: Exchange): string {
  const { messages, synchrony, update, hostWaits, shards, buffers, onHost } = exchange;
  const facts = [
    synchrony,
    `update ${update}`,
    ...(hostWaits === true ? ['host waits'] : []),
    ...(onHost?.gradients === true ? ['gradients on host'] : []),
    ...(onHost?.parameters === true ? ['parameters on host'] : []),
    `shards ${shards.parameters} ${shards.gradients} ${shards.optimizerState}`,
    `buffers ${round(buffers)}`,
  ];
  const lines = [`  ${facts.join('; ')}`];
  let route = '';
  let last = '';
  for (const message of messages) {
    const taken = routeText(message);
    if (taken !== route) lines.push(`  ${taken}`);
    const text = messageText(message);
    if (text === last && taken === route)
      lines.push(`${lines.pop()?.replace(/ ×(\d+)$|$/, (_, count) => ` ×${Number(count ?? 1) + 1}`)}`);
    else lines.push(`    ${text}`);
    [route, last] = [taken, text];
  }
  return lines.join('\n');
}

function messageText(message: Message): string {
  const facts = [
    message.gradients.map(({ parameter }) => parameter.slice(-1)).join('') || 'nothing',
    round(message.bytes),
    `${pointText(message.after)} → ${pointText(message.before)}`,
    ...(message.priority === undefined ? [] : [`priority ${message.priority}`]),
    ...(message.stepsLater === undefined ? [] : [`${message.stepsLater} step later`]),
    ...(message.everySteps === undefined ? [] : [`every ${message.everySteps} steps`]),
  ];
  return facts.join(' ');
}

/** A channel by priority has `^`, one that runs kernels `*`. */
function routeText(message: Message): string {
  const stages = message.stages.map(({ channel, operation }) => {
    const traits = [channel.order === 'by priority' ? '^' : '', channel.runsKernels === true ? '*' : ''];
    return `${channel.name}${traits.join('')}: ${operationText(operation, message.bytes)}`;
  });
  return stages.join(' | ');
}

const pointText = (point: SyncPoint): string =>
  'position' in point ? `${point.pass} ${point.position}` : point.pass;

/** Its bytes are a factor of those of its message, left out where it is 1. */
function operationText(operation: Operation, whole: number): string {
  const factor = 'bytes' in operation ? operation.bytes / whole : 1;
  const ofBytes = factor === 1 ? '' : ` ×${round(factor)}`;
  switch (operation.kind) {
    case 'collective': {
      const { collective, over, library, algorithm, inHostMemory } = operation;
      const how = [library, algorithm, inHostMemory === true ? 'in host memory' : undefined];
      return `${collective}${ofBytes} ${[over, ...how.filter((word) => word !== undefined)].join(', ')}`;
    }
    case 'server': {
      const { way, servers, busiestShare, colocated, senders } = operation;
      const where = colocated ? 'colocated' : 'apart';
      return `${way}${ofBytes} ${senders}, ${servers} ${where}, busiest ${round(busiestShare)}`;
    }
    case 'copy':
      return `copy ${operation.way}${ofBytes} sharing ${operation.sharing}`;
    case 'gather at rank 0':
      return `gather${ofBytes}`;
    case 'host pass':
      return `${operation.what}${ofBytes} at ${operation.rate / 1e9} GB/s`;
    case 'fixed':
      return `${operation.isWork === true ? 'work' : 'start-up'} ${round(1e6 * operation.time)} µs`;
  }
}

const round = (value: number): string => String(Number(value.toPrecision(9)));

/** A header at the margin, what is expected below it; lines that begin with # say why. */
const table = readFileSync(new URL('messages.txt', import.meta.url), 'utf8')
  .split(/\n(?=[a-z])/)
  .flatMap((block) => {
    const [row = '', ...lines] = block.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return row === '' ? [] : [[row, lines.join('\n')] as const];
  });

test.each(table)('%s', (row, expected) => {
  const exchange = exchangeOf(row);
  expect(exchange === undefined ? '  none' : exchangeText(exchange)).toBe(expected);
});

test('every framework has a row, and every option of its own and each value that it lists, but those of its kernels', () => {
  const ofKernels = new Set([...eagerOptions, ...cudnnEraOptions].map(({ name }) => name));
  const choices = table.map(([row]) => row.split(' ')[0]?.split(',') ?? []);
  const missing = frameworks.flatMap(({ name, options }) => {
    const own = choices.filter(([framework]) => framework === name);
    const wanted = options
      .filter((option) => !ofKernels.has(option.name) && !inputOptions.has(option.name))
      .flatMap((option) => {
        const values = option.expects.choices?.filter((value) => value !== option.default);
        return values?.map((value) => `${option.name}=${value}`) ?? [`${option.name}=`];
      });
    return [
      ...(own.length === 0 ? [name] : []),
      ...wanted
        .filter((start) => !own.some((pairs) => pairs.some((pair) => isOf(pair, start))))
        .map((start) => `${name},${start}`),
    ];
  });
  expect(missing).toEqual([]);
});

/** `start` is an option with a value, or with any. */
const isOf = (pair: string, start: string): boolean =>
  start.endsWith('=') ? pair.startsWith(start) : pair === start;

/** Of CNTK: how it reads, not what it sends. */
const inputOptions = new Set(['distributed-reading', 'reader']);
