/**
 * timm measured training on an RTX 3090 with the largest batch that ran: 24 GB hold it. Every sixth network.
 *
 * Of all 161 network and batch pairs, one comes out above it: TResNet was measured with in-place activated normalization,
 * which the exported version no longer has.
 */

import { describe, expect, test } from 'vitest';
import { readMeasured } from '../../scripts/measured/readMeasured.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { openGraph } from '../support/savedActivations.ts';
import { hasSharedModels } from '../support/sharedModels.ts';

const tooHigh: readonly string[] = ['tresnet_xl_448'];

const measured = readMeasured('measured', 'steps-timm.csv')
  .filter(({ source, gpu }) => source === 'timm' && gpu === 'rtx-3090')
  .map(({ model = '', batch }) => ({ model, batch: Number(batch) }));

const drawn = [...new Map(measured.map((row) => [row.model, row])).values()].filter(
  ({ model }, index) => index % 6 === 0 && !tooHigh.includes(model),
);

describe('the batches that timm ran fit in the memory of an RTX 3090', () => {
  test.runIf(hasSharedModels).each(drawn)('$model, $batch images', ({ model, batch }) => {
    const { cost } = estimateModel(openGraph(`shared/timm-train/${model}.onnx.gz`), [
      { cluster: 'rtx-3090', gpus: 1, precision: 'fp16', optimizer: 'momentum', batch },
    ]);
    expect(cost?.totals.memory.peak).toBeLessThan(24 * 2 ** 30);
  });
});
