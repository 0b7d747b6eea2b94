/**
 * Issues: what is wrong with the input, as values. Parsers and inference return them beside their result.
 *
 * Codes are a closed set, registered in `issueCodes.ts`; the message follows the message law:
 * what is wrong, where, what to do.
 */

import type { IssueCode } from './issueCodes.ts';
import type { ScenarioKey } from './scenarioKey.ts';

export type Severity = 'error' | 'warning' | 'information';

/** Half-open range of UTF-16 offsets in a text document. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** One edit of the text that takes an issue away: `span` becomes `text`. */
export interface Repair {
  /** What it does, as an editor offers it. */
  readonly title: string;
  readonly span: TextSpan;
  readonly text: string;
}

export interface Issue {
  readonly code: IssueCode;
  readonly severity: Severity;
  /** One line: what is wrong, where, what to do. No trailing full stop. */
  readonly message: string;
  /** Where in the text document, for textual formats. */
  readonly span?: TextSpan;
  /** Which operator, by its index in the file's node order, for graph formats. */
  readonly operator?: number;
  /** Which attribute of the operator, or of one inside it, by its name. */
  readonly attribute?: string;
  /** Which value (tensor) of the graph. */
  readonly value?: string;
  /** Which key of the scenario asked for it. */
  readonly scenarioKey?: ScenarioKey;
  /** Which part of that key's value: `name`, or an option of the framework. */
  readonly scenarioPart?: string;
  /** What the reader took the text for, written out: reading went on as if it stood there. */
  readonly repair?: Repair;
  /** Dimensions that a person can give a value; the message says what holds without, each surface how to give it. */
  readonly unset?: readonly string[];
}

/** Puts `text` at an offset, where it is missing. */
export const insertion = (text: string, at: number): Repair => ({
  title: `Insert \`${text.trim()}\``,
  span: { start: at, end: at },
  text,
});
