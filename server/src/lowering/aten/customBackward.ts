/**
 * Functions with a backward of their own (`torch.autograd.Function`): a program has the operators of their forward alone, and
 * the stack trace of each goes through the line that calls `apply` (torch/fx/proxy.py of PyTorch 2.13).
 */

import type { AtenGraph } from '../../formats/pt2/syntax.ts';
import { parseStackTrace } from '../../formats/stackTrace.ts';
import type { Issue } from '../../model/issue.ts';

/** `pt2/custom-backward`: one issue for all such functions. */
export function customBackwardIssues(graph: AtenGraph): readonly Issue[] {
  const found = new Map<string, string>();
  for (const { stackTrace } of graph.nodes) {
    if (!stackTrace.includes('.apply(')) continue;
    const frames = parseStackTrace(stackTrace);
    for (const [index, { text, path, line }] of frames.entries()) {
      const name = /\b([A-Za-z_][\w.]*)\.apply\(/.exec(text)?.[1];
      const called = frames[index + 1]?.text ?? '';
      if (name === undefined || name.startsWith('self') || !isForwardOfFunction(called)) continue;
      found.set(name, `line ${line} of \`${path.slice(path.lastIndexOf('/') + 1)}\``);
    }
  }
  const [first] = found;
  if (first === undefined) return [];
  const others = found.size === 1 ? '' : ` (${found.size} functions are such)`;
  return [
    {
      code: 'pt2/custom-backward',
      severity: 'warning',
      message: `\`${first[0]}\`, called in ${first[1]}, has a backward of its own, which an archive does not hold${others}: backward and what it keeps are costed as those of the operators of its forward`,
    },
  ];
}

/** Its frame is the line of a function that is no method of a module: the source of `forward` begins with the context. */
const isForwardOfFunction = (text: string): boolean => text !== '' && !/\bself\b/.test(text);
