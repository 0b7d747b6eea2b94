/** Names as `torch.cuda.get_device_name` gives them, and memory as `total_memory` does. */

import { expect, it } from 'vitest';
import { gpuOfDevice } from '../../server/src/hardware/gpuOfDevice.ts';

const gib = 2 ** 30;

it.each([
  ['NVIDIA A100-SXM4-40GB', 39.4, 'a100-sxm-40gb'],
  ['NVIDIA A100-SXM4-80GB', 79.2, 'a100-sxm-80gb'],
  ['NVIDIA A100 80GB PCIe', 79.2, 'a100-pcie-80gb'],
  ['A100-PCIE-40GB', 39.4, 'a100-pcie-40gb'],
  ['NVIDIA H100 80GB HBM3', 79.1, 'h100-sxm'],
  ['NVIDIA H100 PCIe', 79.1, 'h100-pcie'],
  ['NVIDIA H200', 139.8, 'h200-sxm'],
  ['NVIDIA B200', 178.4, 'b200'],
  ['Tesla V100-SXM2-16GB', 15.8, 'v100-sxm2-16gb'],
  ['Tesla V100-PCIE-32GB', 31.7, 'v100-pcie-32gb'],
  ['Tesla T4', 14.6, 't4'],
  ['Tesla P100-SXM2-16GB', 15.9, 'p100-sxm2'],
  ['NVIDIA GeForce RTX 3090', 23.7, 'rtx-3090'],
  ['NVIDIA GeForce GTX 1080 Ti', 10.9, 'gtx-1080-ti'],
  ['NVIDIA RTX A6000', 47.5, 'rtx-a6000'],
  ['NVIDIA RTX 6000 Ada Generation', 47.5, 'rtx-6000-ada'],
  ['Quadro RTX 8000', 47.5, 'rtx-8000'],
  ['NVIDIA TITAN V', 11.8, 'titan-v'],
  ['NVIDIA A10G', 22.1, 'a10g'],
  ['NVIDIA L4', 22.2, 'l4'],
  ['NVIDIA L40S', 44.5, 'l40s'],
  ['NVIDIA L40', 44.5, 'l40'],
  ['NVIDIA A30', 23.5, 'a30'],
  ['NVIDIA A2', 14.6, 'a2'],
  ['NVIDIA H100 NVL', 93.1, 'h100-nvl'],
  ['AMD Instinct MI300X', 191.7, 'mi300x'],
])('%s of %d GiB is %s', (name, memory, gpu) => {
  expect(gpuOfDevice(name, memory * gib)?.name).toBe(gpu);
});

it.each([
  ['NVIDIA H100 80GB HBM3', 'h100-sxm'],
  ['Tesla V100-SXM2-16GB', 'v100-sxm2-16gb'],
])('%s tells its memory by its name', (name, gpu) => expect(gpuOfDevice(name, undefined)?.name).toBe(gpu));

it.each([
  ['NVIDIA GeForce RTX 2060', 5.8],
  // A part of a GPU, as MIG gives it.
  ['NVIDIA A100-SXM4-80GB MIG 1g.10gb', 9.5],
  ['NVIDIA A100-SXM4-80GB', 9.5],
  // Neither name nor memory say which board.
  ['A100', 79.2],
])('%s of %d GiB is not known', (name, memory) => {
  expect(gpuOfDevice(name, memory * gib)).toBeUndefined();
});
