/** What of a ring's messages attention does not hide, by hand. */

import { expect, test } from 'vitest';
import { timeRings } from '../../../server/src/estimate/parallel/ringTimes.ts';
import { planStep } from '../../../server/src/estimate/plan/planStep.ts';
import { findCluster } from '../../../server/src/hardware/clusters.ts';
import { chain } from '../../support/trainingGraph.ts';

const cluster = findCluster('dgx-a100');
if (cluster?.link === undefined) throw new Error('no cluster');
const bandwidth = cluster.link.busBandwidth.value;

const plan = planStep(
  chain([{ class: 'matmul', type: 'MatMul', flops: 1e12, parameters: 1000, output: 1000 }]),
  {
    cluster: cluster.name,
    nodes: 1,
    gpus: 1,
    batchPerGpu: 1,
    dimensions: {},
    precision: 'fp32',
    optimizer: 'sgd',
    framework: { name: 'pytorch-ddp', options: {} },
    mode: 'training',
  },
  cluster,
);

const sent = (pass: 'forward' | 'backward', elements: number, ways: number) => {
  const send = { axis: 'context', operator: 0, pass, collective: 'send', elements } as const;
  const [timed] = timeRings([send], plan, [[0]], { ways, crossesNodes: false });
  return timed;
};

// 4 bytes an element; keys and values go to all others, in backward with their gradients, and these once more.
test.each([
  ['forward', 4, 3],
  ['backward', 4, 2 * 3 + 1],
  ['forward', 2, 1],
  ['backward', 8, 2 * 7 + 1],
] as const)('%s in a ring of %i: a byte more takes %i times as long as once', (pass, ways, times) => {
  const [some, more] = [1e10, 2e10].map((elements) => sent(pass, elements, ways)?.time ?? Number.NaN);
  expect((more ?? 0) - (some ?? 0)).toBeCloseTo((times * 4 * 1e10) / bandwidth, 6);
});

test('forward is hidden while attention takes longer, the way back of gradients is not', () => {
  expect(sent('forward', 1000, 4)?.time).toBe(0);
  expect(sent('backward', 1000, 4)?.time).toBeGreaterThan(0);
  expect(sent('backward', 1000, 4)?.time).toBeLessThan(sent('backward', 1000, 4)?.whole ?? 0);
});
