/** A training graph of which blocks that are alike are costed once, also where its file does not state that they repeat. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { compileMode } from '../frameworks/pytorch/compiled/compileOption.ts';
import { optionValues } from '../frameworks/registry.ts';
import type { Layer } from '../model/graph.ts';
import type { Scenario } from '../model/scenario.ts';
import { foldedTraining } from '../parallel/stageTraining.ts';

/**
 * The same where blocks are stated, or none are. Compiling looks further around an operator than a fold of found blocks keeps, and what
 * backward computes again may differ from block to block.
 */
export function withFoundBlocks(
  training: TrainingGraph,
  { framework, checkpoint = 'none' }: Pick<Scenario, 'framework' | 'checkpoint'>,
): TrainingGraph {
  const isKept = checkpoint === 'none' && training.analysis.layers.every(isKeptWhole);
  const isFolded = training.folded !== undefined;
  return isFolded || !isKept || compileMode(optionValues(framework)) !== undefined
    ? training
    : foldedTraining(training, 'whole');
}

const isKeptWhole = ({ marks }: Layer): boolean => marks?.recomputed === undefined;
