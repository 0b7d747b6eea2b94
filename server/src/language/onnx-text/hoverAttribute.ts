/** What the name of an attribute means in ONNX text. */

import { type AttributeDescription, attributesOf, printAttributeType } from '../../operators/attributes.ts';
import type { Hover } from '../hover.ts';
import type { ModelView } from '../modelView.ts';
import { rangeOfSpan, splitLines } from '../textLines.ts';
import { type CalledOperator, importedVersion, tokenizeOnnxText } from './onnxTextTokens.ts';

/** Nothing where the word is no attribute of an operator of ONNX's own. */
export function hoverAttribute(
  source: string,
  offset: number,
  view: ModelView | undefined,
): Hover | undefined {
  const { tokens } = tokenizeOnnxText(source);
  const token = tokens.find(
    ({ role, span }) => role === 'attribute' && span.start <= offset && offset <= span.end,
  );
  if (token?.operator === undefined) return undefined;
  const { domain, type } = token.operator;
  const version = importedVersion(tokens, token.scope, domain);
  const attribute = attributesOf(domain, type, version).find(({ name }) => name === token.text);
  if (attribute === undefined) return undefined;
  return {
    markdown: [
      `\`\`\`onnx-text\n${attribute.name}: ${printAttributeType(attribute)}\n\`\`\``,
      describeAttribute(token.operator, attribute, version),
    ].join('\n\n'),
    range: rangeOfSpan(view?.text ?? splitLines(source), token.span),
  };
}

/** Whose attribute it is and where ONNX explains it, as Markdown. */
export function describeAttribute(
  { domain, type }: CalledOperator,
  { required }: AttributeDescription,
  version: number | undefined,
): string {
  const page = `onnx_${domain === 'ai.onnx' ? '' : domain.replaceAll('.', '')}_${type}`;
  const operator = `[${type}](https://onnx.ai/onnx/operators/${page}.html)`;
  const versions = version === undefined ? '' : `, operator set ${version}`;
  return `Attribute of ${operator}${versions}. ${required ? 'Required.' : 'Optional.'}`;
}
