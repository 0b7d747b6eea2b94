/** The training graph as PyTorch runs it: eagerly, or compiled. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { RecomputedGroups } from '../../analysis/recomputedGroups.ts';
import type { Mode, Precision } from '../../model/scenario.ts';
import type { FrameworkBehaviour, LoweredGraph } from '../behaviour.ts';
import type { TypeOptions } from './autocast.ts';
import { lowerCompiled } from './compiled/lowerCompiled.ts';
import { prefersChannelsLast } from './compiled/prefersChannelsLast.ts';
import { eagerOperators, lowerEager } from './lowerEager.ts';
import type { NarrowScaling } from './narrowProducts.ts';
import { recompute } from './recompute.ts';
import { type ScoreParts, scoresInParts } from './scoresInParts.ts';

export interface PytorchOptions extends TypeOptions {
  readonly compiled: boolean;
  readonly compilesLoss: boolean;
  readonly scoreParts: ScoreParts;
  /** Whether checkpoints compute a block again to its end. */
  readonly reentrant: boolean;
  /** Where nothing is compiled: kernels that stand for several of PyTorch's, as in Megatron-LM. */
  readonly fusedByHand: boolean;
}

/** The same function for the same options: frameworks that lower alike share what is found of a graph. */
export function pytorchLowering(options: PytorchOptions): FrameworkBehaviour['lower'] {
  const key = JSON.stringify(options);
  const known = lowerings.get(key);
  if (known !== undefined) return known;
  const lower: FrameworkBehaviour['lower'] = (training, precision, mode, recomputed) =>
    lowerPytorch(training, precision, mode, options, recomputed);
  lowerings.set(key, lower);
  return lower;
}

const lowerings = new Map<string, FrameworkBehaviour['lower']>();

function lowerPytorch(
  training: TrainingGraph,
  precision: Precision,
  mode: Mode,
  given: PytorchOptions,
  recomputed?: RecomputedGroups,
): LoweredGraph {
  const options = { ...given, narrowScaling: scalingOf(given), remembersCasts: true };
  if (!options.compiled) {
    return { ...lowerEager(training, precision, mode, options, recomputed), callsModules: true };
  }
  const copied = !options.channelsLast && prefersChannelsLast(training, mode);
  const channelsLast = options.channelsLast || copied;
  const eager = eagerOperators(training, precision, mode, { ...options, channelsLast });
  // Each chunk's loss is compiled by itself; that of Liger Kernel is a kernel of its own.
  const compilesLoss = { whole: options.compilesLoss, chunked: true, 'fused-linear': false };
  const compiled = lowerCompiled(
    training,
    eager,
    mode,
    { channelsLast, copied },
    compilesLoss[options.scoreParts],
  );
  const operators = scoresInParts(training, compiled.operators, options.scoreParts);
  if (mode === 'inference' || recomputed === undefined) return { operators };
  return { operators: recompute(training, operators, recomputed, eager.stored, options.reentrant) };
}

const scalingOf = ({ compiled, fusedByHand }: PytorchOptions): NarrowScaling => {
  if (compiled) return 'compiled';
  return fusedByHand ? 'transformer-engine' : 'eager';
};
