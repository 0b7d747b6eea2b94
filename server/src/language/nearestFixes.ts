/** A misspelt word of ONNX text or of a Caffe net becomes the nearest one that is known; a comma that is missing is put. */

import { readOnnxText } from '../formats/onnx-text/readOnnxText.ts';
import { itemAt } from '../model/at.ts';
import type { TextSpan } from '../model/issue.ts';
import { meantName, nearestName } from '../model/nearestName.ts';
import { knownOperators } from '../operators/registry.ts';
import type { Diagnostic } from './diagnostics.ts';
import type { Fix } from './fix.ts';
import type { ModelView } from './modelView.ts';
import { attributeFixes } from './onnx-text/attributeFixes.ts';
import { namesOfOnnxText } from './onnx-text/onnxTextFeatures.ts';
import { type OnnxToken, tokenizeOnnxText } from './onnx-text/onnxTextTokens.ts';
import { offsetAt } from './textLines.ts';

/** Fixes of a Caffe net: its messages name what was meant, and underline the word. */
export function caffeFixes(
  source: string,
  view: ModelView,
  diagnostics: readonly Diagnostic[],
): readonly Fix[] {
  return diagnostics.flatMap((diagnostic) => {
    const meant = meantName(diagnostic.message);
    const span = {
      start: offsetAt(view.text, diagnostic.range.start),
      end: offsetAt(view.text, diagnostic.range.end),
    };
    return meant === undefined ? [] : [replacement(diagnostic, unquoted(source, span), meant)];
  });
}

/** Fixes of ONNX text: operators that do not exist, values that nothing defines, attributes, and commas between things. */
export function onnxTextFixes(
  source: string,
  view: ModelView,
  diagnostics: readonly Diagnostic[],
): readonly Fix[] {
  const commas = diagnostics.flatMap((diagnostic) => missingComma(source, view, diagnostic) ?? []);
  const attributes = attributeFixes(source, view, diagnostics);
  const wrong = diagnostics.filter(({ code }) => fixable.has(code));
  if (wrong.length === 0) return [...commas, ...attributes];
  const { tokens } = tokenizeOnnxText(source);
  const names = wrong.flatMap((diagnostic) => {
    const { start, end } = linesOfNode(view, diagnostic.range.start.line, source);
    const within = tokens.filter(({ span }) => span.start >= start && span.end <= end);
    const found =
      diagnostic.code === 'graph/unknown-operator'
        ? nearestOperator(within)
        : nearestValue(source, within, missingValue(view, diagnostic));
    return found === undefined ? [] : [replacement(diagnostic, found.span, found.meant)];
  });
  return [...commas, ...attributes, ...names];
}

/** A comma before what could not be read there, where the text then reads on past it. */
function missingComma(source: string, view: ModelView, diagnostic: Diagnostic): Fix | undefined {
  if (diagnostic.code !== 'onnx/text-syntax') return undefined;
  const found = offsetAt(view.text, diagnostic.range.start);
  const at = source.slice(0, found).trimEnd().length;
  const corrected = `${source.slice(0, at)},${source.slice(at)}`;
  if (syntaxErrors(corrected) >= syntaxErrors(source)) return undefined;
  return {
    title: 'Insert a comma',
    diagnostic,
    edits: [{ span: { start: at, end: at }, text: ',' }],
    preferred: true,
  };
}

const syntaxErrors = (text: string): number =>
  readOnnxText(text).issues.filter(({ code }) => code === 'onnx/text-syntax').length;

const fixable: ReadonlySet<string> = new Set(['graph/unknown-operator', 'graph/undefined-value']);

interface Nearest {
  readonly span: TextSpan;
  readonly meant: string;
}

function nearestOperator(tokens: readonly OnnxToken[]): Nearest | undefined {
  const operator = tokens.find(({ role }) => role === 'operator');
  const known = knownOperators().flatMap(({ domain, type }) => (domain === '' ? [type] : []));
  const meant = operator && nearestName(operator.text, known);
  return operator === undefined || meant === undefined ? undefined : { span: operator.span, meant };
}

function nearestValue(
  source: string,
  tokens: readonly OnnxToken[],
  name: string | undefined,
): Nearest | undefined {
  const use = tokens.find(({ role, text }) => role === 'reference' && text === name);
  if (use === undefined || name === undefined) return undefined;
  const above = namesOfOnnxText(source).flatMap(({ text, scope, definitions }) =>
    scope === use.scope && definitions.some(({ start }) => start < use.span.start) ? [text] : [],
  );
  const meant = nearestName(name, above);
  // A name that needs quotes would have to bring them.
  const isQuoted = source[use.span.start - 1] === '"';
  return meant === undefined || (!isQuoted && !/^[A-Za-z_]\w*$/.test(meant))
    ? undefined
    : { span: use.span, meant };
}

const missingValue = (view: ModelView, { code, message }: Diagnostic): string | undefined =>
  view.estimate.issues.find((issue) => issue.code === code && issue.message === message)?.value;

/** From the line of a node to the next node's. */
function linesOfNode({ text, nodeLines }: ModelView, line: number, source: string): TextSpan {
  const next = nodeLines.find((each) => each > line);
  const end = next === undefined ? undefined : text.starts[next];
  return { start: itemAt(text.starts, line), end: end ?? source.length };
}

function unquoted(source: string, { start, end }: TextSpan): TextSpan {
  return /["']/.test(source[start] ?? '') ? { start: start + 1, end: end - 1 } : { start, end };
}

const replacement = (diagnostic: Diagnostic, span: TextSpan, meant: string): Fix => ({
  title: `Change to \`${meant}\``,
  diagnostic,
  edits: [{ span, text: meant }],
  preferred: true,
});
