/** What a kind of fix is asked with, and what it answers. */

import type { ModelEstimate } from '../../../estimate/estimateModel.ts';
import type { TextSpan } from '../../../model/issue.ts';
import type { Diagnostic } from '../../diagnostics.ts';
import type { ModelView } from '../../modelView.ts';
import type { TextEdit } from '../../textEdit.ts';
import type { SpecText } from '../specText.ts';

export interface Wrong {
  readonly document: SpecText;
  readonly view: ModelView;
  readonly diagnostic: Diagnostic;
  /** What the diagnostic underlines. */
  readonly span: TextSpan;
  /** Costs an edited text: the model that the diagnostic is about. */
  readonly recost: (source: string) => ModelEstimate;
}

export interface Change {
  readonly title: string;
  readonly edits: readonly TextEdit[];
}
