/** Which layers stay trained where low-rank pairs are trained beside a whole weight: told by `lora`, or by the names of the pair. */

import { expect, test } from 'vitest';
import { trainedAdapters } from '../../../server/src/estimate/findings/trainedAdapters.ts';
import { stepOf } from '../../support/estimatedStep.ts';

const changeOf = (down: string, up: string, mode: 'training' | 'inference' = 'training') => {
  const spec = `
inputs: { x: "float32[batch, 1024]" }
layers:
  - whole: Linear(1024, bias=False)
  - ${down}: Linear(8, bias=False) from x
  - ${up}: Linear(1024, bias=False)
  - sum: add(whole, ${up})
`;
  return trainedAdapters(
    stepOf({ cluster: 'a100-sxm-80gb', gpus: 1, batch: 4, loss: 'none', mode }, spec),
  ).map(({ change }) => change);
};

test.each([
  ['lora_a', 'lora_b', ['*', '!*lora*']],
  ['LoRA_down', 'lora_up', ['*', '!*lora*']],
  // `lora` alone would freeze the other half of the pair.
  ['lora_down', 'rise', ['*', '!*lora_down*', '!*rise*']],
  ['fall', 'rise', ['*', '!*fall*', '!*rise*']],
])('%s and %s', (down, up, patterns) => {
  expect(changeOf(down, up)).toEqual([{ kind: 'freeze', patterns }]);
});

test('nothing is trained in inference', () => {
  expect(changeOf('lora_a', 'lora_b', 'inference')).toEqual([]);
});
