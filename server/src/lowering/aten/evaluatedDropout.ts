/**
 * Dropout that a program calls and that does nothing, as in evaluation mode: a training step has its time and its masks. Stochastic depth
 * in evaluation mode makes no call at all.
 */

import type { AtenNode, ExportedProgram } from '../../formats/pt2/syntax.ts';
import type { Issue } from '../../model/issue.ts';

/** `graph/evaluation-export`: one issue, however many calls do nothing; none where one does something. */
export function evaluatedDropout({ graph }: ExportedProgram): readonly Issue[] {
  const dropouts = graph.nodes.filter(({ target }) => calls.test(target));
  const idle = dropouts.filter((node) => isIdle(node));
  const [first] = idle;
  if (dropouts.length === 0 || dropouts.some(isInTraining)) return [];
  if (first === undefined) {
    const message =
      'The model was exported in evaluation mode, in which its dropout has the rate 0. Stochastic depth and auxiliary heads, if any, are missing from the step; call `model.train()` before the export';
    return [{ code: 'graph/evaluation-export', severity: 'information', message }];
  }
  const count = idle.length === 1 ? '1 call of dropout does' : `${idle.length} calls of dropout do`;
  return [
    {
      code: 'graph/evaluation-export',
      severity: 'warning',
      message: `${count} nothing in the program, first \`${first.modules.at(-1)?.path || first.outputs[0] || ''}\`: the model was exported in evaluation mode, and the step leaves them out; call \`model.train()\` before the export`,
    },
  ];
}

const calls = /^torch\.ops\.aten\.(?:alpha_|feature_|feature_alpha_)?dropout_?\.default$/;

/** Where its rate is 0 it does nothing in training either, or a program passes 0 for its rate in evaluation mode. */
function isIdle(node: AtenNode): boolean {
  const rate = node.arguments.get('p');
  return rate?.kind === 'number' && rate.value > 0 && !isInTraining(node);
}

/** What a call does not say is taken for training. */
function isInTraining({ arguments: given }: AtenNode): boolean {
  const mode = given.get('train');
  return mode?.kind !== 'boolean' || mode.value;
}
