/** What may stand behind a call: its sources and its marks. */

import { findMark, markDefinitions } from '../../../formats/layer-spec/marks.ts';
import type { Completion } from '../../completion.ts';
import { type ProposalSite, proposal } from './proposalSite.ts';

/** `from`, unless it is written, and the marks that are not among `written`. */
export function markProposals(
  site: ProposalSite,
  hasSources: boolean,
  written: readonly string[],
): readonly Completion[] {
  const from = 'Reads the layers named here instead of the one above.';
  return [
    ...(hasSources ? [] : [{ ...proposal(site, 'from', 'key', '', from), insert: 'from ' }]),
    ...markDefinitions
      .filter(({ name }) => !written.includes(name))
      .map(({ name, values, documentation }) => ({
        ...proposal(site, name, 'key', '', documentation),
        insert: values === undefined ? name : `${name}=`,
      })),
  ];
}

/** What may follow the `=` of a mark. */
export const markValueProposals = (site: ProposalSite, mark: string): readonly Completion[] =>
  (findMark(mark)?.values ?? []).map((value) => proposal(site, value, 'value'));
