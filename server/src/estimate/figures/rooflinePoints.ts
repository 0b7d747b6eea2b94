/** Layers under the roofs of their GPU; layers that a model repeats are one point. */

import type { RooflinePoint } from '../../charts/rooflineChart.ts';
import { foldLayers } from '../report/foldLayers.ts';
import type { LayerReport } from '../report/report.ts';

/**
 * FLOPs of forward and backward over the bytes that their kernels move, and over their time. Layers without FLOPs, and
 * those of which a part is unknown, have no place.
 */
export function rooflinePoints(layers: readonly LayerReport[]): readonly RooflinePoint[] {
  const known = foldLayers(layers).flatMap((layer) => {
    const { flops, bytes, time } = layer;
    const work = sumOf(flops.forward, flops.backwardData, flops.backwardWeight);
    const [moved, taken] = [sumOf(bytes.forward, bytes.backward), sumOf(time.forward, time.backward)];
    return layer.exact && work > 0 && moved > 0 && taken > 0 ? [{ layer, work, moved, taken }] : [];
  });
  const all = known.reduce((total, { taken }) => total + taken, 0);
  const firstOf = new Map(layers.toReversed().map((layer) => [layer.operators[0] ?? layer.name, layer.name]));
  return known.map(({ layer, work, moved, taken }) => ({
    name: layer.name,
    intensity: work / moved,
    rate: work / taken,
    share: taken / all,
    layer: firstOf.get(layer.operators[0] ?? layer.name) ?? layer.name,
  }));
}

/** Not a number where one is unknown: no comparison with it holds. */
const sumOf = (...values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? Number.NaN), 0);
