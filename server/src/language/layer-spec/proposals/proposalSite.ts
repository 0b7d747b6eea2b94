/** Where something is proposed: the text, the cursor in it, and what was last costed. */

import type { Completion, CompletionKind } from '../../completion.ts';
import type { ModelView } from '../../modelView.ts';
import type { CursorContext } from '../cursorContext.ts';
import { dimensionValues } from '../dimensionValues.ts';
import type { SpecText } from '../specText.ts';

export interface ProposalSite {
  readonly document: SpecText;
  readonly context: CursorContext;
  /** Of the model that the cursor is in; `undefined` before anything was costed. */
  readonly view: ModelView | undefined;
}

/** The word `label`, in the place of the one that is being written. */
export const proposal = (
  { context }: ProposalSite,
  label: string,
  kind: CompletionKind,
  detail = '',
  documentation = '',
): Completion => ({ label, kind, detail, documentation, insert: label, span: context.span });

/** Values of dims, those of the scenario first. */
export const dimensionValuesAt = ({ document, view }: ProposalSite): ReadonlyMap<string, number> =>
  dimensionValues(document.spec, view?.estimate.scenario?.dimensions, view?.part?.name);
