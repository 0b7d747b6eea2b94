/** A grid of sampling places that `torch.export` decomposes: homogeneous places times the transformation of each image, summed. */

import { type Graph, isKnownShape } from '../model/graph.ts';
import type { CompositePattern } from './composite.ts';
import { matchOf, producerOf, soleReader } from './flow.ts';

/**
 * Σ pᵢ·θᵢⱼ over places [n, d + 1, 1] and transformations [images, 1, d + 1, d]: PyTorch `aten::affine_grid_generator`, which keeps nothing, as it
 * makes the places again (torch/_decomp/decompositions.py, `_affine_grid_generator_4d`).
 */
export const affineGrid: CompositePattern = {
  kind: 'taken-apart',
  name: 'AffineGrid',
  anchors: ['Mul'],
  keeps: 'nothing',
  match: (graph, product) => {
    const sum = soleReader(graph, product.outputs[0]);
    if (sum?.type !== 'ReduceSum') return undefined;
    const [places, theta] = product.inputs.map((name) => sizesOf(graph, name));
    if (places?.length !== 3 || places[2] !== 1 || theta?.length !== 4 || theta[1] !== 1) return undefined;
    const [, rows] = places;
    const isOfPlane = (rows === 3 || rows === 4) && theta[2] === rows && theta[3] === rows - 1;
    return isOfPlane && producerOf(graph, product.inputs[1])?.type === 'Unsqueeze'
      ? matchOf([product, sum], {}, 'one')
      : undefined;
  },
};

/** `undefined` for sizes that are not numbers. */
function sizesOf({ values }: Graph, name: string): readonly (number | undefined)[] | undefined {
  const type = values.get(name)?.type;
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return undefined;
  return type.shape.map((size) => (typeof size === 'number' ? size : undefined));
}
