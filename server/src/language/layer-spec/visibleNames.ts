/** The names that may be used at a place of a layer spec. */

import type { LayerSpec } from '../../formats/layer-spec/syntax.ts';

/** A tensor that a layer may take: a layer above, `input` of a block, or an input of the model. */
export interface VisibleTensor {
  readonly name: string;
  readonly kind: 'layer' | 'input';
  /** `Linear(d, 4*d)`, or the type of an input. */
  readonly detail: string;
  /** Offset of the layer's line; `undefined` for inputs. */
  readonly start: number | undefined;
}

/** Tensors visible before offset `before` in `block`, the nearest first. */
export function visibleTensors(
  source: string,
  spec: LayerSpec,
  block: string | undefined,
  before: number,
): readonly VisibleTensor[] {
  const own = block === undefined ? undefined : spec.blocks.find(({ name }) => name.text === block);
  const above = (own?.layers ?? spec.layers).filter(({ name }) => name.span.start < before);
  const layers = above.toReversed().map(
    ({ name, call, span }): VisibleTensor => ({
      name: name.text,
      kind: 'layer',
      detail: source.slice(call.callee.span.start, call.argumentsSpan.end),
      start: span.start,
    }),
  );
  const given: readonly VisibleTensor[] =
    own === undefined
      ? []
      : [{ name: 'input', kind: 'input', detail: `what ${own.name.text} is given`, start: undefined }];
  const inputs = spec.inputs.map(
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

/** Names of values visible in `block`: its parameters, then the dims. */
export function visibleValues(spec: LayerSpec, block: string | undefined): readonly string[] {
  const own = block === undefined ? undefined : spec.blocks.find(({ name }) => name.text === block);
  const free = spec.inputs.flatMap(({ dimensions }) =>
    dimensions.flatMap((size) => (size.kind === 'name' ? [size.name] : [])),
  );
  return [
    ...new Set([
      ...(own?.parameters.map(({ name }) => name.text) ?? []),
      ...spec.dims.map(({ name }) => name.text),
      ...free,
    ]),
  ];
}
