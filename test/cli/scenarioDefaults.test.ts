import { expect, it } from 'vitest';
import { defaultsIssue } from '../../server/src/cli/scenarioDefaults.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

it.each<[string, readonly ScenarioRequest[], string | undefined]>([
  ['nothing', [{}], 'Nobody chose dgx-h100 and fp32, which are defaults: set --cluster and --precision'],
  ['a cluster', [{ cluster: 't4' }], 'Nobody chose fp32, a default: set --precision'],
  [
    'a precision, by the file',
    [{}, { precision: 'bf16' }],
    'Nobody chose dgx-h100, a default: set --cluster',
  ],
  ['both', [{ cluster: 't4' }, { precision: 'fp16' }], undefined],
])('names what is a default where a person chose %s', (_, requests, message) => {
  const { scenario } = estimateModel(openGraph('samples/alexnet.onnx'), [...requests]);
  if (scenario === undefined) throw new Error('no scenario');
  expect(defaultsIssue(requests, scenario).map((issue) => issue.message)).toEqual(
    message === undefined ? [] : [message],
  );
});
