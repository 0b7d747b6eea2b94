/** Types that calls give under autocast, as PyTorch says (`golden/writeAutocast.py`): `h` is in half precision, `x` in fp32. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';

const golden: Readonly<Record<string, Readonly<Record<'bfloat16' | 'float16', number>>>> = JSON.parse(
  readFileSync('test/frameworks/golden/autocast.json', 'utf8'),
);
const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: {} });

/** The call of a layer spec; a loss is a layer, which reads by name. */
const lineOf = (call: string): string =>
  call.replace(/^(\w+Loss)\((.*)\)$/, '$1() from $2').replace('x.transpose', 't');

test.each(Object.entries(golden))('%s', (call, bytes) => {
  const text = `dims: { batch: 2 }
inputs: { x: 'float32[batch, 10, 64]' }
layers:
  - h: Linear(64, 64, bias=False)
  - t: transpose(x, 1, 2)
  - out: ${lineOf(call)}
`;
  const own = (['bf16', 'fp16'] as const).map((precision) => {
    const { training, issues } = estimateModel(openLayerSpec(text, 'call.layers.yaml'), [
      { cluster: 'a100-sxm-80gb', gpus: 1, precision, loss: 'none' },
    ]);
    if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
    return behaviour.lower(training, precision, 'training').operators.at(-1)?.bytesPerElement;
  });
  expect(own).toEqual([bytes.bfloat16, bytes.float16]);
});
