/** What words mean, for the colours of an editor: finer than what a grammar of lines can tell. */

import type { TextSpan } from '../model/issue.ts';

/** LSP's standard types, so that every theme has colours for them; the order is the legend. */
export const tokenTypes = [
  'variable',
  'function',
  'class',
  'macro',
  'parameter',
  'property',
  'type',
  'enumMember',
] as const;
export type TokenType = (typeof tokenTypes)[number];

export const tokenModifiers = ['declaration', 'readonly', 'defaultLibrary'] as const;
export type TokenModifier = (typeof tokenModifiers)[number];

export interface SemanticToken {
  /** Within one line. */
  readonly span: TextSpan;
  readonly type: TokenType;
  readonly modifiers: readonly TokenModifier[];
}
