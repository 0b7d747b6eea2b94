/** Tells functions with a backward of their own, of which an archive holds the operators of forward alone. */

import { customFunctions } from '../../formats/customFunctions.ts';
import type { AtenGraph } from '../../formats/pt2/syntax.ts';
import type { Issue } from '../../model/issue.ts';

/** `pt2/custom-backward`: one issue for all such functions. */
export function customBackwardIssues(graph: AtenGraph): readonly Issue[] {
  const found = customFunctions(graph.nodes.map(({ stackTrace }) => stackTrace));
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
