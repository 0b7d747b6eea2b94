/** Operators of ONNX Runtime, as its optimizer and exporters of transformers write them. */

import type { OperatorDefinition } from '../definition.ts';
import { contribActivations } from './activations.ts';
import { contribAttention } from './attention.ts';
import { mixturesOfExperts } from './mixtureOfExperts.ts';
import { contribNormalizations } from './normalizations.ts';
import { contribProducts } from './products.ts';
import { quantizedOperators } from './quantized.ts';

export const contribOperators: readonly OperatorDefinition[] = [
  ...contribActivations,
  ...contribAttention,
  ...contribNormalizations,
  ...contribProducts,
  ...mixturesOfExperts,
  ...quantizedOperators,
];
