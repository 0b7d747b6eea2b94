/** Messages by hand with their routes, channels, times and shares of the update. */

import { describe, expect, test } from 'vitest';
import type { EmbeddingTable } from '../../../server/src/analysis/embeddingTables.ts';
import type { ServerOperation } from '../../../server/src/communication/operation.ts';
import { operationTime } from '../../../server/src/communication/operationTime.ts';
import { timeTraffic } from '../../../server/src/estimate/plan/plannedTraffic.ts';
import {
  backwardAt,
  type Channel,
  type Exchange,
  forwardAt,
  type Message,
  noExchange,
  stepStart,
  theUpdate,
} from '../../../server/src/frameworks/exchange.ts';
import type { Gradient } from '../../../server/src/frameworks/gradient.ts';
import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../../server/src/hardware/clusters.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { chain } from '../../support/trainingGraph.ts';

const nccl: Channel = { name: 'NCCL stream', order: 'first come', runsKernels: true };
const network: Channel = { name: 'network', order: 'by priority' };

const clusterOf = (name: string): ClusterProfile => findCluster(name) ?? expect.fail(`no ${name}`);
const waiting = (channel: Channel, time: number) => ({
  channel,
  operation: { kind: 'fixed', time: seconds(time), what: 'a wait' } as const,
});
const gradient = (index: number, table?: EmbeddingTable): Gradient => ({
  parameter: `layer${index}.weight`,
  index,
  elements: 1,
  bytes: bytes(4),
  readyAfter: 0,
  usedFrom: index,
  ...(table === undefined ? {} : { table }),
});
const message = (of: Partial<Message>): Message => ({
  gradients: [],
  bytes: bytes(8),
  after: stepStart,
  before: theUpdate,
  stages: [],
  ...of,
});

const placement = { nodes: 2, gpusPerNode: 8 };
/** Of layers with 100, 300 and 600 parameters. */
const trafficOf = (
  messages: readonly Message[],
  exchange: Partial<Exchange> = {},
  cluster = clusterOf('dgx-a100'),
) =>
  timeTraffic(
    { ...noExchange, ...exchange, messages },
    cluster,
    placement,
    chain([{ parameters: 100 }, { parameters: 300 }, { parameters: 600 }]),
  );

describe('routes', () => {
  const [twice, once] = [[waiting(nccl, 4), waiting(network, 6)], [waiting(network, 10)]];
  const messages = [
    message({ stages: twice, gradients: [gradient(0), gradient(1)] }),
    message({ stages: once, everySteps: 4 }),
    message({ stages: twice }),
    message({ stages: once, everySteps: 2, gradients: [gradient(2)] }),
    message({ stages: twice, gradients: [gradient(2)] }),
  ];

  test('count messages by their stages, those with gradients, and those of one step', () => {
    const { routes, channels } = trafficOf(messages);
    expect(
      routes.map(({ stages, messages: count, withGradients, perStep }) => [
        stages,
        count,
        withGradients,
        perStep,
      ]),
    ).toEqual([
      [twice, 3, 2, 3],
      // A quarter and a half of a message in each step.
      [once, 2, 1, 0.75],
    ]);
    expect(channels).toEqual([nccl, network]);
  });

  test('a message bears the time of its stages, over the steps that it is sent in', () => {
    const traffic = trafficOf(messages);
    expect(traffic.stages.map((stages) => stages.map(({ time }) => time))).toEqual([
      [4, 6],
      [10],
      [4, 6],
      [10],
      [4, 6],
    ]);
    const columns = traffic.messages('middle');
    expect([...columns.time]).toEqual([4, 6, 2.5, 4, 6, 5, 4, 6]);
    expect([...columns.channel]).toEqual([0, 1, 1, 0, 1, 1, 0, 1]);
    expect([...columns.messageOf]).toEqual([0, 0, 1, 2, 2, 3, 4, 4, -1]);
    // A wait that is known may be none, and is no longer than it is.
    expect([...traffic.messages('low').time]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect([...traffic.messages('high').time]).toEqual([...columns.time]);
  });

  test('nothing is sent through nothing', () => {
    const traffic = trafficOf([]);
    expect(traffic.channels).toEqual([]);
    expect(traffic.routes).toEqual([]);
    expect(traffic.messages('middle').count).toBe(0);
    expect(traffic.slowing).toEqual({ middle: [], low: [], high: [] });
  });
});

test('kernels slow those beside them where they run on a GPU, and copies do not', () => {
  const messages = [message({ stages: [waiting(network, 1), waiting(nccl, 1)] })];
  expect(trafficOf(messages).slowing).toEqual({ middle: [0, 0.35], low: [0, 0.189], high: [0, 0.75] });
  const onHosts = trafficOf(messages, {}, clusterOf('cpu-10gbe'));
  expect(onHosts.slowing).toEqual({ middle: [0, 0], low: [0, 0], high: [0, 0] });
});

test('an operation takes the time of its group, or of all workers', () => {
  const cluster = clusterOf('dgx-a100');
  const operation = { kind: 'collective', collective: 'all-reduce', bytes: bytes(1e9), over: 'all' } as const;
  const group = { nodes: 1, gpusPerNode: 2 };
  const { stages } = trafficOf([
    message({ stages: [{ channel: nccl, operation }] }),
    // Written alike, in another group.
    message({ stages: [{ channel: nccl, operation: { ...operation }, group }] }),
  ]);
  expect(stages).toEqual([
    [operationTime(cluster, placement, operation)],
    [operationTime(cluster, group, operation)],
  ]);
  expect(stages[0]?.[0]?.time).not.toBe(stages[1]?.[0]?.time);
});

test('asynchronous workers have servers to themselves, which are busy for a part of each step', () => {
  const cluster = clusterOf('k80-10gbe');
  const operation: ServerOperation = {
    kind: 'server',
    way: 'push and pull',
    bytes: bytes(1e9),
    servers: 1,
    busiestShare: 1,
    colocated: false,
    senders: 'nodes',
  };
  const stages = [
    { channel: network, operation },
    { channel: network, operation: { ...operation, bytes: bytes(5e8) } },
  ];
  const messages = [message({ stages }), message({ stages, everySteps: 4 })];
  for (const synchrony of ['synchronous', 'asynchronous'] as const) {
    const traffic = trafficOf(messages, { synchrony }, cluster);
    const times = stages.map((stage) =>
      operationTime(cluster, placement, stage.operation, synchrony === 'synchronous'),
    );
    expect(traffic.stages).toEqual([times, times]);
    const busy = times.reduce((total, { serverTime }) => total + serverTime, 0);
    expect(busy).toBeGreaterThan(0);
    expect(traffic.serverTimes).toEqual([busy, busy / 4]);
  }
});

test('points of a step are counted through forward, backward and the update', () => {
  // Three operators: forward 0 to 2, backward 3 to 5, the update 6.
  const points = [stepStart, forwardAt(0), forwardAt(2), backwardAt(0), backwardAt(2), theUpdate];
  const { messages } = trafficOf(points.map((after) => message({ after })));
  expect([...messages('middle').after]).toEqual([-1, 0, 2, 3, 5, 6]);
  const waits = trafficOf(points.map((before) => message({ before })));
  expect([...waits.messages('middle').before]).toEqual([-1, 0, 2, 3, 5, 6]);
});

test('what waits may be of a later step, and lower priorities go first', () => {
  const columns = trafficOf([
    message({ priority: 5 }),
    message({ stepsLater: 1 }),
    message({ priority: -3, stepsLater: 2 }),
  ]).messages('middle');
  expect([...columns.stepsLater]).toEqual([0, 1, 2]);
  expect([...columns.rank]).toEqual([2, 1, 0]);
});

describe('shares of the update', () => {
  const shares = (messages: readonly Message[], update: Exchange['update'] = 'as they arrive') => {
    const columns = trafficOf(messages, { update }).messages('middle');
    return [
      [...columns.updateShare].map((share) => Number(share.toFixed(12))),
      [...columns.launchShare].map((share) => Number(share.toFixed(12))),
    ];
  };
  const [first, second] = [
    message({ gradients: [gradient(2), gradient(1)] }),
    message({ gradients: [gradient(0)] }),
  ];

  test('are by elements, and launches by parameters', () => {
    // 300 and 600 of 1,000 elements, two of three parameters; then 100 and one.
    expect(shares([first, second])).toEqual([
      [0.9, 0.1],
      [0.666666666667, 0.333333333333],
    ]);
  });

  test.each(['after all', 'at servers'] as const)('none where the update is %s', (update) => {
    expect(shares([first, second], update)).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  test('a parameter in parts is updated with its last, and one that nothing carries with no message', () => {
    const part = message({ gradients: [gradient(2)] });
    expect(shares([part, part, part, second])).toEqual([
      [0, 0, 0.6, 0.1],
      [0, 0, 0.333333333333, 0.333333333333],
    ]);
  });

  test('of a table the rows that arrive count', () => {
    // 20 lookups of 10 numbers in the place of 600: 200 of 600 elements.
    const table: EmbeddingTable = {
      ...{ index: 2, rows: 60, width: 10, lookups: 20, isSparse: true },
      ...{ operators: [2], result: { elements: 60, isBag: false, from: 2, to: 2 } },
    };
    const [updated] = shares([message({ gradients: [gradient(2, table)] }), first, second]);
    expect(updated).toEqual([0, 0.833333333333, 0.166666666667]);
  });

  test('a model without elements has nothing to share', () => {
    const { messages } = timeTraffic(
      { ...noExchange, update: 'as they arrive', messages: [message({ gradients: [gradient(0)] })] },
      clusterOf('dgx-a100'),
      placement,
      { ...chain([{}]), analysis: { ...chain([{}]).analysis, parameters: [emptyParameter] } },
    );
    expect([...messages('middle').updateShare]).toEqual([0]);
  });
});

const emptyParameter = { name: 'none', elements: 0, elementType: 'float32', operators: [0] } as const;
