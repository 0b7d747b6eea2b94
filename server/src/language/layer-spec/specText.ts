/** The text of a layer spec with its syntax tree: what every feature that needs no cost works on. */

import { readLayerSpec } from '../../formats/layer-spec/readLayerSpec.ts';
import type {
  LayerCall,
  LayerSpec,
  SpecBlock,
  SpecBody,
  SpecLayer,
} from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import { splitLines, type TextLines } from '../textLines.ts';

export interface SpecText {
  readonly source: string;
  readonly text: TextLines;
  readonly spec: LayerSpec;
  /** The files whose blocks it can call, by paths relative to it. */
  readonly included: readonly IncludedSpec[];
}

export interface IncludedText {
  readonly path: string;
  readonly text: string;
}

export interface IncludedSpec extends IncludedText {
  readonly blocks: readonly SpecBlock[];
}

/** The text and its tree, which is empty where the text is no layer spec at all. */
export function readSpecText(source: string, included: readonly IncludedText[] = []): SpecText {
  return {
    source,
    text: splitLines(source),
    spec: readLayerSpec(source).spec ?? emptySpec,
    included: included.map((file) => ({ ...file, blocks: readLayerSpec(file.text).spec?.blocks ?? [] })),
  };
}

/** A layer with the place it stands in. */
export interface PlacedLayer {
  readonly layer: SpecLayer;
  /** `undefined` outside of blocks. */
  readonly block: SpecBlock | undefined;
  /** The model below `models`; `undefined` at the top level. */
  readonly model: string | undefined;
}

/** A layer whose call could be read. */
export interface CalledLayer extends PlacedLayer {
  readonly call: LayerCall;
}

export interface PlacedBody {
  readonly body: SpecBody;
  readonly model: string | undefined;
}

/** What is written at the top level, then what the models below `models` say. */
export function bodiesOf(spec: LayerSpec): readonly PlacedBody[] {
  return [{ body: spec, model: undefined }, ...spec.models.map((body) => ({ body, model: body.name.text }))];
}

/** Every layer of the text, those of blocks first. */
export function placedLayers(spec: LayerSpec): readonly PlacedLayer[] {
  return bodiesOf(spec).flatMap(({ body, model }) => [
    ...body.blocks.flatMap((block) => block.layers.map((layer) => ({ layer, block, model }))),
    ...body.layers.map((layer) => ({ layer, block: undefined, model })),
  ]);
}

export function calledLayers(spec: LayerSpec): readonly CalledLayer[] {
  return placedLayers(spec).flatMap((placed) => {
    const { call } = placed.layer;
    return call === undefined ? [] : [{ ...placed, call }];
  });
}

export const blocksOf = (spec: LayerSpec): readonly SpecBlock[] =>
  bodiesOf(spec).flatMap(({ body }) => body.blocks);

export const holds = (span: TextSpan, offset: number): boolean => offset >= span.start && offset <= span.end;

const emptySpec: LayerSpec = {
  name: undefined,
  includes: [],
  models: [],
  dims: [],
  inputs: [],
  hasAllInputs: false,
  blocks: [],
  layers: [],
  outputs: [],
  scenario: {},
  scenarioSpans: new Map(),
  scenarioKeySpans: new Map(),
  sections: [],
};
