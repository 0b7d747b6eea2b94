/** Walks over the syntax tree of a layer spec. */

import type { Expression, LayerSpec, SpecBody, SpecLayer } from './syntax.ts';

/** The top level and every model below it. */
export const bodiesOf = (spec: LayerSpec): readonly SpecBody[] => [spec, ...spec.models];

/** Every layer of a body, those of its blocks first. */
export function* layersOf(body: Pick<SpecBody, 'blocks' | 'layers'>): Generator<SpecLayer> {
  for (const block of body.blocks) yield* block.layers;
  yield* body.layers;
}

/** Every expression that can read a dimension, but for the types of inputs. */
export function* expressionsOf(body: Pick<SpecBody, 'dims' | 'blocks' | 'layers'>): Generator<Expression> {
  for (const { value } of body.dims) if (value !== undefined) yield value;
  for (const block of body.blocks) {
    for (const parameter of block.parameters) if (parameter.default !== undefined) yield parameter.default;
  }
  for (const { call } of layersOf(body)) {
    if (call === undefined) continue;
    for (const argument of call.arguments) yield argument.value;
    if (call.repetition !== undefined) yield call.repetition;
  }
}
