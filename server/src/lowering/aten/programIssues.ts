/** What is wrong with a program as a whole, found while it was lowered. */

import type { AtenNode, ExportedProgram } from '../../formats/pt2/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';

/** A call of which an operand is nowhere. */
export interface MissingOperand {
  readonly target: string;
  readonly operand: string;
}

/** `pt2/operand`: one issue, however many calls read what is not there. */
export function missingOperands(missing: readonly MissingOperand[]): readonly Issue[] {
  const [first] = missing;
  if (first === undefined) return [];
  const others = missing.length === 1 ? '' : ` (${missing.length} calls read such tensors)`;
  return [
    {
      code: 'pt2/operand',
      severity: 'error',
      message: `\`${first.target}\` reads \`${first.operand}\`, which nothing before it computes${others}: the program is damaged, export the model again`,
    },
  ];
}

/** `pt2/write`: one issue, however many writes are not followed. */
export function lostWrites(lost: readonly AtenNode[]): readonly Issue[] {
  const [first] = lost;
  if (first === undefined) return [];
  const others = lost.length === 1 ? '' : ` (${lost.length} writes are such)`;
  const place = first.modules.at(-1)?.path ?? '';
  return [
    {
      code: 'pt2/write',
      severity: 'warning',
      message: `\`${first.outputs[0] ?? first.target}\`${place === '' ? '' : ` in \`${place}\``} writes into a view that cannot be followed${others}: weights before it may be missing from the gradients. Export the model again after \`run_decompositions()\``,
    },
  ];
}

/** `pt2/no-gradient`: nothing of the program is trained, although it has weights that ask for it. */
export function withoutGradients(
  { inputs, graph }: ExportedProgram,
  outputs: readonly Tensor[],
  detached: ReadonlySet<string>,
): readonly Issue[] {
  const asks = inputs.some(
    ({ name, kind }) => kind === 'parameter' && graph.tensors.get(name)?.requiresGrad === true,
  );
  if (!asks || outputs.length === 0 || !outputs.every(({ name }) => detached.has(name))) return [];
  return [
    {
      code: 'pt2/no-gradient',
      severity: 'warning',
      message:
        'All results of the program are computed without gradients, so that no weight is trained. A checkpoint with `use_reentrant=True` exports so: export the model without it, and set `checkpoint: block`',
    },
  ];
}
