/** An attribute of ONNX text gets the name that was meant, or its value the type that the operator takes. */

import { meantName } from '../../model/nearestName.ts';
import { attributesOf } from '../../operators/attributes.ts';
import type { Diagnostic } from '../diagnostics.ts';
import type { Fix } from '../fix.ts';
import type { ModelView } from '../modelView.ts';
import type { TextEdit } from '../textEdit.ts';
import { offsetAt } from '../textLines.ts';
import { importedVersion, type OnnxToken, tokenizeOnnxText } from './onnxTextTokens.ts';

export function attributeFixes(
  source: string,
  view: ModelView,
  diagnostics: readonly Diagnostic[],
): readonly Fix[] {
  const wrong = diagnostics.filter(({ code }) => code === 'graph/attribute');
  if (wrong.length === 0) return [];
  const { tokens } = tokenizeOnnxText(source);
  return wrong.flatMap((diagnostic) => {
    const start = offsetAt(view.text, diagnostic.range.start);
    const index = tokens.findIndex(({ role, span }) => role === 'attribute' && span.start === start);
    const name = tokens[index];
    if (name === undefined) return [];
    const meant = meantName(diagnostic.message);
    if (meant !== undefined) {
      const edits = [{ span: name.span, text: meant }];
      return [{ title: `Change to \`${meant}\``, diagnostic, edits, preferred: true }];
    }
    const edits = correctedType(tokens, index, name);
    if (edits === undefined) return [];
    const title = `Write ${diagnostic.message.slice(diagnostic.message.lastIndexOf('`', diagnostic.message.length - 2))}`;
    return [{ title, diagnostic, edits, preferred: true }];
  });
}

/** `a = 1` as `a = 1.0` or `a = [1]`, `a = "x"` as `a = ["x"]`, `a = [1]` as `a = 1`; with its type where it is written. */
function correctedType(
  tokens: readonly OnnxToken[],
  index: number,
  { operator, scope, text }: OnnxToken,
): readonly TextEdit[] | undefined {
  if (operator === undefined) return undefined;
  const version = importedVersion(tokens, scope, operator.domain);
  const kind = attributesOf(operator.domain, operator.type, version).find(({ name }) => name === text)?.kind;
  const isTyped = tokens[index + 1]?.text === ':';
  const type = isTyped ? tokens[index + 2] : undefined;
  const equals = index + (isTyped ? 3 : 1);
  if (kind === undefined || tokens[equals]?.text !== '=') return undefined;
  const [first, second, third] = tokens.slice(equals + 1, equals + 4);
  const retyped = type === undefined ? [] : [{ span: type.span, text: kind }];
  if (first?.text === '[' && first.kind === 'punctuation') {
    if (kind !== 'int' || second?.kind !== 'number' || third?.text !== ']') return undefined;
    return [...retyped, { span: first.span, text: '' }, { span: third.span, text: '' }];
  }
  const last = first?.text === '-' ? second : first;
  if (first === undefined || last === undefined) return undefined;
  const quote = last.kind === 'text' ? 1 : 0;
  const before = { start: first.span.start - quote, end: first.span.start - quote };
  const after = { start: last.span.end + quote, end: last.span.end + quote };
  if (kind === 'float' && last.kind === 'number') return [...retyped, { span: after, text: '.0' }];
  if ((kind === 'ints' && last.kind === 'number') || (kind === 'strings' && last.kind === 'text')) {
    return [...retyped, { span: before, text: '[' }, { span: after, text: ']' }];
  }
  return undefined;
}
