/**
 * Blobs that the host makes in every step, such as labels and regions of interest: inputs of the graph that stand where
 * a layer writes them.
 */

import { type CaffeLayer, messageOf } from '../../formats/caffe/syntax.ts';
import type { Dimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { CaffeRun } from './caffeRun.ts';
import type { CaffeLayerDefinition } from './layerDefinition.ts';

/** A blob of the host. Without a shape it becomes an input of the graph when a layer reads it that knows the shape. */
export function hostBlob(
  name: string,
  elementType: ElementType,
  shape: readonly Dimension[] | undefined,
  run: CaffeRun,
): Tensor {
  const free = run.graph.freeName(name);
  if (shape !== undefined) return run.graph.input(free, elementType, shape);
  run.shapelessBlobs.add(name);
  return { name, elementType, shape: undefined };
}

/** A blob that the host makes, where its reader states the shape: from here on it is an input of the graph. */
function shapedBlob(
  input: Tensor,
  elementType: ElementType,
  shape: readonly Dimension[],
  run: CaffeRun,
): Tensor {
  run.shapelessBlobs.delete(input.name);
  const tensor = run.graph.input(run.graph.freeName(input.name), elementType, shape);
  run.blobs.set(input.name, tensor);
  return tensor;
}

/**
 * The bottoms of a loss or measure, where those that the host makes have the shapes that the layer compares: class
 * numbers one for each vector of scores (softmax_loss_layer.cpp: the counts must agree), targets one for each value.
 */
export function shapedByReader(
  inputs: readonly Tensor[],
  definition: CaffeLayerDefinition,
  layer: CaffeLayer,
  run: CaffeRun,
): readonly Tensor[] {
  const stated = definition.shapeOfHostBlob?.(messageOf(layer.fields, definition.parameters ?? ''));
  if (stated !== undefined) {
    return inputs.map((input) =>
      isShapeless(input, run) ? shapedBlob(input, input.elementType ?? 'float32', stated, run) : input,
    );
  }
  if (!definition.comparesBottoms) return inputs;
  const shape = inputs.find((input) => input.shape !== undefined)?.shape;
  if (shape === undefined) return inputs;
  return inputs.map((input, index) => {
    if (!isShapeless(input, run)) return input;
    const isIndex = definition.indexBottoms?.includes(index) === true;
    const wanted = isIndex ? shape.filter((_, axis) => axis !== 1) : shape;
    return shapedBlob(input, isIndex ? 'int64' : (input.elementType ?? 'float32'), wanted, run);
  });
}

/** Whether a blob is known only by its name, so that no operator can read it. */
export const isShapeless = ({ name, shape }: Tensor, run: CaffeRun): boolean =>
  shape === undefined && run.shapelessBlobs.has(name);
