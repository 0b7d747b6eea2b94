/** Layers that a model repeats, as one row with their sum: `h.*.attn.c_attn`, `Linear × 12`. */

import type { LayerReport } from './report.ts';

/** Layers whose names differ in numbers alone, and whose type, output and work are the same, in the place of the first. */
export function foldLayers(layers: readonly LayerReport[]): readonly LayerReport[] {
  const groups = new Map<string, LayerReport[]>();
  for (const layer of layers) {
    const { name, type, output, flops, parameters } = layer;
    const key = JSON.stringify([name.replace(/\d+/g, '*'), type, output.shape, flops.forward, parameters]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [layer]);
    else group.push(layer);
  }
  return [...groups.values()].map(sumOfLayers);
}

function sumOfLayers(layers: readonly LayerReport[]): LayerReport {
  const [first, ...others] = layers;
  if (first === undefined) throw new Error('a group without layers');
  if (others.length === 0) return first;
  const sum = (of: (layer: LayerReport) => number | null): number | null =>
    layers.reduce<number | null>((total, layer) => {
      const value = of(layer);
      return total === null || value === null ? null : total + value;
    }, 0);
  const whole = (of: (layer: LayerReport) => number): number =>
    layers.reduce((total, layer) => total + of(layer), 0);
  return {
    ...first,
    name: sharedName(layers.map(({ name }) => name)),
    type: `${first.type} × ${layers.length}`,
    parameters: whole(({ parameters }) => parameters),
    flops: {
      forward: sum(({ flops }) => flops.forward),
      backwardData: sum(({ flops }) => flops.backwardData),
      backwardWeight: sum(({ flops }) => flops.backwardWeight),
    },
    operations: {
      forward: sum(({ operations }) => operations.forward),
      backward: sum(({ operations }) => operations.backward),
    },
    bytes: {
      forward: sum(({ bytes }) => bytes.forward),
      backward: sum(({ bytes }) => bytes.backward),
    },
    time: {
      ...first.time,
      forward: sum(({ time }) => time.forward),
      backward: sum(({ time }) => time.backward),
      communication: sum(({ time }) => time.communication),
      exposedCommunication: sum(({ time }) => time.exposedCommunication),
    },
    memory: {
      ...first.memory,
      parameters: whole(({ memory }) => memory.parameters),
      activations: sum(({ memory }) => memory.activations),
      gradient: whole(({ memory }) => memory.gradient),
    },
    exact: layers.every(({ exact }) => exact),
  };
}

/** The name with `*` for the numbers that differ. */
export function sharedName(names: readonly string[]): string {
  const parts = names.map((name) => name.split(/(\d+)/));
  return (parts[0] ?? [])
    .map((part, index) => (parts.every((each) => each[index] === part) ? part : '*'))
    .join('');
}
