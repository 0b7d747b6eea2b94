/** ONNX text as tokens with what each of them is: enough for names and proposals in a text that is half written. */

import type { TextSpan } from '../../model/issue.ts';

export interface OnnxToken {
  readonly kind: 'word' | 'text' | 'number' | 'punctuation';
  /** As written; of a quoted name, what is inside. */
  readonly text: string;
  /** Without quotes. */
  readonly span: TextSpan;
  readonly role: Role;
  /** Counts models and functions of the text: a name means the same in one of them. */
  readonly scope: number;
  /** Of an attribute: the operator that it is given to. */
  readonly operator?: CalledOperator;
}

export interface CalledOperator {
  readonly domain: string;
  readonly type: string;
}

/** `value` names are defined or read; an operator is what a node calls; an attribute is named in angle brackets. */
export type Role = 'definition' | 'reference' | 'operator' | 'attribute' | 'other';

/** Where a token stands: inside which brackets. */
export interface Nesting {
  readonly opened: '(' | '[' | '<' | '{';
  /** Nodes stand in the braces of a body, numbers in those of a tensor. */
  readonly isBody: boolean;
  /** The operator whose attributes or inputs these are. */
  readonly operator: CalledOperator | undefined;
}

export interface OnnxTokens {
  readonly tokens: readonly OnnxToken[];
  /** The brackets that are open at the end. */
  readonly nesting: readonly Nesting[];
  /** Inside a comment or an open quote. */
  readonly isInert: boolean;
}

/** The tokens of `source` up to `end`. */
export function tokenizeOnnxText(source: string, end = source.length): OnnxTokens {
  const raw = rawTokens(source, end);
  const tokens: OnnxToken[] = [];
  const nesting: Nesting[] = [];
  let scope = 0;
  for (const [index, token] of raw.tokens.entries()) {
    const before = raw.tokens[index - 1];
    const after = raw.tokens[index + 1];
    const role = roleOf(token, before, after, nesting, tokens);
    const operator = role === 'attribute' ? nesting.at(-1)?.operator : undefined;
    tokens.push({ ...token, role, scope, ...(operator && { operator }) });
    if (token.kind !== 'punctuation') continue;
    if (isOpening(token.text)) {
      const isBody = token.text === '{' && (before?.text === ')' || before?.text === '>');
      nesting.push({ opened: token.text, isBody, operator: operatorBefore(tokens) });
    } else if (closing.has(token.text)) {
      const open = nesting.at(-1);
      if (open !== undefined && pairs[open.opened] === token.text) nesting.pop();
      // A body that closes at the outermost level ends a model or a function.
      if (token.text === '}' && nesting.length === 0) scope += 1;
    }
  }
  return { tokens, nesting, isInert: raw.isInert };
}

type Raw = Omit<OnnxToken, 'role' | 'scope' | 'operator'>;

function rawTokens(
  source: string,
  end: number,
): { readonly tokens: readonly Raw[]; readonly isInert: boolean } {
  const tokens: Raw[] = [];
  let isInert = false;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(source); match !== null && match.index < end; match = pattern.exec(source)) {
    const { index } = match;
    const [text] = match;
    const last = index + text.length;
    if (text.startsWith('#')) {
      isInert = last >= end;
      continue;
    }
    if (text.startsWith('"')) {
      const isClosed = text.length > 1 && text.endsWith('"');
      isInert = last > end || !isClosed;
      const span = { start: index + 1, end: isClosed ? last - 1 : last };
      tokens.push({ kind: 'text', text: source.slice(span.start, span.end), span });
      continue;
    }
    const span = { start: index, end: Math.min(last, end) };
    const kind = /^[A-Za-z_]/.test(text) ? 'word' : /^[\d.]/.test(text) ? 'number' : 'punctuation';
    tokens.push({ kind, text: source.slice(span.start, span.end), span });
  }
  return { tokens, isInert };
}

const pattern = /#[^\n]*|"(?:[^"\\\n]|\\.)*"?|[A-Za-z_][\w]*|\d[\w.+]*|=>|[^\s\w]/g;

function roleOf(
  token: Raw,
  before: Raw | undefined,
  after: Raw | undefined,
  nesting: readonly Nesting[],
  done: readonly OnnxToken[],
): Role {
  if (token.kind !== 'word' && token.kind !== 'text') return 'other';
  const inner = nesting.at(-1);
  if (inner === undefined || inner.opened === '[' || before?.text === '.') {
    return inner?.isBody && before?.text === '.' ? 'operator' : 'other';
  }
  const isType =
    after?.text === '[' || after?.kind === 'word' || (after?.kind === 'text' && token.kind === 'word');
  const isTyped = before?.text === ']' || (before?.kind === 'word' && done.at(-1)?.role === 'other');
  if (inner.opened === '<') {
    if (isTyped && !isType && before?.text !== ':') return 'definition';
    return before?.text === '<' || before?.text === ',' ? 'attribute' : 'other';
  }
  if (inner.opened === '(') {
    if (isType && !isTyped) return 'other';
    if (inner.operator !== undefined) return 'reference';
    // Outputs of a graph are declared; nodes define them.
    return isOutputList(done) ? 'reference' : 'definition';
  }
  if (!inner.isBody) return 'other';
  if (after?.text === '.' || after?.text === ':') return 'other';
  if (before?.text === '=' || before?.text === ':') return 'operator';
  return 'definition';
}

function isOutputList(done: readonly OnnxToken[]): boolean {
  const open = done.findLastIndex(({ text, kind }) => kind === 'punctuation' && text === '(');
  return done[open - 1]?.text === '=>';
}

/** The operator that the next bracket belongs to; `undefined` for those of graphs and functions. */
function operatorBefore(tokens: readonly OnnxToken[]): CalledOperator | undefined {
  let index = tokens.length - 2;
  // Attributes stand before the inputs or, where they hold graphs, behind them.
  const before = tokens[index];
  const open = before?.kind === 'punctuation' ? openings.get(before.text) : undefined;
  if (open !== undefined) {
    let depth = 0;
    for (; index >= 0; index -= 1) {
      const { text, kind } = tokens[index] ?? {};
      if (kind !== 'punctuation') continue;
      if (text === before?.text) depth += 1;
      if (text === open) depth -= 1;
      if (depth === 0) break;
    }
    index -= 1;
  }
  const found = tokens[index];
  if (found?.role !== 'operator') return undefined;
  const domain: string[] = [];
  for (; tokens[index - 1]?.text === '.'; index -= 2) domain.unshift(tokens[index - 2]?.text ?? '');
  return { domain: domain.join('.'), type: found.text };
}

/** The version of a domain that the model or function of this scope imports; `undefined` where it says none. */
export function importedVersion(
  tokens: readonly OnnxToken[],
  scope: number,
  domain: string,
): number | undefined {
  const own = tokens.filter((token) => token.scope === scope);
  const start = own.findIndex(({ text }) => text === 'opset_import');
  if (start < 0) return undefined;
  const end = own.findIndex(
    ({ text, kind }, index) => index > start && kind === 'punctuation' && text === ']',
  );
  const entries = own.slice(start + 1, end < 0 ? undefined : end);
  const name = entries.findIndex(
    ({ text, kind }) => kind === 'text' && (text === 'ai.onnx' ? '' : text) === domain,
  );
  const version = Number(name < 0 ? undefined : entries[name + 2]?.text);
  return Number.isInteger(version) ? version : undefined;
}

const pairs = { '(': ')', '[': ']', '<': '>', '{': '}' } as const;
const openings: ReadonlyMap<string, string> = new Map([
  ['>', '<'],
  [')', '('],
]);
const closing: ReadonlySet<string> = new Set(Object.values(pairs));
const isOpening = (text: string): text is keyof typeof pairs => text in pairs;
