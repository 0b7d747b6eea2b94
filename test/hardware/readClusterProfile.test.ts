import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readClusterProfile } from '../../server/src/hardware/readClusterProfile.ts';
import { tcpRate } from '../../server/src/hardware/tcpRate.ts';
import { bytesPerSecond } from '../../server/src/model/units.ts';

const whole = `{
  "name": "our-rack",
  "gpu": "a100-pcie-80gb",
  "gpusPerNode": 4,
  "link": { "kind": "pcie", "busBandwidthGBs": { "value": 18, "source": "our nccl-tests of 3 May" } },
  "network": { "kind": "ethernet", "nics": 2, "linkGbits": 25 }
}`;

const detailed = `{
  "name": "our-rack",
  "gpu": "a100-pcie-80gb",
  "gpusPerNode": 8,
  "sources": { "tests": "our nccl-tests of 3 May" },
  "link": {
    "kind": "pcie",
    "busBandwidthGBs": 18,
    "groups": { "gpus": 4, "acrossGBs": { "value": 9, "source": "tests" } }
  },
  "network": {
    "kind": "infiniband",
    "nics": 2,
    "linkGbits": 200,
    "oversubscription": { "ratio": 3, "nodesPerSwitch": 16 }
  },
  "host": { "cores": 64, "memoryGiB": 512 },
  "storage": { "localGBs": 3, "sharedGBs": 40, "perClientGBs": 2 },
  "pricePerGpuHour": 1.8,
  "nccl": { "release": "2.18.3" }
}`;

describe('a cluster profile of one’s own', () => {
  test('says what is no JSON without what trails behind it', () => {
    const [issue] = readClusterProfile('{ "name": "\\u12. "}').issues;
    expect(issue?.message).toBe('The cluster profile is not valid JSON: Invalid escape sequence \\u12');
  });

  test('is read into base units, with what is left out filled in', () => {
    const { cluster, issues } = readClusterProfile(whole);
    expect(issues).toEqual([]);
    expect(cluster?.gpu.title).toBe('A100 PCIe 80 GB');
    expect(cluster?.gpusPerNode).toEqual({ value: 4, source: 'given in the profile' });
    expect(cluster?.link?.busBandwidth).toEqual({ value: 18e9, source: 'our nccl-tests of 3 May' });
    expect(cluster?.link?.latency.value).toBeCloseTo(5.7e-6, 12);
    expect(cluster?.network?.portBandwidth.value).toBe(25e9 / 8);
    expect(cluster?.network?.nodeBandwidth.value).toBeCloseTo(
      2 * tcpRate(bytesPerSecond(25e9 / 8), 'nccl'),
      3,
    );
  });

  test('may say more: link groups, oversubscription, host, storage, price, release of NCCL', () => {
    const { cluster, issues } = readClusterProfile(detailed);
    expect(issues).toEqual([]);
    expect(cluster?.link?.groups).toEqual({
      size: { value: 4, source: 'given in the profile' },
      acrossBandwidth: { value: 9e9, source: 'our nccl-tests of 3 May' },
    });
    expect(cluster?.network?.oversubscription?.ratio.value).toBe(3);
    expect(cluster?.host?.memory?.value).toBe(512 * 2 ** 30);
    expect(cluster?.storage?.perClient?.value).toBe(2e9);
    expect(cluster?.pricePerGpuHour?.value).toBe(1.8);
    expect(cluster?.nccl).toEqual({ release: '2.18.3', source: 'given in the profile' });
  });

  test('the example of docs/clusters.md is one', () => {
    const page = readFileSync(resolve(import.meta.dirname, '../../docs/clusters.md'), 'utf8');
    const example = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    const { cluster, issues } = readClusterProfile(example);
    expect(issues).toEqual([]);
    expect(cluster?.name).toBe('our-rack');
  });

  test('may describe a GPU that is not built in', () => {
    const { cluster } = readClusterProfile(
      '{ "name": "x1", "gpusPerNode": 1, "gpu": { "name": "x1", "title": "X1", "multiprocessors": 10, "memoryGiB": 8, "memoryBandwidthGBs": 100, "peakTflops": { "fp32": 2 }, "tensorCores": [] } }',
    );
    expect(cluster?.gpu.memory.value).toBe(8 * 2 ** 30);
  });

  test('a key that is misspelt is said once, with the one that was meant', () => {
    const { issues } = readClusterProfile(whole.replace('"nics"', '"nicks"'));
    expect(issues.map(({ message }) => message)).toEqual([
      '"network.nicks" is not known; did you mean `nics`?',
    ]);
  });

  test.each([
    ['not JSON', '{ "name": ', 'cluster/syntax', undefined],
    ['not an object', '[1, 2]', 'cluster/structure', '[1, 2]'],
    ['empty', '', 'cluster/structure', ''],
    ['negative bandwidth', whole.replace('18', '-18'), 'cluster/structure', '-18'],
    ['unknown GPU', whole.replace('a100-pcie-80gb', 'a101'), 'scenario/unknown-cluster', '"a101"'],
    ['unknown key', whole.replace('"nics"', '"nicks"'), 'cluster/structure', '"nicks"'],
    [
      'a text for a number',
      whole.replace('"gpusPerNode": 4', '"gpusPerNode": "4"'),
      'cluster/structure',
      '"4"',
    ],
    ['half a GPU', whole.replace('"gpusPerNode": 4', '"gpusPerNode": 1.5'), 'cluster/structure', '1.5'],
    ['half a group', detailed.replace('"gpus": 4', '"gpus": 2.5'), 'cluster/structure', '2.5'],
    ['half a port', detailed.replace('"nics": 2', '"nics": 1.5'), 'cluster/structure', '1.5'],
    ['ratio under 1', detailed.replace('"ratio": 3', '"ratio": 0.3'), 'cluster/structure', '0.3'],
    ['negative price', detailed.replace('1.8', '-1.8'), 'cluster/structure', '-1.8'],
    ['not a release', detailed.replace('2.18.3', 'newest'), 'cluster/structure', '"newest"'],
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
