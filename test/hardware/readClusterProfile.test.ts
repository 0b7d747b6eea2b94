import { describe, expect, test } from 'vitest';
import { readClusterProfile } from '../../server/src/hardware/readClusterProfile.ts';

const whole = `{
  "name": "our-rack",
  "gpu": "a100-pcie-80gb",
  "gpusPerNode": 4,
  "link": { "kind": "pcie", "busBandwidthGBs": { "value": 18, "source": "our nccl-tests of 3 May" } },
  "network": { "kind": "ethernet", "nics": 2, "linkGbits": 25 }
}`;

describe('a cluster profile of one’s own', () => {
  test('is read into base units, with what is left out filled in', () => {
    const { cluster, issues } = readClusterProfile(whole);
    expect(issues).toEqual([]);
    expect(cluster?.gpu.title).toBe('A100 PCIe 80 GB');
    expect(cluster?.gpusPerNode).toEqual({ value: 4, source: 'given in the profile' });
    expect(cluster?.link?.busBandwidth).toEqual({ value: 18e9, source: 'our nccl-tests of 3 May' });
    expect(cluster?.link?.latency.value).toBeCloseTo(5.7e-6, 12);
    expect(cluster?.network?.portBandwidth.value).toBe(25e9 / 8);
    expect(cluster?.network?.nodeBandwidth.value).toBe(3.125e9);
  });

  test('may describe a GPU that is not built in', () => {
    const { cluster } = readClusterProfile(
      '{ "name": "x1", "gpusPerNode": 1, "gpu": { "name": "x1", "title": "X1", "multiprocessors": 10, "memoryGiB": 8, "memoryBandwidthGBs": 100, "peakTflops": { "fp32": 2 }, "tensorCores": [] } }',
    );
    expect(cluster?.gpu.memory.value).toBe(8 * 2 ** 30);
  });

  test.each([
    ['not JSON', '{ "name": ', 'cluster/syntax', undefined],
    ['not an object', '[1, 2]', 'cluster/structure', '[1, 2]'],
    ['empty', '', 'cluster/structure', ''],
    ['negative bandwidth', whole.replace('18', '-18'), 'cluster/structure', '-18'],
    ['unknown GPU', whole.replace('a100-pcie-80gb', 'a101'), 'scenario/unknown-cluster', '"a101"'],
    ['unknown key', whole.replace('"nics"', '"nicks"'), 'cluster/structure', undefined],
    ['half a GPU', whole.replace('"gpusPerNode": 4', '"gpusPerNode": 1.5'), 'cluster/structure', '1.5'],
    ['no link', '{ "name": "a", "gpu": "t4", "gpusPerNode": 4 }', 'cluster/structure', '4'],
  ])('%s: one message at the place', (_, text, code, at) => {
    const { cluster, issues } = readClusterProfile(text);
    expect(cluster).toBeUndefined();
    expect(issues[0]?.code).toBe(code);
    expect(issues[0]?.message).not.toMatch(/\.$/);
    const span = issues[0]?.span;
    if (at !== undefined) expect(text.slice(span?.start, span?.end)).toBe(at);
  });
});
