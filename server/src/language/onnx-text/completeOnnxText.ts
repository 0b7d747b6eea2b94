/** Proposals in ONNX text: operators after `=`, attributes in angle brackets, values in parentheses. */

import { printName } from '../../formats/onnx-text/printType.ts';
import { attributesOf, printAttributeType } from '../../operators/attributes.ts';
import { knownOperators } from '../../operators/registry.ts';
import type { Completion, CompletionKind } from '../completion.ts';
import { describeAttribute } from './hoverAttribute.ts';
import { importedVersion, tokenizeOnnxText } from './onnxTextTokens.ts';

export function completeOnnxText(source: string, offset: number): readonly Completion[] {
  const { tokens, nesting, isInert } = tokenizeOnnxText(source, offset);
  const inner = nesting.at(-1);
  if (isInert || inner === undefined) return [];
  const last = tokens.at(-1);
  const isWriting = last?.kind === 'word' && last.span.end === offset;
  const before = isWriting ? tokens.at(-2) : last;
  const start = isWriting ? last.span.start : offset;
  const propose = (
    label: string,
    kind: CompletionKind,
    detail: string,
    documentation: string,
  ): Completion => ({
    label,
    kind,
    detail,
    documentation,
    insert: label,
    span: { start, end: offset },
  });
  if (inner.isBody && before?.text === '=') {
    return operators().map(({ type, documentation }) => propose(type, 'operator', '', documentation));
  }
  if (inner.operator === undefined) return [];
  if (inner.opened === '<' && (before?.text === '<' || before?.text === ',')) {
    const open = tokens.findLastIndex(({ text, kind }) => kind === 'punctuation' && text === '<');
    const given = new Set(
      tokens
        .slice(open + 1, isWriting ? -1 : undefined)
        .flatMap(({ role, text }) => (role === 'attribute' ? [text] : [])),
    );
    const { domain, type } = inner.operator;
    const version = importedVersion(tokens, last?.scope ?? 0, domain);
    return attributesOf(domain, type, version)
      .filter(({ name }) => !given.has(name))
      .toSorted((left, right) => Number(right.required) - Number(left.required))
      .map((attribute) => ({
        ...propose(
          attribute.name,
          'argument',
          printAttributeType(attribute),
          describeAttribute({ domain, type }, attribute, version),
        ),
        insert: `${attribute.name} = `,
      }));
  }
  if (inner.opened !== '(' || (before?.text !== '(' && before?.text !== ',')) return [];
  const scope = last?.scope ?? 0;
  const values = tokens
    .filter((token) => token.role === 'definition' && token.scope === scope && token !== last)
    .map(({ text }) => text);
  // What the node itself gives is defined on its own line, before its inputs.
  const own = new Set(outputsOfNode(tokens));
  return [...new Set(values.toReversed())]
    .filter((name) => !own.has(name))
    .map((name) => ({ ...propose(name, 'tensor', '', ''), insert: printName(name) }));
}

function outputsOfNode(tokens: ReturnType<typeof tokenizeOnnxText>['tokens']): readonly string[] {
  const equals = tokens.findLastIndex(({ text, kind }) => kind === 'punctuation' && text === '=');
  const outputs: string[] = [];
  for (let at = equals - 1; at >= 0; at -= 1) {
    const token = tokens[at];
    if (token?.role === 'definition') outputs.push(token.text);
    else if (token?.text !== ',') break;
  }
  return outputs;
}

/** Operators of the default domain, each in its newest version. */
const operators = () => [
  ...new Map(
    knownOperators()
      .filter(({ domain }) => domain === '')
      .map((definition) => [definition.type, definition]),
  ).values(),
];
