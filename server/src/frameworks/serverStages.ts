/**
 * The way of a gradient through parameter servers as BytePS lays it: the GPUs of a node add theirs, each copies its
 * share to the host, the node pushes and pulls, and the way back is the same (bytedance/byteps, docs/architecture.md).
 */

import { bytes } from '../model/units.ts';
import type { Channel, WorkerGroup } from './exchange.ts';
import type { StagesOf } from './partitions.ts';
import type { ServerChoice } from './serverChoice.ts';

const inside: Channel = { name: 'NCCL stream, inside nodes', order: 'by priority', runsKernels: true };
const down: Channel = { name: 'copies to host', order: 'by priority' };
const network: Channel = { name: 'network', order: 'by priority' };
const up: Channel = { name: 'copies to GPU', order: 'by priority' };

export function serverStages(
  group: WorkerGroup,
  { servers, colocated, busiestShare }: ServerChoice,
): StagesOf {
  const { nodes, gpusPerNode } = group;
  const crosses = nodes > 1 || !colocated;
  return (size) => {
    const share = bytes(size / gpusPerNode);
    const node = { kind: 'collective', bytes: size, over: 'node' } as const;
    const copy = { kind: 'copy', bytes: share, sharing: gpusPerNode } as const;
    return [
      ...(gpusPerNode > 1
        ? [{ channel: inside, operation: { ...node, collective: 'reduce-scatter' } as const }]
        : []),
      ...(crosses
        ? [
            { channel: down, operation: { ...copy, way: 'to host' } as const },
            {
              channel: network,
              operation: {
                kind: 'server',
                way: 'push and pull',
                bytes: size,
                servers,
                colocated,
                busiestShare,
                senders: 'nodes',
                library: 'ps-lite',
              } as const,
            },
            { channel: up, operation: { ...copy, way: 'to GPU' } as const },
          ]
        : []),
      ...(gpusPerNode > 1
        ? [{ channel: inside, operation: { ...node, collective: 'all-gather' } as const }]
        : []),
    ];
  };
}
