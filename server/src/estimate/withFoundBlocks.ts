/** A training graph of which blocks that are alike are costed once, also where its file does not state that they repeat. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { compileMode } from '../frameworks/pytorch/compiled/compileOption.ts';
import { optionValues } from '../frameworks/registry.ts';
import type { Scenario } from '../model/scenario.ts';
import { foldedTraining } from '../parallel/stageTraining.ts';

/** The same where they are stated, or none are. Compiling looks further around an operator than a fold of found blocks keeps. */
export const withFoundBlocks = (
  training: TrainingGraph,
  { framework }: Pick<Scenario, 'framework'>,
): TrainingGraph =>
  training.folded !== undefined || compileMode(optionValues(framework)) !== undefined
    ? training
    : foldedTraining(training, 'whole');
