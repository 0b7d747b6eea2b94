/** Pieces of a layer spec that may begin at the cursor. */

import type { Completion } from '../../completion.ts';
import { snippetsAt } from '../snippets.ts';
import type { ProposalSite } from './proposalSite.ts';

export function snippetProposals({ document, context }: ProposalSite): readonly Completion[] {
  const { lineStart, span, place } = context;
  const isDashed = /-\s*$/.test(document.source.slice(lineStart, span.start));
  return snippetsAt(place.kind).map(({ name, documentation, body }) => ({
    label: name,
    kind: 'snippet',
    detail: documentation,
    documentation: `\`\`\`yaml\n${body.replace(/\$\{?\d+:?([^}]*)\}?/g, '$1').trimEnd()}\n\`\`\``,
    insert: isDashed ? body.replace(/^- /, '') : body,
    snippet: true,
    span,
  }));
}
