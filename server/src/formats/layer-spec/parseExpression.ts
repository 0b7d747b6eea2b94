/** Expressions as Python writes them: numbers, names, arithmetic on them, tuples. */

import { insertion } from '../../model/issue.ts';
import type { BinaryOperator, Expression } from './syntax.ts';
import { takeList } from './takeList.ts';
import { type Parsed, parseTokens, type TokenCursor } from './tokenCursor.ts';
import type { Token } from './tokenize.ts';

/** An expression such as `4*d` or `(3, 224, 224)`. */
export function parseExpression(text: string, start: number, end: number): Parsed<Expression> {
  return parseTokens(text, start, end, (cursor) => {
    const result = takeExpression(cursor);
    if (result !== undefined) cursor.expectEnd('an expression');
    return result;
  });
}

/** expression := product (('+' | '-') product)* ; `depth` is the number of brackets and exponents around it. */
export function takeExpression(cursor: TokenCursor, depth = 0): Expression | undefined {
  if (depth < deepestNesting) return takeRow(cursor, ['+', '-'], takeProduct, depth + 1);
  cursor.report(cursor.token.span, 'the expression is nested too deeply');
  return undefined;
}

/** Nesting beyond this is no layer call; it keeps hostile text from exhausting the stack. */
const deepestNesting = 64;

/** product := unary (('*' | '/' | '//' | '%') unary)* */
const takeProduct = (cursor: TokenCursor, depth: number): Expression | undefined =>
  takeRow(cursor, ['*', '/', '//', '%'], takeUnary, depth);

/** Operands with operators of one precedence between them, which bind to the left. */
function takeRow(
  cursor: TokenCursor,
  operators: readonly BinaryOperator[],
  takeOperand: (cursor: TokenCursor, depth: number) => Expression | undefined,
  depth: number,
): Expression | undefined {
  let left = takeOperand(cursor, depth);
  for (let count = 0; left !== undefined; count += 1) {
    const operator = operators.find((candidate) => cursor.at(candidate));
    if (operator === undefined) return left;
    if (count >= mostOperands) {
      cursor.report(cursor.token.span, `the expression has more than ${mostOperands} operands`);
      return undefined;
    }
    cursor.advance();
    const right = takeOperand(cursor, depth);
    if (right === undefined) return undefined;
    left = binary(left, operator, right);
  }
  return left;
}

/** A sum or product longer than this is no size; what reads it recurses along its operands. */
const mostOperands = 256;

const binary = (left: Expression, operator: BinaryOperator, right: Expression): Expression => ({
  kind: 'binary',
  operator,
  left,
  right,
  span: { start: left.span.start, end: right.span.end },
});

/** unary := ('-' | '+') unary | atom ('**' unary)? ; in a loop, so that many signs do not nest. */
export function takeUnary(cursor: TokenCursor, depth = 0): Expression | undefined {
  const { start } = cursor.token.span;
  let isNegative = false;
  while (cursor.at('-') || cursor.at('+')) {
    if (cursor.at('-')) isNegative = !isNegative;
    cursor.advance();
  }
  const operand = takePower(cursor, depth);
  if (operand === undefined || start === operand.span.start) return operand;
  const span = { start, end: operand.span.end };
  if (!isNegative) return { ...operand, span };
  if (operand.kind === 'number') return { kind: 'number', value: -operand.value, span };
  return { kind: 'negation', operand, span };
}

function takePower(cursor: TokenCursor, depth: number): Expression | undefined {
  const base = takeAtom(cursor, depth);
  if (base === undefined || !cursor.take('**')) return base;
  const exponent = depth >= deepestNesting ? undefined : takeUnary(cursor, depth + 1);
  return exponent && binary(base, '**', exponent);
}

function takeAtom(cursor: TokenCursor, depth: number): Expression | undefined {
  const { token } = cursor;
  const { kind, text, span } = token;
  switch (kind) {
    case 'number':
      cursor.advance();
      return numberOf(token);
    case 'string':
      cursor.advance();
      return { kind: 'string', value: text, span };
    case 'unknown':
      if (!/^['"]/.test(text)) break;
      cursor.advance();
      cursor.report(span, whyNoValue(token), insertion(text[0] ?? '', span.end));
      return { kind: 'string', value: text.slice(1), span };
    case 'name':
      cursor.advance();
      if (takeLoneQuote(cursor, token)) return { kind: 'string', value: text, span };
      if (text === 'True' || text === 'true') return { kind: 'boolean', value: true, span };
      if (text === 'False' || text === 'false') return { kind: 'boolean', value: false, span };
      if (text === 'None' || text === 'null') return { kind: 'none', span };
      return takeMember(cursor, token);
    default:
      if (text === '(') return takeGroup(cursor, ')', depth);
      if (text === '[') return takeGroup(cursor, ']', depth);
  }
  cursor.report(span, whyNoValue(token));
  return undefined;
}

/** The quote that ends a word whose first quote is missing: `tanh'`. */
function takeLoneQuote(cursor: TokenCursor, { text, span }: Token): boolean {
  const { token } = cursor;
  if (token.kind !== 'unknown' || !/^['"]$/.test(token.text) || token.span.start !== span.end) return false;
  const message = `\`${token.text}\` is missing before \`${text}\``;
  cursor.report(span, message, insertion(token.text, span.start));
  cursor.advance();
  return true;
}

/** Python writes `1_000` too. */
export const numberOf = ({ text, span }: Token): Expression => ({
  kind: 'number',
  value: Number(text.replaceAll('_', '')),
  span,
});

/** A name, or one output of the layer it names. */
function takeMember(cursor: TokenCursor, { text, span }: Token): Expression {
  if (!cursor.take('.')) return { kind: 'name', name: text, span };
  const member = cursor.takeName();
  if (member === undefined) {
    cursor.report(cursor.token.span, `expected an output of \`${text}\``);
    return { kind: 'name', name: text, span };
  }
  const whole = { start: span.start, end: member.span.end };
  return { kind: 'member', object: { text, span }, member, span: whole };
}

/** `(a)` is a; `(a,)`, `(a, b)`, `()` and everything in square brackets are tuples. */
function takeGroup(cursor: TokenCursor, close: ')' | ']', depth: number): Expression | undefined {
  const { start } = cursor.token.span;
  cursor.advance();
  const items: Expression[] = [];
  const { commas, closed } = takeList(cursor, close, () => {
    const item = takeExpression(cursor, depth);
    if (item !== undefined) items.push(item);
    return item !== undefined;
  });
  if (!closed) return undefined;
  const span = { start, end: cursor.previousEnd };
  const [only] = items;
  if (close === ')' && items.length === 1 && commas === 0 && only !== undefined) return { ...only, span };
  return { kind: 'tuple', items, span };
}

function whyNoValue({ kind, text }: Token): string {
  if (kind === 'end') return 'the text ends where a value is expected';
  return /^['"]/.test(text)
    ? `the text in quotes does not end; close it with \`${text[0]}\``
    : `expected a value, found \`${text}\``;
}
