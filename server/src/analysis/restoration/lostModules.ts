/**
 * Tells modules of the exported program of which the file has no operator, and that nothing brings back. A training step runs them.
 */

import { placeholdersOfProgram, readByCall } from '../../formats/onnx/recordedCalls.ts';
import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import { formatCount } from '../../model/format.ts';
import type { Issue } from '../../model/issue.ts';
import { moduleOfName } from '../../model/tensorNames.ts';
import { expandFunctions } from '../expandFunctions.ts';
import { splitCalls } from '../splitCalls.ts';
import { namesOfLostModules } from './namesOfLostModules.ts';

/** `undefined` where every module has an operator, or has it again (`splitCalls.ts`). */
export function lostModules(model: OnnxModel): Issue | undefined {
  const all = namesOfLostModules(model);
  if (all.size === 0) return undefined;
  const again = modulesRead(model);
  const lost = [...all].filter((module) => !again.has(module));
  const [first] = lost;
  if (first === undefined) return undefined;
  return {
    code: 'graph/lost-modules',
    severity: 'warning',
    message: `Parameters of ${formatCount(lost.length)} module${lost.length === 1 ? '' : 's'} are read by no operator of the file, first those of \`${first}\`. The exporter merged equal ones or computed them beforehand, or the program does not call them. The step leaves them out; export with \`optimize=False\` to have them`,
  };
}

/** Modules whose parameters calls read once those that the exporter merged are apart again. */
function modulesRead(model: OnnxModel): ReadonlySet<string> {
  const placeholders = placeholdersOfProgram(model.graph) ?? new Map<string, string>();
  const nodes = splitCalls(expandFunctions(model).nodes, model);
  const read = nodes.flatMap(({ node }) => readByCall(node, placeholders) ?? []);
  return new Set(read.map(moduleOfName));
}
