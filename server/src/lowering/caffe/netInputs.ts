/** What comes into a Caffe net: blobs of data layers, and `input` fields of the net itself. */

import {
  type CaffeLayer,
  messagesOf,
  numbersOf,
  spanOf,
  type Word,
  wordsOf,
} from '../../formats/caffe/syntax.ts';
import { entryAt } from '../../model/at.ts';
import { capitalized } from '../../model/capitalized.ts';
import { type Dimension, symbol } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { CaffeRun } from './caffeRun.ts';
import { findCaffeLayer } from './layerDefinitions.ts';
import { dataShapes, findDataLayer } from './layers/data.ts';
import { recurrentTypes } from './layers/recurrent.ts';
import { isRegionData, regionDataShapes } from './layers/regionData.ts';

export const batchName = 'batch';

/** `input` with `input_shape` or four `input_dim` each (upgrade_proto.cpp, UpgradeNetInput). */
export function addOldInputs(run: CaffeRun): void {
  const { fields } = run.net;
  const names = wordsOf(fields, 'input');
  const shapes = messagesOf(fields, 'input_shape').map((shape) => numbersOf(shape, 'dim'));
  const dims = numbersOf(fields, 'input_dim');
  if (names.length > 0 && shapes.length === 0 && dims.length !== 4 * names.length) {
    const message = `${names.length} inputs need ${4 * names.length} \`input_dim\`, not ${dims.length}: give batch, channels, height and width of each`;
    run.report('caffe/layer', message, spanOf(fields, 'input_dim') ?? names[0]?.span);
  }
  for (const [index, name] of names.entries()) {
    const shape = shapes[index] ?? dims.slice(4 * index, 4 * index + 4);
    addInput(name, shape.length === 0 ? undefined : shape, run);
  }
}

export function addDataLayer(layer: CaffeLayer, run: CaffeRun): void {
  const { shapes, remark, used, missing, problem } = isRegionData(layer)
    ? regionDataShapes(layer, run.dimensions)
    : dataShapes(layer, run.dimensions);
  if (problem !== undefined) run.report('caffe/layer', capitalized(problem.message), problem.span);
  if (remark !== undefined) {
    run.report('caffe/data-shape', remark.message, layer.typeSpan, remark.severity, remark.unset);
  }
  if (layer.type !== 'Python' && findDataLayer(layer.type) === undefined) {
    const message = `\`${layer.type}\` is not known here; it reads nothing, so it is taken as a data layer`;
    run.report('caffe/unknown-layer', message, layer.typeSpan, 'information');
  }
  for (const name of missing) run.missingSizes.add(name);
  for (const name of used) run.usedSizes.set(name, entryAt(run.dimensions, name));
  for (const [index, top] of layer.tops.entries()) addInput(top, shapes[index], run);
}

/** A graph input; its batch axis is open where it has the size of the first one's. */
function addInput({ text }: Word, shape: readonly Dimension[] | undefined, run: CaffeRun): void {
  if (shape === undefined) {
    run.shapelessBlobs.add(text);
    run.blobs.set(text, { name: text, elementType: 'float32', shape: undefined });
    return;
  }
  const batchAxis = batchAxisOf(run);
  const axis = shape.length > batchAxis ? batchAxis : 0;
  const size = shape[axis];
  run.batch ??= typeof size === 'number' ? size : undefined;
  const isBatch = size === run.batch || (typeof size !== 'number' && axis === 0);
  const opened = shape.map(
    (each, index): Dimension => (index === axis && isBatch ? symbol(batchName) : each),
  );
  run.blobs.set(text, run.graph.input(text, elementTypeOf(text, run), opened));
}

/** Recurrent layers take time first, where they read what comes into the net, or rows that it looks up. */
function batchAxisOf({ net, state }: CaffeRun): number {
  const inputs = new Set(wordsOf(net.fields, 'input').map(({ text }) => text));
  for (const layer of state.layers) {
    const isLookup = layer.type === 'Embed' && layer.bottoms.every(({ text }) => inputs.has(text));
    if (isLookup || findDataLayer(layer.type) !== undefined) {
      for (const { text } of layer.tops) inputs.add(text);
    }
  }
  const readsInput = state.layers.some(
    ({ type, bottoms }) =>
      recurrentTypes.has(type) && bottoms.slice(0, 2).some(({ text }) => inputs.has(text)),
  );
  return readsInput ? 1 : 0;
}

/** Class numbers and indices are integers, everything else is a number. */
function elementTypeOf(blob: string, { state }: CaffeRun): ElementType {
  const readers = state.layers.flatMap((layer) =>
    layer.bottoms.flatMap((bottom, index) => (bottom.text === blob ? [{ layer, index }] : [])),
  );
  const isIndex = readers.every(({ layer, index }) =>
    findCaffeLayer(layer.type)?.indexBottoms?.includes(index),
  );
  return readers.length > 0 && isIndex ? 'int64' : 'float32';
}
