/**
 * What people write in the place of a call, or around one, that Python allows and a layer spec does not.
 *
 * Each is said in the words of what was meant, and read as that where it can be, so that the line keeps its cost.
 */

import { nearestName } from '../../model/nearestName.ts';
import { wordsBehindCall } from './marks.ts';
import { numberOf } from './parseExpression.ts';
import type { Argument, LayerCall, Name, Reference } from './syntax.ts';
import { takeArguments } from './takeArguments.ts';
import type { Bracket } from './takeList.ts';
import type { TokenCursor } from './tokenCursor.ts';
import type { Token } from './tokenize.ts';

/** `a + b` where a call belongs is read as `add(a, b)`; what is longer is left out. */
export function takeJoinedTensors(cursor: TokenCursor, written: string): LayerCall | undefined {
  const [left, operator, right, next] = [cursor.token, cursor.peek(1), cursor.peek(2), cursor.peek(3)];
  const name = functionOf.get(operator.text);
  if (name === undefined) return undefined;
  // `conv * 2` and `2 * conv()` repeat a layer.
  const isJoined =
    left.kind === 'name'
      ? right.kind === 'name' || (right.kind === 'number' && operator.text !== '*')
      : left.kind === 'number' && right.kind === 'name' && next.text !== '(';
  if (!isJoined) return undefined;
  const isWhole = next.kind === 'end';
  const { start } = left.span;
  const span = isWhole ? { start, end: right.span.end } : cursor.spanFrom(start);
  const call = `\`${name}(${left.text}, ${isWhole ? right.text : '…'})\``;
  cursor.report(span, `a layer is one call: write ${call} instead of \`${operator.text}\``);
  cursor.skipRest();
  if (!isWhole) return undefined;
  return {
    written,
    callee: { text: name, span: operator.span },
    arguments: [operandOf(left), operandOf(right)],
    argumentsSpan: span,
    repetition: undefined,
    sources: [],
    marks: [],
  };
}

/** Calls in the place of operators between tensors. */
const functionOf: ReadonlyMap<string, string> = new Map([
  ['+', 'add'],
  ['-', 'sub'],
  ['*', 'mul'],
  ['/', 'div'],
  ['@', 'matmul'],
  ['**', 'pow'],
]);

function operandOf(token: Token): Argument {
  const { kind, text, span } = token;
  const value = kind === 'number' ? numberOf(token) : ({ kind: 'name', name: text, span } as const);
  return { keyword: undefined, value, span };
}

/** Where no name of a layer stands. */
export function reportNoCall(cursor: TokenCursor): void {
  const { kind, text, span } = cursor.token;
  if (kind === 'end') {
    cursor.report(span, 'the layer has no call; write one such as `Linear(768, 3072)`');
    return;
  }
  const next = cursor.peek();
  const hint =
    kind === 'number' && next.text === '*'
      ? `; write a repetition after the call: \`decoder() * ${text}\``
      : text === '-' && next.kind === 'name'
        ? `; write \`neg(${next.text})\``
        : '';
  cursor.report(span, `expected the name of a layer, found \`${text}\`${hint}`);
}

/**
 * `Linear4*d, d)`: a bracket closes that none opened. Whether there is one; where the name ends is for those to say who
 * know the layers.
 */
export function reportMissingOpening(cursor: TokenCursor): boolean {
  let at = 0;
  while (cursor.peek(at).kind === 'name' && cursor.peek(at + 1).text === '.') at += 2;
  const { kind, text, span } = cursor.peek(at);
  if (kind !== 'name') return false;
  let depth = 0;
  for (at += 1; cursor.peek(at).kind !== 'end' && depth >= 0; at += 1) {
    const token = cursor.peek(at);
    if (token.kind === 'string') continue;
    // An opening bracket right behind the name is the call's.
    if (token.text === '(' && depth === 0) return false;
    if (token.text === '(') depth += 1;
    if (token.text === ')') depth -= 1;
  }
  if (depth >= 0) return false;
  cursor.report(span, `\`(\` is missing after the name of the layer, in \`${text}\``);
  return true;
}

/** `x[:, 0]` and `x.shape[0]`: parts of a tensor and its sizes, as Python takes them. */
export function reportSubscript(cursor: TokenCursor, { text, span }: Name, isMember: boolean): void {
  const message =
    isMember && text === 'shape'
      ? 'a size is not a layer; write the dim, such as `batch`, where it is needed'
      : `\`${text}[…]\` is not a call: use \`select\`, \`narrow\`, \`slice\` or \`split\` for parts of a tensor, and parentheses to call a block`;
  cursor.report(cursor.spanFrom(span.start), message);
  cursor.skipRest();
}

/** What stands behind a name in the place of arguments in parentheses. */
export function takeMisplacedArguments(cursor: TokenCursor, { text, span }: Name): readonly Argument[] {
  const { token } = cursor;
  const close = token.kind === 'string' ? undefined : otherBrackets.get(token.text);
  if (close !== undefined) {
    const message = `\`${text}\` is called with parentheses, \`${text}(…)\`, not with \`${token.text}${close}\``;
    cursor.report(token.span, message);
    return takeArguments(cursor, close);
  }
  const isWord = token.kind === 'name' && nearestName(token.text, wordsBehindCall) !== undefined;
  if (isWord || !['name', 'number', 'string'].includes(token.kind)) {
    cursor.report(span, `\`${text}\` is not called; write \`${text}()\``);
  } else {
    cursor.report(cursor.spanFrom(token.span.start), `write arguments in parentheses: \`${text}(…)\``);
    cursor.skipRest();
  }
  return [];
}

/** Brackets of other languages in which arguments stand, with those that close them. */
const otherBrackets: ReadonlyMap<string, Bracket> = new Map([
  ['[', ']'],
  ['{', '}'],
  ['<', '>'],
]);

/** The second call of `Loss()(a, b)`, as Python calls a module: its inputs. */
export function takeSecondCall(cursor: TokenCursor, { text }: Name): readonly Reference[] {
  const { start } = cursor.token.span;
  const sources = takeArguments(cursor, ')').flatMap(({ value }): readonly Reference[] => {
    if (value.kind === 'name') return [{ text: value.name, span: value.span, output: undefined }];
    return value.kind === 'member' ? [{ ...value.object, output: value.member }] : [];
  });
  const names = sources.map((source) => source.text).join(', ');
  const example = `\`${text}(…) from ${names === '' ? 'x' : names}\``;
  cursor.report({ start, end: cursor.previousEnd }, `write inputs after \`from\`: ${example}`);
  return sources;
}

/** Whatever is left behind a call, often a second one. */
export function expectEndOfCall(cursor: TokenCursor): void {
  const { kind, text, span } = cursor.token;
  const next = cursor.peek();
  const rest = cursor.spanFrom(span.start);
  if ((text === ')' || text === ']') && kind !== 'string') {
    cursor.report(span, `\`${text}\` closes nothing; remove it`, {
      title: `Remove \`${text}\``,
      span,
      text: '',
    });
    return;
  }
  if (text === ',' || (text === '-' && next.text === '>')) {
    const message = 'a layer is one call: put the rest on its own line, as `- name: Layer(…)`';
    cursor.report(rest, message);
    return;
  }
  const name = functionOf.get(text);
  const isJoined = kind !== 'name' && kind !== 'string' && (name !== undefined || text === '.');
  if (!isJoined) {
    cursor.expectEnd('the call');
    return;
  }
  const example = name === undefined ? `${next.text}(…)` : `${name}(…, …)`;
  cursor.report(rest, `a layer is one call: put the rest on its own line, as \`${example}\``);
}
