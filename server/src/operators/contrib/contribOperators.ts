/** Operators of ONNX Runtime, as its optimizer and exporters of transformers write them, and of other public domains. */

import type { OperatorDefinition } from '../definition.ts';
import { contribActivations } from './activations.ts';
import { contribAttention } from './attention.ts';
import { blockedLayouts } from './blockedLayouts.ts';
import { mixturesOfExperts } from './mixtureOfExperts.ts';
import { mmcvOperators } from './mmcv.ts';
import { contribNormalizations } from './normalizations.ts';
import { contribMatmuls } from './products.ts';
import { quantizedOperators } from './quantized.ts';
import { quantizers } from './quantizers.ts';
import { standardOperators } from './standardOperators.ts';
import { contribTensors } from './tensors.ts';
import { textGeneration } from './textGeneration.ts';

export const contribOperators: readonly OperatorDefinition[] = [
  ...contribActivations,
  ...contribAttention,
  ...blockedLayouts,
  ...contribNormalizations,
  ...contribMatmuls,
  ...mixturesOfExperts,
  ...quantizedOperators,
  ...quantizers,
  ...mmcvOperators,
  ...standardOperators,
  ...contribTensors,
  ...textGeneration,
];
