/**
 * PyTorch with DataParallel: one process, the first GPU hands out parameters and samples and takes gradients.
 *
 * Each step replicates all parameters from the first GPU before forward, and adds the gradients of all replicas there
 * after backward: the backward of the broadcast runs once all of its gradients are there, so nothing of it overlaps
 * (torch/nn/parallel/data_parallel.py, replicate.py and _functions.py, Broadcast.backward). The first GPU scatters
 * samples, gathers outputs and runs the optimizer by itself. Kernels of all GPUs are launched by threads of one process
 * that share the interpreter, which is not modelled.
 */

import { bytes, sum } from '../model/units.ts';
import { backwardEnd, type Channel, forwardAt, type Message, noExchange, theUpdate } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';

export const pytorchDp: FrameworkEntry = {
  name: 'pytorch-dp',
  documentation: 'PyTorch DataParallel: one process, parameters and gradients through the first GPU',
  trainsIn: 'half',
  overlaps:
    'input: read and decoded ahead, copied before forward; gradients: after backward; parameters: before forward; update: after all',
  sources: [
    'torch/nn/parallel/data_parallel.py, replicate.py, _functions.py, PyTorch 2.x',
    'PyTorch documentation of DataParallel, which recommends DistributedDataParallel',
  ],
  options: eagerOptions,
  oneNode: true,
  create: (options) => ({
    ...eagerPytorch(options),
    name: 'pytorch-dp',
    input: { ahead: 'reading', pipelined: true, reads: 'own share' },
    exchange: (gradients, group) => {
      if (group.gpus === 1) return noExchange;
      const size = sum(gradients.map((gradient) => gradient.bytes));
      const through = (collective: 'broadcast' | 'reduce'): Message['stages'] => [
        { channel: firstGpu, operation: { kind: 'collective', collective, bytes: size, over: 'node' } },
      ];
      return {
        ...noExchange,
        messages: [
          {
            gradients,
            bytes: size,
            after: theUpdate,
            before: forwardAt(0),
            stages: through('broadcast'),
          },
          {
            gradients,
            bytes: size,
            after: backwardEnd(group),
            before: theUpdate,
            stages: through('reduce'),
          },
        ],
        buffers: bytes(2 * size),
      };
    },
    notes: ['DataParallel: parameters from the first GPU before forward, gradients back after backward'],
  }),
};

const firstGpu: Channel = { name: 'links of the first GPU', order: 'first come' };
