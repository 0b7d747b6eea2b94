/** The optimizers by the names that scenarios have for them. */

import type { Optimizer } from '../../model/scenario.ts';
import { adafactor } from './adafactor.ts';
import { adamwEightBit } from './eightBit.ts';
import { adagrad, adam, adamw, lamb, lion, momentum, rmsprop, sgd } from './elementwise.ts';
import { muon } from './muon.ts';
import type { OptimizerDefinition } from './optimizerDefinition.ts';

/** One that updates: all but `none`. */
export type UpdatingOptimizer = Exclude<Optimizer, 'none'>;

export const optimizerDefinitions: Readonly<Record<UpdatingOptimizer, OptimizerDefinition>> = {
  sgd,
  momentum,
  adam,
  adamw,
  'adamw-8bit': adamwEightBit,
  adagrad,
  rmsprop,
  adafactor,
  lion,
  lamb,
  muon,
};
