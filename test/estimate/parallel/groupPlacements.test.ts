/** Where GPUs of a layout lie on nodes of eight: counted by hand, tensor parallelism on neighbours, stages farthest apart. */

import { expect, test } from 'vitest';
import { placeLayout } from '../../../server/src/estimate/parallel/groupPlacements.ts';
import { findCluster } from '../../../server/src/hardware/clusters.ts';

const one = { tensor: 1, sequence: false, context: 1, pipeline: 1, expert: 1 };
type Degrees = Partial<typeof one>;
const placed = (degrees: Degrees, gpus: number) =>
  placeLayout(findCluster('dgx-a100') ?? expect.fail('no cluster'), { ...one, ...degrees }, gpus);
/** Nodes, and GPUs on each. */
const group = ({ nodes, gpusPerNode }: { readonly nodes: number; readonly gpusPerNode: number }) => [
  nodes,
  gpusPerNode,
];

test.each<[Degrees, number, Record<'replicas' | 'tensor' | 'context' | 'data', number | readonly number[]>]>([
  [{}, 16, { replicas: 16, tensor: [1, 1], context: [1, 1], data: [2, 8] }],
  [{ tensor: 4 }, 16, { replicas: 4, tensor: [1, 4], context: [1, 1], data: [2, 2] }],
  // All GPUs of a node share a layer: copies lie on nodes of their own.
  [{ tensor: 8 }, 32, { replicas: 4, tensor: [1, 8], context: [1, 1], data: [4, 1] }],
  [{ tensor: 16 }, 32, { replicas: 2, tensor: [2, 8], context: [1, 1], data: [2, 1] }],
  // Ranks 0, 4, 8 and 12 share a sequence.
  [{ tensor: 4, context: 4 }, 32, { replicas: 2, tensor: [1, 4], context: [2, 2], data: [4, 2] }],
  [{ tensor: 2, pipeline: 4 }, 32, { replicas: 4, tensor: [1, 2], context: [1, 1], data: [1, 4] }],
  // Three GPUs a layer leave room for two groups on a node.
  [{ tensor: 3 }, 24, { replicas: 8, tensor: [1, 3], context: [1, 1], data: [4, 2] }],
])('%j over %i GPUs', (degrees, gpus, expected) => {
  const { replicas, tensorGroup, contextGroup, dataGroup } = placed(degrees, gpus);
  expect({
    replicas,
    tensor: group(tensorGroup),
    context: group(contextGroup),
    data: group(dataGroup),
  }).toEqual(expected);
});

test.each<[Degrees, number, readonly boolean[]]>([
  // One rank sends to nobody.
  [{ tensor: 8 }, 8, []],
  [{ pipeline: 4 }, 4, [false, false, false, false]],
  // Stages of four: the first two on one node, the others on the next.
  [{ tensor: 4, pipeline: 4 }, 16, [false, true, false, true]],
  [{ tensor: 8, pipeline: 2 }, 16, [true, true]],
  [{ tensor: 16, pipeline: 2 }, 32, [true, true]],
  // Stages of three: 0 to 2 and 3 to 5 on one node; 6 to 8 on two.
  [{ tensor: 3, pipeline: 3 }, 9, [false, true, true]],
])('%j over %i GPUs: ranks that send to other nodes', (degrees, gpus, crosses) => {
  expect(placed(degrees, gpus).crossesNodes).toEqual(crosses);
});

test.each<[Degrees, number, readonly number[]]>([
  [{ expert: 8 }, 16, [1, 8]],
  [{ expert: 16 }, 16, [2, 8]],
])('%j over %i GPUs: experts on neighbours', (degrees, gpus, expected) => {
  expect(group(placed(degrees, gpus).expertGroup)).toEqual(expected);
});
