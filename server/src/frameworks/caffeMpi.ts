/**
 * Caffe-MPI 2.0 on NVCaffe: the gradients of each layer all-reduced by NCCL 2 while backward goes on.
 *
 * Each process reads its own share and NVCaffe parses and transforms it in threads of its own, so that input is hidden
 * (Caffe-MPI 2.0 README). NVCaffe back-propagates and reduces in parallel, layer by layer, and updates what has been
 * reduced (NVIDIA/caffe, src/caffe/net.cpp, ReduceAndUpdate). Between nodes the reduction is hierarchical: the GPUs of a
 * node first, so that each node sends once.
 */

import { bytes } from '../model/units.ts';
import { cudnnEra, cudnnEraNote, cudnnEraOptions } from './cudnn/cudnnEra.ts';
import { noExchange } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import { oneOf } from './options.ts';
import { allReduceEach, packLayers } from './packBuckets.ts';

export const caffeMpi: FrameworkEntry = {
  name: 'caffe-mpi',
  documentation: 'Caffe-MPI 2.0: gradients all-reduced layer by layer during backward, by NCCL 2',
  overlaps:
    'input: read, decoded and copied ahead; gradients: by layer, during backward; update: as they arrive',
  sources: [
    'Caffe-MPI 2.0 README (Inspur)',
    'NVIDIA/caffe, src/caffe/net.cpp (ReduceAndUpdate)',
    'Shi, Wang, Chu, arXiv 1711.05979, case of wait-free backpropagation',
  ],
  options: [
    {
      name: 'hierarchical',
      default: 'true',
      documentation:
        'true: the GPUs of a node add their gradients before the nodes do; false: one ring of all',
      expects: oneOf('true', 'false'),
    },
    ...cudnnEraOptions,
  ],
  create: (options) => ({
    ...cudnnEra(options),
    name: 'caffe-mpi',
    exchange: (gradients, { gpus, nodes }) => {
      if (gpus === 1) return noExchange;
      const isHierarchical = nodes > 1 && options.get('hierarchical') === 'true';
      return {
        ...noExchange,
        messages: allReduceEach(packLayers(gradients), isHierarchical ? { algorithm: 'two-level ring' } : {}),
        update: 'as they arrive',
        buffers: bytes(0),
      };
    },
    notes: ['Caffe-MPI 2.0: one all-reduce for each layer, during backward', cudnnEraNote],
  }),
};
