/** The parts of a syntax tree as they stand further on in a text. */

import type { Issue, TextSpan } from '../../model/issue.ts';
import type { Argument, Expression, LayerCall, Mark, Name, Reference } from './syntax.ts';

export const moveCall = (call: LayerCall, by: number): LayerCall => ({
  written: call.written,
  callee: moveName(call.callee, by),
  arguments: call.arguments.map((argument) => moveArgument(argument, by)),
  argumentsSpan: moveSpan(call.argumentsSpan, by),
  repetition: call.repetition && moveExpression(call.repetition, by),
  sources: call.sources.length === 0 ? call.sources : call.sources.map((source) => moveReference(source, by)),
  marks: call.marks.length === 0 ? call.marks : call.marks.map((mark) => moveMark(mark, by)),
});

export const moveName = ({ text, span }: Name, by: number): Name => ({ text, span: moveSpan(span, by) });

export const moveIssue = (issue: Issue, by: number): Issue => ({
  ...issue,
  ...(issue.span === undefined ? {} : { span: moveSpan(issue.span, by) }),
  ...(issue.repair === undefined
    ? {}
    : { repair: { ...issue.repair, span: moveSpan(issue.repair.span, by) } }),
});

const moveSpan = ({ start, end }: TextSpan, by: number): TextSpan => ({ start: start + by, end: end + by });

const moveReference = ({ text, span, output }: Reference, by: number): Reference => ({
  text,
  span: moveSpan(span, by),
  output: output && moveName(output, by),
});

const moveMark = ({ name, value }: Mark, by: number): Mark => ({
  name: moveName(name, by),
  value: value && moveName(value, by),
});

const moveArgument = ({ keyword, value, span }: Argument, by: number): Argument => ({
  keyword: keyword && moveName(keyword, by),
  value: moveExpression(value, by),
  span: moveSpan(span, by),
});

function moveExpression(expression: Expression, by: number): Expression {
  const span = moveSpan(expression.span, by);
  switch (expression.kind) {
    case 'number':
      return { kind: 'number', value: expression.value, span };
    case 'boolean':
      return { kind: 'boolean', value: expression.value, span };
    case 'string':
      return { kind: 'string', value: expression.value, span };
    case 'none':
      return { kind: 'none', span };
    case 'name':
      return { kind: 'name', name: expression.name, span };
    case 'member': {
      const { object, member } = expression;
      return { kind: 'member', object: moveName(object, by), member: moveName(member, by), span };
    }
    case 'negation':
      return { kind: 'negation', operand: moveExpression(expression.operand, by), span };
    case 'binary': {
      const { operator, left, right } = expression;
      return {
        kind: 'binary',
        operator,
        left: moveExpression(left, by),
        right: moveExpression(right, by),
        span,
      };
    }
    case 'tuple':
      return { kind: 'tuple', items: expression.items.map((item) => moveExpression(item, by)), span };
  }
}
