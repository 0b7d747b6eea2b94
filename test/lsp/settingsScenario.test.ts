/** Whose cluster a model is costed on: its own, that of a person's profile, or that of the settings. */

import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import { estimateWith } from '../../server/src/lsp/settingsScenario.ts';
import { finish } from '../../server/src/model/steps.ts';

const opened = (scenario: string) =>
  openModel(
    byteSourceOfBuffer(
      new TextEncoder().encode(
        `name: m\ninputs:\n  x: float32[batch, 8]\nlayers:\n  - fc: Linear(8, 8)\n${scenario}`,
      ),
    ),
    'm.layers.yaml',
  );

const own = findCluster('dgx-h100');
const profile = own && { ...own, name: 'ours' };
const aside = {
  code: 'cluster/structure',
  severity: 'warning',
  message: 'ours.json: a port too few',
} as const;

test.each([
  // The setting is the path of the profile.
  ['', true, 'ours', true],
  ['scenario: { gpus: 2 }\n', true, 'ours', true],
  ['scenario: { cluster: ours }\n', true, 'ours', true],
  ['scenario: { cluster: dgx-a100 }\n', true, 'dgx-a100', false],
  ['scenario: { cluster: dgx-a100 }\n', false, 'dgx-a100', false],
])('a model with `%s`, and a profile: %s', (scenario, hasProfile, cluster, saysAside) => {
  const request = { cluster: hasProfile ? './ours.json' : 'dgx-h100', batch: 4 };
  const file = hasProfile ? { value: profile, issues: [aside] } : undefined;
  const { cost, issues } = finish(estimateWith(opened(scenario), { request, cluster: file }));
  expect(cost?.scenario.cluster).toBe(cluster);
  expect(issues.some(({ message }) => message === aside.message)).toBe(saysAside);
  expect(issues.filter(({ code }) => code === 'scenario/unknown-cluster')).toEqual([]);
});

test('a profile that cannot be read says why, not that its path is no cluster', () => {
  const request = { cluster: './ours.json', batch: 4 };
  const { issues } = finish(
    estimateWith(opened(''), { request, cluster: { value: undefined, issues: [aside] } }),
  );
  expect(issues.map(({ message }) => message)).toContain(aside.message);
});
