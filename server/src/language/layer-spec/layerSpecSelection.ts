/** What a selection grows to: word, argument, arguments, call, layer, block, part of the file, all of it. */

import type { Expression } from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import { wordAt } from './layerSpecNavigation.ts';
import { blocksOf, bodiesOf, calledLayers, holds, type SpecText } from './specText.ts';

/** The spans around `offset`, from the narrowest to the whole text, each within the next. */
export function selectionSpans({ source, spec }: SpecText, offset: number): readonly TextSpan[] {
  const spans: TextSpan[] = [{ start: 0, end: source.length }];
  const add = (span: TextSpan): void => {
    if (holds(span, offset)) spans.push(span);
  };
  const word = wordAt(source, offset);
  if (word !== undefined) add(word);
  for (const { span } of [...spec.models, ...blocksOf(spec)]) add(span);
  for (const { span } of bodiesOf(spec).flatMap(({ body }) => body.sections)) add(span);
  for (const { layer, call } of calledLayers(spec)) {
    if (!holds(layer.span, offset)) continue;
    add(layer.span);
    add({ start: call.callee.span.start, end: layer.span.end });
    add({ start: call.callee.span.start, end: call.argumentsSpan.end });
    add(call.argumentsSpan);
    if (source[call.argumentsSpan.end - 1] === ')') {
      add({ start: call.argumentsSpan.start + 1, end: call.argumentsSpan.end - 1 });
    }
    for (const argument of call.arguments) {
      add(argument.span);
      for (const span of spansOf(argument.value)) add(span);
    }
    if (call.repetition !== undefined) add(call.repetition.span);
  }
  for (const { value } of bodiesOf(spec).flatMap(({ body }) => body.dims))
    if (value !== undefined) for (const span of spansOf(value)) add(span);
  return nested(spans);
}

function spansOf(expression: Expression): readonly TextSpan[] {
  switch (expression.kind) {
    case 'binary':
      return [expression.span, ...spansOf(expression.left), ...spansOf(expression.right)];
    case 'negation':
      return [expression.span, ...spansOf(expression.operand)];
    case 'tuple':
      return [expression.span, ...expression.items.flatMap(spansOf)];
    default:
      return [expression.span];
  }
}

/** Narrowest first; a span that overlaps the one inside it is left out. */
function nested(spans: readonly TextSpan[]): readonly TextSpan[] {
  const chain: TextSpan[] = [];
  const length = ({ start, end }: TextSpan): number => end - start;
  for (const span of spans.toSorted((left, right) => length(left) - length(right))) {
    const inner = chain.at(-1);
    if (
      inner === undefined ||
      (length(span) > length(inner) && span.start <= inner.start && span.end >= inner.end)
    )
      chain.push(span);
  }
  return chain;
}
