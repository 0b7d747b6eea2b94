/** Arguments that are missing, or contradict what flows in. */

import type { Argument, LayerCall } from '../../../formats/layer-spec/syntax.ts';
import { countErrors } from '../../countErrors.ts';
import { applyEdits, type TextEdit } from '../../textEdit.ts';
import { findCallable } from '../callable.ts';
import { parameterAt } from '../parameterAt.ts';
import { calledLayers, holds } from '../specText.ts';
import type { Change, Wrong } from './wrong.ts';

export function argumentFixes(wrong: Wrong): readonly Change[] {
  const { document, diagnostic, span } = wrong;
  const placed = calledLayers(document.spec).find(({ layer }) => holds(layer.span, span.start));
  if (placed === undefined) return [];
  if (diagnostic.code === 'spec/argument') return missing(wrong, placed.call);
  return diagnostic.code === 'shape/mismatch' ? contradicting(wrong, placed.call) : [];
}

/** Adds what a call needs; the value is a first guess that reads well. */
function missing({ document, diagnostic, span }: Wrong, call: LayerCall): readonly Change[] {
  const { source } = document;
  if (span.start !== call.callee.span.start) return [];
  const callable = findCallable(document, call.callee.text);
  const given = new Set(call.arguments.map(({ keyword }) => keyword?.text));
  const parameter = callable?.parameters.find(
    ({ name, default: otherwise, follows, rest }) =>
      otherwise === undefined &&
      !follows &&
      !rest &&
      !given.has(name) &&
      diagnostic.message.includes(`needs \`${name}\``),
  );
  if (parameter === undefined || source[call.argumentsSpan.end - 1] !== ')') return [];
  const value = parameter.type === 'string' ? `'${parameter.choices[0] ?? ''}'` : '1';
  const separator = call.arguments.length === 0 ? '' : ', ';
  const at = call.argumentsSpan.end - 1;
  const text = `${separator}${parameter.name}=${value}`;
  return [{ title: `Add \`${parameter.name}\``, edits: [{ span: { start: at, end: at }, text }] }];
}

/** A size that follows from the input need not be written: then it cannot be wrong. */
function contradicting(wrong: Wrong, call: LayerCall): readonly Change[] {
  const { document, span, view, recost } = wrong;
  const { source } = document;
  const argument = call.arguments.find((each) => holds(each.span, span.start));
  const callable = findCallable(document, call.callee.text);
  if (argument === undefined || callable === undefined) return [];
  const parameter = parameterAt(callable, call, argument, source);
  if (!parameter?.follows) return [];
  const written = source.slice(argument.value.span.start, argument.value.span.end);
  const edits: readonly TextEdit[] = [{ span: removalOf(call, argument), text: '' }];
  const after = recost(applyEdits(source, edits));
  return countErrors(after) < countErrors(view.estimate)
    ? [{ title: `Remove \`${written}\`: ${parameter.name} follows from the input`, edits }]
    : [];
}

/** The argument with the comma that parts it from its neighbour. */
function removalOf(call: LayerCall, argument: Argument): { readonly start: number; readonly end: number } {
  const index = call.arguments.indexOf(argument);
  const next = call.arguments[index + 1];
  const before = call.arguments[index - 1];
  if (next !== undefined) return { start: argument.span.start, end: next.span.start };
  return before === undefined ? argument.span : { start: before.span.end, end: argument.span.end };
}
