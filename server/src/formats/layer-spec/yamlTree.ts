/** The part of YAML that layer specs are written in: scalars, mappings and lists, each with its place. */

import { insertion, type Repair, type TextSpan } from '../../model/issue.ts';

export type YamlNode = YamlScalar | YamlMap | YamlList | YamlUnreadable;

/** What layer specs do not use (an anchor, a tag, a text block); a problem has been reported. */
export interface YamlUnreadable {
  readonly kind: 'unreadable';
  readonly span: TextSpan;
}

export interface YamlScalar {
  readonly kind: 'scalar';
  readonly quoted: boolean;
  /** With its quotes. */
  readonly span: TextSpan;
  /** Without them. */
  readonly content: TextSpan;
  /** As YAML means it: escapes resolved, lines folded. */
  readonly text: string;
  /** A problem has been reported in it, and others inside would only follow from that one. */
  readonly broken?: true;
}

export interface YamlMap {
  readonly kind: 'map';
  readonly entries: readonly YamlEntry[];
  readonly span: TextSpan;
}

export interface YamlEntry {
  readonly key: YamlScalar;
  /** `undefined` where nothing is written. */
  readonly value: YamlNode | undefined;
}

export interface YamlList {
  readonly kind: 'list';
  readonly items: readonly YamlItem[];
  readonly span: TextSpan;
}

export interface YamlItem {
  /** `undefined` where nothing is written. */
  readonly value: YamlNode | undefined;
  /** The item, or its dash where it has no value. */
  readonly span: TextSpan;
}

/** What is wrong with the text as YAML. */
export interface YamlProblem {
  readonly message: string;
  readonly span: TextSpan;
  /** The second use of a key in one mapping: nothing is lost by it. */
  readonly duplicate?: true;
  readonly repair?: Repair;
  /** The line stands where none of its kind can, which the line's indent may be to blame for. */
  readonly misplaced?: true;
}

/** A key that nothing parts from its value. */
export const missingColon = ({ text, span }: YamlScalar): YamlProblem => ({
  message: `\`:\` is missing after \`${text}\``,
  span,
  repair: insertion(':', span.end),
});

/** `d 768` as the entry that was meant; `undefined` for a scalar that does not begin with a name. */
export function dividedAtBlank(
  text: string,
  { quoted, content }: YamlScalar,
): { readonly key: YamlScalar; readonly value: YamlScalar } | undefined {
  const written = text.slice(content.start, content.end);
  const found = quoted
    ? null
    : /^([\p{L}_][\p{L}\p{N}_-]*(?:,\s*[\p{L}_][\p{L}\p{N}_]*)*)\s+(?=\S)/u.exec(written);
  if (found === null) return undefined;
  const keyEnd = content.start + (found[1] ?? '').length;
  return {
    key: plainScalar(text, content.start, keyEnd),
    value: plainScalar(text, content.start + found[0].length, content.end),
  };
}

function plainScalar(text: string, start: number, end: number): YamlScalar {
  const span = { start, end };
  return { kind: 'scalar', quoted: false, span, content: span, text: text.slice(start, end) };
}

/** What a scalar means: quoted text is text, plain words may be numbers, truth values, or nothing (YAML 1.2 core schema). */
export function scalarValue(node: YamlScalar): string | number | boolean | null {
  if (node.quoted) return node.text;
  if (/^(?:~|null|Null|NULL)?$/.test(node.text)) return null;
  if (/^(?:true|True|TRUE)$/.test(node.text)) return true;
  if (/^(?:false|False|FALSE)$/.test(node.text)) return false;
  if (/^[-+]?(?:\d+|(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?)$/.test(node.text)) return Number(node.text);
  return node.text;
}

/** Nothing, `~` or `null`. */
export const isNothing = (node: YamlNode | undefined): boolean =>
  node === undefined || (node.kind === 'scalar' && !node.quoted && /^(?:~|null|)$/.test(node.text));
