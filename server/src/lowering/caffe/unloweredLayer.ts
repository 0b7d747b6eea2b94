/** Stands in for a layer of a Caffe net that could not be lowered, so that nobody takes its cost for 0. */

import type { CaffeLayer } from '../../formats/caffe/syntax.ts';
import { symbolsOf } from '../../model/dimension.ts';
import { type Tensor, text } from '../layer-spec/layerDefinition.ts';
import { caffeDomain } from '../providedStructure.ts';
import type { CaffeRun } from './caffeRun.ts';
import { isShapeless } from './hostBlobs.ts';

/** The tops of one operator that nothing knows, which says why. */
export function unloweredLayer(
  layer: CaffeLayer,
  name: string,
  inputs: readonly (Tensor | undefined)[],
  run: CaffeRun,
): readonly Tensor[] {
  const known = inputs.filter(
    (input) => input !== undefined && input.elementType !== undefined && !isShapeless(input, run),
  );
  const reason = run.reasons.get(layer) ?? reasonOf(layer, inputs, run);
  const type = layer.type || 'layer';
  const tops = Math.max(1, layer.tops.length);
  const shapes = run.statedShapes.get(layer);
  return run.graph
    .node(name, caffeDomain, type, known, tops, { reason: text(reason) })
    .map((tensor, index) => {
      const shape = shapes?.[index];
      return shape === undefined ? tensor : run.graph.declare(tensor.name, 'float32', shape);
    });
}

function reasonOf(layer: CaffeLayer, inputs: readonly (Tensor | undefined)[], run: CaffeRun): string {
  for (const [index, input] of inputs.entries()) {
    const blob = `the size of \`${layer.bottoms[index]?.text}\``;
    if (input?.shape === undefined) return `${blob} is unknown`;
    const names = input.shape.flatMap(symbolsOf).filter((name) => run.missingSizes.has(name));
    const missing = [...new Set(names)].map((name) => `\`${name}\``);
    if (missing.length > 0) return `${blob} is not known from the net: set ${missing.join(', ')}`;
  }
  return 'the layer could not be read, see the messages about it';
}
