/** Every pattern, larger ones first. */

import { affineGrid } from './affineGrid.ts';
import { attention } from './attention.ts';
import { bernoulli } from './bernoulli.ts';
import { binaryCrossEntropy } from './binaryCrossEntropy.ts';
import type { CompositePattern } from './composite.ts';
import { cosineSimilarity } from './cosineSimilarity.ts';
import { diagonal } from './diagonal.ts';
import { gelu } from './gelu.ts';
import { glu } from './glu.ts';
import { groupNorm } from './groupNorm.ts';
import { hardswish } from './hardswish.ts';
import { huberLoss } from './huberLoss.ts';
import { interpolation } from './interpolation.ts';
import { klDivergence } from './klDivergence.ts';
import { layerNorm } from './layerNorm.ts';
import { logSigmoid } from './logSigmoid.ts';
import { mish } from './mish.ts';
import { pairwiseDistances } from './pairwiseDistances.ts';
import { gruCell, lstmCell } from './recurrentCell.ts';
import { rmsNorm } from './rmsNorm.ts';
import { roll } from './roll.ts';
import { rsqrt } from './rsqrt.ts';
import { silu } from './silu.ts';
import { softplus } from './softplus.ts';
import { softshrink } from './softshrink.ts';
import { squaredDifference } from './squaredDifference.ts';
import { hardshrink, threshold } from './threshold.ts';
import { variance } from './variance.ts';
import { weightNorm } from './weightNorm.ts';

export const compositePatterns: readonly CompositePattern[] = [
  attention,
  lstmCell,
  gruCell,
  groupNorm,
  layerNorm,
  rmsNorm,
  gelu,
  glu,
  silu,
  mish,
  softplus,
  binaryCrossEntropy,
  logSigmoid,
  hardswish,
  hardshrink,
  softshrink,
  threshold,
  huberLoss,
  klDivergence,
  cosineSimilarity,
  interpolation,
  pairwiseDistances,
  squaredDifference,
  affineGrid,
  bernoulli,
  roll,
  diagonal,
  variance,
  weightNorm,
  rsqrt,
];
