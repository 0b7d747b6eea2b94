/** What a selection grows to: word, argument, arguments, call, layer, block, part of the file, all of it. */

import type { Expression } from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import { wordAt } from './layerSpecNavigation.ts';
import { holds, placedLayers, type SpecText } from './specText.ts';

/** The spans around `offset`, from the narrowest to the whole text, each within the next. */
export function selectionSpans({ source, text, spec }: SpecText, offset: number): readonly TextSpan[] {
  const spans: TextSpan[] = [{ start: 0, end: source.length }];
  const add = (span: TextSpan): void => {
    if (holds(span, offset)) spans.push(span);
  };
  const word = wordAt(source, offset);
  if (word !== undefined) add(word);
  for (const part of partsOf(text.lines, text.starts, source.length)) add(part);
  for (const { name, layers } of spec.blocks) {
    add({ start: name.span.start, end: layers.at(-1)?.span.end ?? name.span.end });
  }
  for (const { layer } of placedLayers(spec)) {
    if (!holds(layer.span, offset)) continue;
    const { call } = layer;
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
  for (const { value } of spec.dims) if (value !== undefined) for (const span of spansOf(value)) add(span);
  return nested(spans);
}

/** The parts under the keys of the top level. */
function partsOf(lines: readonly string[], starts: readonly number[], end: number): readonly TextSpan[] {
  const keys = lines.flatMap((line, number) => (/^[\w-]+\s*:/.test(line) ? [starts[number] ?? 0] : []));
  return keys.map((start, index) => ({ start, end: keys[index + 1] ?? end }));
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
