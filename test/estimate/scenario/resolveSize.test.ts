/** The cluster and its size, and all that is said of them, word for word. */

import { describe, expect, test } from 'vitest';
import {
  reportOtherGpus,
  resolveCluster,
  resolveRequestedSize,
} from '../../../server/src/estimate/scenario/resolveSize.ts';
import type { Report } from '../../../server/src/estimate/scenario/scenarioReport.ts';
import { findCluster } from '../../../server/src/hardware/clusters.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';

function saying<Value>(make: (report: Report) => Value): { value: Value; said: readonly string[] } {
  const said: string[] = [];
  const value = make((severity, _, message, key) => {
    said.push(`${severity} ${key}: ${message}`);
  });
  return { value, said };
}

const sizeOf = (name: string, ...requests: readonly ScenarioRequest[]) => {
  const cluster = findCluster(name);
  if (cluster === undefined) throw new Error(name);
  const { value, said } = saying((report) => resolveRequestedSize(cluster, requests, report));
  return [value.nodes, value.gpus, ...said];
};

const oneNode = 'dgx-a100';

describe('of one request', () => {
  test.each<readonly [string, ScenarioRequest, readonly (number | string)[]]>([
    [oneNode, {}, [1, 8]],
    [oneNode, { gpus: 8 }, [1, 8]],
    [
      oneNode,
      { gpus: 9 },
      [2, 9, 'warning gpus: 9 GPUs do not divide evenly over 2 nodes; communication assumes 5 on each'],
    ],
    [oneNode, { nodes: 3 }, [3, 24]],
    [oneNode, { nodes: 2, gpus: 2 }, [2, 2]],
    [oneNode, { nodes: 2, gpus: 16 }, [2, 16]],
    [
      oneNode,
      { nodes: 2, gpus: 17 },
      [
        1,
        8,
        'error gpus: 17 GPUs do not fit on 2 nodes of 8: set only one of `gpus` and `nodes`, or use 2–16 GPUs',
      ],
    ],
    [
      oneNode,
      { nodes: 2, gpus: 1 },
      [
        1,
        8,
        'error gpus: 1 GPU do not fit on 2 nodes of 8: set only one of `gpus` and `nodes`, or use 2–16 GPUs',
      ],
    ],
    [
      oneNode,
      { nodes: 1, gpus: 9 },
      [
        1,
        8,
        'error gpus: 9 GPUs do not fit on 1 node of 8: set only one of `gpus` and `nodes`, or use 1–8 GPUs',
      ],
    ],
    [oneNode, { nodes: 0 }, [1, 8, 'error nodes: `nodes` is 0; it takes a whole number from 1']],
    [oneNode, { nodes: 1.5 }, [1, 8, 'error nodes: `nodes` is 1.5; it takes a whole number from 1']],
    [oneNode, { gpus: -1 }, [1, 8, 'error gpus: `gpus` is -1; it takes a whole number from 1']],
    [oneNode, { gpus: 2.5 }, [1, 8, 'error gpus: `gpus` is 2.5; it takes a whole number from 1']],
    ['a100-sxm-80gb', {}, [1, 1]],
    ['a100-sxm-80gb', { nodes: 1, gpus: 1 }, [1, 1]],
    [
      'a100-sxm-80gb',
      { gpus: 2 },
      [
        1,
        1,
        'error gpus: `a100-sxm-80gb` is one node of 1 GPU without a network; use at most 1, or choose a cluster',
      ],
    ],
    [
      'rtx-4090-workstation',
      { nodes: 2 },
      [
        1,
        2,
        'error nodes: `rtx-4090-workstation` is one node of 2 GPUs without a network; use at most 2, or choose a cluster',
      ],
    ],
  ])('%s %j', (name, request, expected) => {
    expect(sizeOf(name, request)).toEqual(expected);
  });
});

describe('of several requests', () => {
  test('the first that says a size says all of it', () => {
    expect(sizeOf(oneNode, {}, { gpus: 4 }, { nodes: 2 })).toEqual([1, 4]);
    expect(sizeOf(oneNode, { nodes: 2 }, { gpus: 4 })).toEqual([2, 16]);
  });

  test('one that chooses the cluster, or comes before, means this cluster', () => {
    const error =
      'error gpus: `a100-sxm-80gb` is one node of 1 GPU without a network; use at most 1, or choose a cluster';
    expect(sizeOf('a100-sxm-80gb', { cluster: 'a100-sxm-80gb', gpus: 2 })).toEqual([1, 1, error]);
    expect(sizeOf('a100-sxm-80gb', { gpus: 2 }, { cluster: 'a100-sxm-80gb' })).toEqual([1, 1, error]);
    expect(sizeOf('a100-sxm-80gb', {}, { gpus: 2 })).toEqual([1, 1, error]);
  });

  test('one that comes behind meant another: it is kept where it fits, without a word', () => {
    expect(sizeOf(oneNode, { cluster: oneNode }, { gpus: 16 })).toEqual([2, 16]);
    expect(sizeOf(oneNode, { cluster: oneNode }, { gpus: 9 })).toEqual([2, 9]);
    expect(sizeOf('a100-sxm-80gb', { cluster: 'a100-sxm-80gb' }, { gpus: 2 })).toEqual([
      1,
      1,
      'information gpus: `a100-sxm-80gb` cannot provide 2 GPUs (requested for another cluster); using one node',
    ]);
    expect(sizeOf('a100-sxm-80gb', { cluster: 'a100-sxm-80gb' }, { nodes: 2 })).toEqual([
      1,
      1,
      'information nodes: `a100-sxm-80gb` cannot provide 2 nodes (requested for another cluster); using one node',
    ]);
  });
});

test.each([
  [undefined, 'dgx-h100', []],
  ['dgx-a100', 'dgx-a100', []],
  [
    'zzz',
    'dgx-h100',
    ['error cluster: No cluster or GPU is called `zzz`; choose a built-in one, or describe your own'],
  ],
])('the cluster called %s', (name, chosen, said) => {
  const found = saying((report) => resolveCluster(name, findCluster, report));
  expect([found.value.name, found.said]).toEqual([chosen, said]);
});

test.each([
  ['k80', 1, 1, []],
  ['k80', 3, 4, []],
  ['k80', 4, 4, ['warning workers: `other-count` is 4 of 4 GPUs; costs assume 3']],
  ['k80', 2, 1, ['warning workers: `other-count` is 2 of 1 GPU; costs assume 0']],
  [
    'zzz',
    1,
    4,
    ['error workers: `other-gpu` is `zzz`, which is not a built-in GPU; `layercost clusters` lists them'],
  ],
])('other GPUs: %s × %i of %i', (gpu, count, gpus, said) => {
  expect(saying((report) => reportOtherGpus({ others: { gpu, count } }, gpus, report)).said).toEqual(said);
});

test('where no others are said there is nothing to say', () => {
  expect(saying((report) => reportOtherGpus({ imbalance: 2 }, 1, report)).said).toEqual([]);
  expect(saying((report) => reportOtherGpus(undefined, 1, report)).said).toEqual([]);
});
