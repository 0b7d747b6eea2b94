/** Dims, block parameters and open sizes by name. */

import type { Completion } from '../../completion.ts';
import type { CallableParameter } from '../callable.ts';
import { inputsAt, visibleValues } from '../visibleNames.ts';
import { followedSize } from './inputShape.ts';
import { dimensionValuesAt, type ProposalSite, proposal } from './proposalSite.ts';

/** Those whose value is the size that `parameter` must have come first, the batch last. */
export function dimensionProposals(site: ProposalSite, parameter?: CallableParameter): readonly Completion[] {
  const { document, context } = site;
  const values = dimensionValuesAt(site);
  const actual = parameter?.follows ? followedSize(site, parameter.name) : undefined;
  const matches = (name: string): boolean => actual !== undefined && values.get(name) === actual;
  const own = definedHere(site);
  const [leading] = inputsAt(document.spec, context)[0]?.dimensions ?? [];
  // No layer has the batch for a size.
  const isBatch = (name: string): boolean =>
    parameter !== undefined && leading?.kind === 'name' && leading.name === name;
  const rank = (name: string): number => (matches(name) ? 0 : isBatch(name) ? 2 : 1);
  return visibleValues(document.spec, context)
    .toSorted((left, right) => rank(left) - rank(right))
    .filter((name) => name !== own)
    .map((name) => {
      const detail = String(values.get(name) ?? '');
      return proposal(site, name, 'dimension', matches(name) ? `${detail}, size of the input` : detail);
    });
}

/** The dimension that this line defines, which cannot stand in its own value. */
function definedHere({ document, context }: ProposalSite): string | undefined {
  if (context.place.kind !== 'dimension-value') return undefined;
  const line = document.source.slice(context.lineStart, context.span.start);
  return /([\p{L}_][\p{L}\p{N}_]*)\s*:[^:]*$/u.exec(line)?.[1];
}
