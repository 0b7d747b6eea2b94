/**
 * Blobs that the host makes in every step, such as labels and regions of interest: inputs of the graph that stand where
 * a layer writes them.
 */

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

/**
 * The bottoms of a loss or measure, where those that the host makes have the shapes that the layer compares: class
 * numbers one for each vector of scores (softmax_loss_layer.cpp: the counts must agree), targets one for each value.
 */
export function shapedByReader(
  inputs: readonly Tensor[],
  definition: CaffeLayerDefinition,
  run: CaffeRun,
): readonly Tensor[] {
  if (!definition.comparesBottoms) return inputs;
  const shape = inputs.find((input) => input.shape !== undefined)?.shape;
  if (shape === undefined) return inputs;
  return inputs.map((input, index) => {
    if (!isShapeless(input, run)) return input;
    const isIndex = definition.indexBottoms?.includes(index) === true;
    const wanted = isIndex ? shape.filter((_, axis) => axis !== 1) : shape;
    run.shapelessBlobs.delete(input.name);
    const tensor = run.graph.input(
      run.graph.freeName(input.name),
      isIndex ? 'int64' : (input.elementType ?? 'float32'),
      wanted,
    );
    run.blobs.set(input.name, tensor);
    return tensor;
  });
}

/** Whether a blob is known only by its name, so that no operator can read it. */
export const isShapeless = ({ name, shape }: Tensor, run: CaffeRun): boolean =>
  shape === undefined && run.shapelessBlobs.has(name);
