/** What the engine says of an export of `scripts/measured/functionsOfTorch.py`. */

import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

const request: ScenarioRequest = {
  cluster: 'a100-sxm-80gb',
  precision: 'fp32',
  optimizer: 'none',
  loss: 'none',
  framework: { name: 'pytorch-ddp', options: {} },
};

/** Bytes that backward keeps, trained elements and FLOPs of forward. */
export function costFunction(model: Buffer): {
  readonly saved: number;
  readonly parameters: number;
  readonly flops: number;
} {
  const { cost, issues } = estimateModel(openModel(byteSourceOfBuffer(model), 'model.onnx'), [request]);
  if (cost === undefined) throw new Error(issues[0]?.message);
  return {
    saved: cost.totals.memory.activations,
    parameters: cost.layers.reduce((sum, { parameters }) => sum + parameters, 0),
    flops: cost.totals.flops.forward,
  };
}
