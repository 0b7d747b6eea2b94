import { expect, it } from 'vitest';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { scenarioDefaults } from '../../server/src/estimate/scenarioDefaults.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

it.each<[string, readonly ScenarioRequest[], string | undefined, string | undefined]>([
  [
    'nothing',
    [{}],
    undefined,
    'Nobody chose dgx-h100 and bf16, which are defaults: set `cluster` and `precision`',
  ],
  ['a cluster', [{ cluster: 't4' }], undefined, 'Nobody chose fp16, a default: set `precision`'],
  ['a cluster of their own', [{}], 't4', 'Nobody chose fp16, a default: set `precision`'],
  [
    'a precision, in the file',
    [{}, { precision: 'bf16' }],
    undefined,
    'Nobody chose dgx-h100, a default: set `cluster`',
  ],
  ['both', [{ cluster: 't4' }, { precision: 'fp16' }], undefined, undefined],
])('names what is a default where a person chose %s', (_, requests, own, message) => {
  const cluster = own === undefined ? undefined : findCluster(own);
  const estimate = estimateModel(openGraph('samples/alexnet.onnx'), requests, cluster);
  expect(scenarioDefaults(estimate).map((issue) => issue.message)).toEqual(
    message === undefined ? [] : [message],
  );
});
