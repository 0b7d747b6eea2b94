/** The features of ONNX text: values are defined once and read by nodes; operators and attributes are proposed. */

import { printName } from '../../formats/onnx-text/printType.ts';
import type { TextSpan } from '../../model/issue.ts';
import { type IndentStyle, reindent } from '../reindent.ts';
import type { TextFeatures } from '../textFeatures.ts';
import { type ValueName, valueNames } from '../valueNames.ts';
import { completeOnnxText } from './completeOnnxText.ts';
import { hoverAttribute } from './hoverAttribute.ts';
import { tokenizeOnnxText } from './onnxTextTokens.ts';

export function onnxTextFeatures(source: string): TextFeatures {
  const names = valueNames(
    namesOfOnnxText(source),
    'inputs, initializers and outputs of nodes',
    (name, span) => writeName(source, name, span),
  );
  return {
    complete: (offset) => completeOnnxText(source, offset),
    hover: (offset, view) => hoverAttribute(source, offset, view),
    definition: names.definition,
    references: names.references,
    prepareRename: names.prepareRename,
    rename: names.rename,
    format: (first, last) => reindent(source, first, last, style),
  };
}

/** As the printer indents: a node stands below its name. */
const style: IndentStyle = {
  step: 3,
  quotes: ['"'],
  isLabel: (line) => /^\["[^"]*"\]$|^\[[\w/.]+\]$/.test(line),
};

/** Every value that is defined, in order of the text. */
export function namesOfOnnxText(source: string): readonly ValueName[] {
  const names = new Map<
    string,
    { text: string; scope: number; definitions: TextSpan[]; references: TextSpan[] }
  >();
  const { tokens } = tokenizeOnnxText(source);
  for (const { text, role, scope, span } of tokens) {
    if ((role !== 'definition' && role !== 'reference') || text === '') continue;
    const key = `${scope} ${text}`;
    const name = names.get(key) ?? { text, scope, definitions: [], references: [] };
    names.set(key, name);
    (role === 'definition' ? name.definitions : name.references).push(span);
  }
  return [...names.values()].filter(({ definitions }) => definitions.length > 0);
}

/** An identifier stands by itself, any other name in quotes. */
function writeName(source: string, name: string, { start, end }: TextSpan) {
  if (name === '' || /[\n\r]/.test(name)) {
    return { kind: 'refused', reason: 'A value needs a name of one line' } as const;
  }
  const isQuoted = source[start - 1] === '"' && source[end] === '"';
  const span = isQuoted ? { start: start - 1, end: end + 1 } : { start, end };
  return { kind: 'done', result: { span, text: printName(name) } } as const;
}
