/** The names that may be used at a place of a layer spec. */

import type {
  LayerSpec,
  SpecBlock,
  SpecBody,
  SpecInput,
  SpecLayer,
} from '../../formats/layer-spec/syntax.ts';

/** A tensor that a layer may take: a layer above, `input` of a block, or an input of the model. */
export interface VisibleTensor {
  readonly name: string;
  readonly kind: 'layer' | 'input';
  /** `Linear(d, 4*d)`, or the type of an input. */
  readonly detail: string;
  /** Offset of the layer's line; `undefined` for inputs. */
  readonly start: number | undefined;
}

/** The part of a spec that a place belongs to. */
export interface SpecPlace {
  readonly block: string | undefined;
  readonly model: string | undefined;
}

/** What is written for a place: the model's own, then what all models share. */
export function bodiesAt(spec: LayerSpec, { model }: SpecPlace): readonly SpecBody[] {
  const own = spec.models.find(({ name }) => name.text === model);
  return own === undefined ? [spec] : [own, spec];
}

function blockAt(spec: LayerSpec, place: SpecPlace): SpecBlock | undefined {
  return bodiesAt(spec, place)
    .flatMap(({ blocks }) => blocks)
    .find(({ name }) => name.text === place.block);
}

/** The layers among which this place is. */
export function layersAt(spec: LayerSpec, place: SpecPlace): readonly SpecLayer[] {
  if (place.block !== undefined) return blockAt(spec, place)?.layers ?? [];
  return bodiesAt(spec, place).find(({ layers }) => layers.length > 0)?.layers ?? [];
}

export const inputsAt = (spec: LayerSpec, place: SpecPlace): readonly SpecInput[] =>
  bodiesAt(spec, place).flatMap(({ inputs }) => inputs);

/** Tensors visible before offset `before`, the nearest first. */
export function visibleTensors(
  source: string,
  spec: LayerSpec,
  place: SpecPlace,
  before: number,
): readonly VisibleTensor[] {
  const own = blockAt(spec, place);
  const above = layersAt(spec, place).filter(({ span }) => span.start < before);
  const layers = above.toReversed().flatMap(({ names, call, span }) =>
    names.map(
      ({ text }): VisibleTensor => ({
        name: text,
        kind: 'layer',
        detail: call === undefined ? '' : source.slice(call.callee.span.start, call.argumentsSpan.end),
        start: span.start,
      }),
    ),
  );
  const given = (
    own === undefined ? [] : own.inputs.length === 0 ? ['input'] : own.inputs.map(({ text }) => text)
  ).map(
    (name): VisibleTensor => ({
      name,
      kind: 'input',
      detail: `input of ${own?.name.text}`,
      start: undefined,
    }),
  );
  const inputs = inputsAt(spec, place).map(
    ({ name, elementType, dimensions }): VisibleTensor => ({
      name: name.text,
      kind: 'input',
      detail: `${elementType}[${dimensions.map(({ span }) => source.slice(span.start, span.end)).join(', ')}]`,
      start: undefined,
    }),
  );
  const seen = new Set<string>();
  return [...layers, ...given, ...inputs].filter(({ name }) => {
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

/** Names of values: parameters of the block, then dims, then the open sizes of inputs. */
export function visibleValues(spec: LayerSpec, place: SpecPlace): readonly string[] {
  const dims = bodiesAt(spec, place).flatMap((body) => body.dims.map(({ name }) => name.text));
  const open = inputsAt(spec, place).flatMap(({ dimensions }) =>
    dimensions.flatMap((size) => (size.kind === 'name' ? [size.name] : [])),
  );
  const parameters = blockAt(spec, place)?.parameters.map(({ name }) => name.text) ?? [];
  return [...new Set([...parameters, ...dims, ...open])];
}
