import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sourcedNumbers } from '../../server/src/hardware/clusterProfile.ts';
import { builtInClusters, findCluster } from '../../server/src/hardware/clusters.ts';
import { builtInGpus } from '../../server/src/hardware/gpus.ts';
import { clusterFile, gpuFile } from '../../server/src/hardware/profileSchema.ts';

const profiles = resolve(import.meta.dirname, '../../server/src/hardware/profiles');
const filesIn = (folder: string) =>
  readdirSync(join(profiles, folder)).map((name) => [name, join(profiles, folder, name)] as const);
const contentOf = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

/** Lanes of fp32 in a multiprocessor: CUDA C++ programming guide, arithmetic instructions; AMD's CDNA 1 to 3; AVX2 and AVX-512. */
function lanesOf(name: string, architecture: string): number {
  if (name.startsWith('cpu-')) return name.includes('gold') ? 32 : 16;
  if (/^(p100|a100|a800|a30)/.test(name)) return 64;
  const lanes: Readonly<Record<string, number>> = { kepler: 192, volta: 64, turing: 64, cdna: 64, cdna2: 64 };
  return lanes[architecture] ?? 128;
}

describe('built-in profiles', () => {
  // Nothing checks them at start, so that this test is what keeps them well-formed.
  test.each(filesIn('gpus'))('%s is a GPU by the schema, and built in', (_, path) => {
    const { data, error } = gpuFile.safeParse(contentOf(path));
    expect(error?.issues).toBeUndefined();
    expect(builtInGpus.map(({ name }) => name)).toContain(data?.name);
  });

  test.each(filesIn('clusters'))('%s is a cluster by the schema, and built in', (_, path) => {
    const { data, error } = clusterFile.safeParse(contentOf(path));
    expect(error?.issues).toBeUndefined();
    expect(findCluster(data?.name ?? '')).toMatchObject({ gpu: { name: data?.gpu } });
  });

  test.each(builtInClusters.map((cluster) => [cluster.name, cluster] as const))(
    '%s: every number is positive and says where it comes from',
    (_, cluster) => {
      for (const { name, number } of sourcedNumbers(cluster)) {
        expect(number.value, name).toBeGreaterThan(0);
        // A source names a document or measurement; a bare key would mean that `sources` lacks it.
        expect(number.source.length, `${name}: ${number.source}`).toBeGreaterThan(12);
      }
    },
  );

  test.each([...filesIn('gpus'), ...filesIn('clusters')])(
    '%s: every source can be looked up, or says that it cannot',
    (_, path) => {
      const { sources = {} } = clusterFile.pick({ sources: true }).loose().parse(contentOf(path));
      for (const [key, source] of Object.entries(sources)) {
        expect(source, key).toMatch(/https:\/\/|^(driver \(|derived: |assumption: |unconfirmed: )/);
      }
    },
  );

  test.each(builtInGpus.map((gpu) => [gpu.name, gpu] as const))(
    '%s: the fp32 peak is what its lanes do at its clock',
    (_, { multiprocessors, clock, peak, architecture, name }) => {
      const lanes = lanesOf(name, architecture);
      const atClock = multiprocessors.value * lanes * 2 * (clock?.value ?? 0);
      const ratio = (peak.get('fp32')?.value ?? 0) / atClock;
      // Vendors round to a tenth of a TFLOP/s.
      expect(ratio).toBeGreaterThan(0.98);
      expect(ratio).toBeLessThan(1.02);
    },
  );

  test('names are unique and in the form of command-line names', () => {
    const names = builtInClusters.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(findCluster(name.replaceAll('-', ''))?.name).toBe(name);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9.]+)*$/);
  });

  test.each([
    'k80-10gbe',
    'dgx-1-v100',
    'dgx-a100',
    'dgx-h100',
    'dgx-h200',
    'dgx-b200',
    'nd-h100-v5',
    'nd-mi300x-v5',
    'g4dn-12xlarge',
    'rtx-4090-workstation',
    'rtx-3090-workstation',
    'v100-infiniband',
    'p40-infiniband',
    'dgx-1-p100',
    'dgx-2',
    'gb200-nvl72',
    'p2-8xlarge',
    'p3-16xlarge',
    'p4d-24xlarge',
    'p5-48xlarge',
    'g5-48xlarge',
    'a2-highgpu-8g',
    'a3-highgpu-8g',
    'blue-waters-xk',
    'cpu-1gbe',
    'cpu-10gbe',
    'k80',
    'p100-sxm2',
    'v100-sxm2-16gb',
    'v100-sxm2-32gb',
    't4',
    'a100-sxm-40gb',
    'a100-sxm-80gb',
    'h100-sxm',
    'h100-sxm-96gb',
    'h200-sxm',
    'rtx-3090',
    'rtx-4090',
  ])('%s is built in', (name) => {
    expect(findCluster(name)?.name).toBe(name);
    expect(findCluster(name.toUpperCase())?.name).toBe(name);
  });

  test.each([
    ['p4d.24xlarge', 'p4d-24xlarge'],
    ['g4dn.12xlarge', 'g4dn-12xlarge'],
    ['DGX A100', 'dgx-a100'],
    ['dgx_h200', 'dgx-h200'],
    ['p5en.48xlarge', 'p5en-48xlarge'],
    ['BM.GPU.H100.8', 'bm-gpu-h100-8'],
    ['BM.GPU.A100-v2.8', 'bm-gpu-a100-v2-8'],
    ['g2-standard-96', 'g2-standard-96'],
    ['A100-SXM-80GB', 'a100-sxm-80gb'],
    ['', undefined],
    ['dgx', undefined],
  ])('%j finds %s', (written, name) => {
    expect(findCluster(written)?.name).toBe(name);
  });

  test.each([
    ['a100-sxm-80gb', 'fp16', 312e12],
    ['a100-sxm-80gb', 'fp32', 19.5e12],
    ['a100-sxm-80gb', 'tf32', 156e12],
    ['h100-sxm', 'bf16', 989.4e12],
    ['h100-sxm', 'fp8', 1978.9e12],
    ['v100-sxm2-16gb', 'fp16', 125e12],
    ['v100-sxm2-16gb', 'bf16', undefined],
    ['rtx-3090', 'fp16', 71e12],
    ['k80', 'fp16', undefined],
  ] as const)('%s: dense %s peak', (name, dtype, peak) => {
    const value = findCluster(name)?.gpu.peak.get(dtype)?.value;
    if (peak === undefined) expect(value).toBeUndefined();
    else expect(value).toBeCloseTo(peak, -8);
  });

  test('bus bandwidth never exceeds what the links move', () => {
    // NVLink per direction and GPU: 150 GB/s (V100), 300 (A100), 450 (H100); NVLink SHARP reduces in the switch
    // and may pass it.
    const limits = new Map([
      ['dgx-1-v100', 150],
      ['dgx-a100', 300],
      ['dgx-h100', 900],
      ['dgx-h200', 900],
      ['k80-10gbe', 16],
      ['g4dn-12xlarge', 16],
      ['rtx-4090-workstation', 32],
    ]);
    for (const [name, limit] of limits) {
      expect(findCluster(name)?.link?.busBandwidth.value, name).toBeLessThanOrEqual(limit * 1e9);
    }
    for (const { network, name } of builtInClusters) {
      if (network === undefined) continue;
      const nominal = network.nics.value * network.portBandwidth.value;
      expect(network.nodeBandwidth.value, name).toBeLessThanOrEqual(nominal);
    }
  });

  test('an unknown name gives nothing', () => {
    expect(findCluster('dgx-z9')).toBeUndefined();
  });
});
