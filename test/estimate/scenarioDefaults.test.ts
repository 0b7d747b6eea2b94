import { expect, it } from 'vitest';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { scenarioDefaults } from '../../server/src/estimate/scenarioDefaults.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

it.each<[string, readonly ScenarioRequest[], string | undefined, string | undefined]>([
  ['nothing', [{}], undefined, '`dgx-h100` and `bf16` are defaults; set `cluster` and `precision` to choose'],
  ['a cluster', [{ cluster: 't4' }], undefined, '`fp16` is a default; set `precision` to choose'],
  ['a cluster of their own', [{}], 't4', '`fp16` is a default; set `precision` to choose'],
  [
    'a precision, in the file',
    [{}, { precision: 'bf16' }],
    undefined,
    '`dgx-h100` is a default; set `cluster` to choose',
  ],
  ['both', [{ cluster: 't4' }, { precision: 'fp16' }], undefined, undefined],
])('names what is a default where a person chose %s', (_, requests, own, message) => {
  const cluster = own === undefined ? undefined : findCluster(own);
  const estimate = estimateModel(openGraph('samples/alexnet.onnx'), requests, cluster);
  expect(scenarioDefaults(estimate).map((issue) => issue.message)).toEqual(
    message === undefined ? [] : [message],
  );
});
