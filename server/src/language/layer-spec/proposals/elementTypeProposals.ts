/** Element types of an input: `float32[…]`. */

import { elementTypes } from '../../../model/elementType.ts';
import type { Completion } from '../../completion.ts';
import { type ProposalSite, proposal } from './proposalSite.ts';

/** What models are given most often comes first. */
const common: readonly string[] = ['float32', 'int64', 'bool'];

export function elementTypeProposals(site: ProposalSite): readonly Completion[] {
  const others = elementTypes.filter(
    (type) => type !== 'undefined' && type !== 'string' && !common.includes(type),
  );
  return [...common, ...others].map((type) => ({
    ...proposal(site, type, 'value', 'element type'),
    ...(site.context.after.startsWith('[') ? {} : { insert: `${type}[$0]`, snippet: true }),
  }));
}
