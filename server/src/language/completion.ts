/** What an editor may propose at the cursor, as plain data, in the order in which it fits. */

import type { TextSpan } from '../model/issue.ts';

export interface Completion {
  readonly label: string;
  readonly kind: CompletionKind;
  /** Short, beside the label: a signature, a type, a value. */
  readonly detail: string;
  /** Markdown. */
  readonly documentation: string;
  /** What is written; for snippets with tab stops as VS Code writes them. */
  readonly insert: string;
  readonly snippet?: true;
  /** What it replaces. */
  readonly span: TextSpan;
  /** Arguments follow, so their help should open. */
  readonly asksForArguments?: true;
  /** What follows is proposed too, so its proposals should open. */
  readonly asksForProposals?: true;
}

export type CompletionKind =
  | 'module'
  | 'function'
  | 'operator'
  | 'block'
  | 'argument'
  | 'value'
  | 'dimension'
  | 'tensor'
  | 'key'
  | 'snippet'
  | 'file'
  | 'folder';
