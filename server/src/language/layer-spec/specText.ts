/** The text of a layer spec with its syntax tree: what every feature that needs no cost works on. */

import { readLayerSpec } from '../../formats/layer-spec/readLayerSpec.ts';
import type { LayerSpec, SpecBlock, SpecLayer } from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import { splitLines, type TextLines } from '../textLines.ts';

export interface SpecText {
  readonly source: string;
  readonly text: TextLines;
  readonly spec: LayerSpec;
}

/** The text and its tree, which is empty where the text is no layer spec at all. */
export function readSpecText(source: string): SpecText {
  return { source, text: splitLines(source), spec: readLayerSpec(source).spec ?? emptySpec };
}

/** A layer with the block it stands in; `undefined` at the top level. */
export interface PlacedLayer {
  readonly layer: SpecLayer;
  readonly block: SpecBlock | undefined;
}

/** Every layer of the text, top level and blocks. */
export function placedLayers(spec: LayerSpec): readonly PlacedLayer[] {
  return [
    ...spec.blocks.flatMap((block) => block.layers.map((layer) => ({ layer, block }))),
    ...spec.layers.map((layer) => ({ layer, block: undefined })),
  ];
}

export const holds = (span: TextSpan, offset: number): boolean => offset >= span.start && offset <= span.end;

const emptySpec: LayerSpec = {
  name: undefined,
  dims: [],
  inputs: [],
  blocks: [],
  layers: [],
  outputs: [],
  scenario: {},
  scenarioSpans: new Map(),
};
