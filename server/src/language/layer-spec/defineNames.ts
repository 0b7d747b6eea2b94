/** Every name that a model defines. */

import type { SpecBlock, SpecBody, SpecLayer } from '../../formats/layer-spec/syntax.ts';
import { type NameTable, scopeOfBlock, scopeOfModel } from './nameTable.ts';

/** `model` is its name; `undefined` for what stands at the top level. */
export function defineNames(
  { dims, inputs, blocks, layers }: SpecBody,
  model: string | undefined,
  table: NameTable,
): void {
  for (const { name, value } of dims) {
    table.addShared('dimension', name, { start: name.span.start, end: value?.span.end ?? name.span.end });
  }
  for (const { name, dimensions } of inputs) {
    const end = dimensions.at(-1)?.span.end ?? name.span.end;
    table.addShared('input', name, { start: name.span.start, end });
  }
  for (const block of blocks) defineBlock(block, table);
  defineLayers(layers, scopeOfModel(model), undefined, table);
}

function defineBlock({ name, span, parameters, inputs, layers }: SpecBlock, table: NameTable): void {
  const block = name.text;
  table.addShared('block', name, span);
  for (const { name: parameter, default: value } of parameters) {
    const whole = { start: parameter.span.start, end: value?.span.end ?? parameter.span.end };
    table.addShared('parameter', parameter, whole, block);
  }
  for (const input of inputs) table.addShared('input', input, input.span, block);
  defineLayers(layers, scopeOfBlock(block), block, table);
}

function defineLayers(
  layers: readonly SpecLayer[],
  scope: string,
  block: string | undefined,
  table: NameTable,
): void {
  for (const { names, span } of layers) {
    for (const name of names) table.add('layer', name, span, scope, block);
  }
}
