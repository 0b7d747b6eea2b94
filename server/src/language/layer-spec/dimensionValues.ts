/** The values of the dims of a layer spec, as far as they are numbers. */

import { selectModel } from '../../formats/layer-spec/selectModel.ts';
import type { Expression, LayerSpec } from '../../formats/layer-spec/syntax.ts';
import { evaluate, type Values } from '../../lowering/layer-spec/evaluate.ts';
import type { SpecValue } from '../../lowering/layer-spec/layerDefinition.ts';
import { bodiesOf } from './specText.ts';

/**
 * Values by name, in order of writing; `given` are those of a scenario, which go before the written ones. Where several
 * models differ, `model` speaks, or the first.
 */
export function dimensionValues(
  spec: LayerSpec,
  given: Readonly<Record<string, number>> = {},
  model?: string,
): ReadonlyMap<string, number> {
  const values = new Map<string, SpecValue>();
  const dims = [
    ...(selectModel(spec, model)?.dims ?? []),
    ...bodiesOf(spec).flatMap(({ body }) => body.dims),
  ];
  for (const { name, value } of dims) {
    if (values.has(name.text)) continue;
    const found = given[name.text] ?? (value === undefined ? undefined : numberOf(value, values));
    if (found !== undefined) values.set(name.text, found);
  }
  for (const [name, value] of Object.entries(given)) if (!values.has(name)) values.set(name, value);
  return new Map([...values].flatMap(([name, value]) => (typeof value === 'number' ? [[name, value]] : [])));
}

/** The number an expression comes to; `undefined` where a name in it has none. */
function numberOf(expression: Expression, values: Values): number | undefined {
  const value = evaluate(expression, values, () => {});
  return typeof value === 'number' ? value : undefined;
}
