/** Which scaling curves are drawn together, and what they are called. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { scaleEstimate } from '../../../server/src/estimate/scaling/scaleEstimate.ts';
import { titleOfCurve } from '../../../server/src/estimate/scaling/scalingOverlay.ts';
import { triedCurves } from '../../../server/src/estimate/what-if/triedCurves.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import type { ScenarioChange } from '../../../server/src/model/scenarioChange.ts';
import { finish } from '../../../server/src/model/steps.ts';

const opened = openModel(byteSourceOfBuffer(readFileSync('samples/gpt2.onnx')), 'gpt2.onnx');
const base: ScenarioRequest = { cluster: 'dgx-a100', gpus: 16, batch: 4, precision: 'bf16' };
const written = estimateModel(opened, [base]);
const curvesOf = (changes: readonly ScenarioChange[], of = written) => finish(triedCurves(of, changes));

describe('curves are told apart by what differs', () => {
  it.each<[string, readonly ScenarioChange[], readonly string[]]>([
    ['nothing tried', [], ['']],
    ['as it is written', [{}], ['']],
    ['another cluster', [{ cluster: 'dgx-h100' }], ['dgx-a100', 'dgx-h100']],
    ['the same again', [{ cluster: 'dgx-h100' }, { cluster: 'dgx-h100' }], ['dgx-a100', 'dgx-h100']],
    ['back to what is written', [{ cluster: 'dgx-h100' }, {}], ['dgx-a100', 'dgx-h100']],
    ['GPUs alone, another point of the curve', [{ gpus: 64 }], ['']],
    [
      'two things',
      [{ cluster: 'dgx-h100' }, { cluster: 'dgx-h100', batch: 8 }],
      ['dgx-a100, batch 4', 'dgx-h100, batch 4', 'dgx-h100, batch 8'],
    ],
    ['adapters', [{ lora: { rank: 16 } }], ['no LoRA', 'LoRA 16']],
    ['another framework', [{ framework: 'horovod' }], ['pytorch-ddp', 'horovod']],
  ])('%s', (_, changes, titles) => {
    expect(curvesOf(changes).map(titleOfCurve)).toEqual(titles);
  });

  it('the written one is first; of more than six the oldest tried are left out', () => {
    const batches = [1, 2, 3, 5, 6, 7, 8].map((batch) => ({ batch }));
    expect(curvesOf(batches).map(titleOfCurve)).toEqual([4, 3, 5, 6, 7, 8].map((batch) => `batch ${batch}`));
  });
});

it('the curve of a model with adapters has them once', () => {
  const adapted = estimateModel(opened, [{ ...base, lora: { rank: 16 } }]);
  const curve = finish(scaleEstimate(adapted));
  expect(curve?.points.find(({ gpus }) => gpus === base.gpus)?.step).toBe(adapted.cost?.totals.time.step);
});

it('each curve is that of its scenario by itself', () => {
  const [one, other] = curvesOf([{ cluster: 'dgx-h100' }]);
  expect(one?.scaling).toEqual(finish(scaleEstimate(written)));
  expect(other?.scaling).toEqual(
    finish(scaleEstimate(estimateModel(opened, [{ ...base, cluster: 'dgx-h100' }]))),
  );
});

it('weak and strong scaling share no drawing: curves are of the kind of the last', () => {
  const { batch: _, ...others } = base;
  const strong = estimateModel(opened, [{ ...others, globalBatch: 64 }]);
  const kinds = (changes: readonly ScenarioChange[]) =>
    curvesOf(changes, strong).map(({ scaling }) => scaling.isStrong);
  expect(kinds([{ cluster: 'dgx-h100' }])).toEqual([true, true]);
  expect(kinds([{ cluster: 'dgx-h100' }, { batch: 8 }])).toEqual([false]);
});
