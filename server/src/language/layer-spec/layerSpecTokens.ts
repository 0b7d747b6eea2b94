/** Semantic tokens of a layer spec: layers and inputs, blocks, dims, parameters, what is called and by which keyword. */

import { findLayer } from '../../lowering/layer-spec/layerDefinitions.ts';
import type { SemanticToken, TokenModifier, TokenType } from '../semanticTokens.ts';
import type { NameKind } from './nameTable.ts';
import { namesOfSpec } from './specNames.ts';
import { blocksOf, calledLayers, type SpecText } from './specText.ts';

/** In order of the text. */
export function layerSpecTokens(document: SpecText): readonly SemanticToken[] {
  const { spec } = document;
  const tokens: SemanticToken[] = namesOfSpec(document).flatMap(({ kind, definitions, references }) => [
    ...definitions.map((span) => ({
      span,
      type: types[kind],
      modifiers: ['declaration' as const, ...modifiersOf(kind)],
    })),
    ...references.map((span) => ({ span, type: types[kind], modifiers: modifiersOf(kind) })),
  ]);
  const blocks = new Set(blocksOf(spec).map(({ name }) => name.text));
  for (const { call } of calledLayers(spec)) {
    const { callee } = call;
    if (blocks.has(callee.text)) continue;
    const definition = findLayer(callee.text);
    const type = definition === undefined ? 'macro' : definition.kind === 'module' ? 'class' : 'function';
    tokens.push({ span: callee.span, type, modifiers: ['defaultLibrary'] });
    for (const { keyword } of call.arguments) {
      if (keyword !== undefined) tokens.push({ span: keyword.span, type: 'property', modifiers: [] });
    }
  }
  return tokens.sort((left, right) => left.span.start - right.span.start);
}

const types: Readonly<Record<NameKind, TokenType>> = {
  layer: 'variable',
  input: 'variable',
  block: 'function',
  dimension: 'enumMember',
  parameter: 'parameter',
};

const modifiersOf = (kind: NameKind): readonly TokenModifier[] => (kind === 'dimension' ? ['readonly'] : []);
