/** What is computed again in backward, in the place of what layers are marked with. */

import type { ModelAnalysis } from '../../analysis/modelAnalysis.ts';
import { overriddenMarks } from '../../analysis/recomputedGroups.ts';
import { repeatedBlocks } from '../../analysis/repeatedBlocks.ts';
import type { Checkpoint, Mode } from '../../model/scenario.ts';
import type { Report } from './scenarioReport.ts';

/** `undefined` where nothing takes the place of what the layers are marked with, and in inference, which has no backward. */
export function resolveCheckpoint(
  asked: Checkpoint | undefined,
  mode: Mode,
  analysis: ModelAnalysis,
  report: Report,
): Checkpoint | undefined {
  if (asked === undefined || mode === 'inference') return undefined;
  const overridden = overriddenMarks(analysis, asked);
  const [first] = overridden;
  if (first !== undefined) {
    report(
      'information',
      'scenario/overridden-marks',
      `\`checkpoint: ${asked}\` replaces the \`recompute\` of ${overridden.length === 1 ? 'layer' : `${overridden.length} layers, first`} \`${first.name}\`; leave \`checkpoint\` out to cost the marks`,
      'checkpoint',
    );
  }
  if (asked === 'none') return first === undefined ? undefined : 'none';
  if (repeatedBlocks(analysis) === undefined) {
    report(
      'warning',
      'scenario/no-blocks',
      `\`checkpoint: ${asked}\` has no effect: the model has no numbered modules of the same structure. Mark layers of a layer spec with \`recompute\`, or export the model with its module names`,
      'checkpoint',
    );
  }
  return asked;
}
