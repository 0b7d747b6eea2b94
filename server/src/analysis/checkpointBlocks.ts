/**
 * Activation checkpointing of a whole model: every repeated block marked as computed again in backward.
 *
 * A block is what training scripts wrap: the outermost module that repeats under one name and a number, such as `h[3]`,
 * `/model/layers.3` or `/layer1/layer1.0` (torch.utils.checkpoint of each block; torchtitan's `apply_ac`).
 */

import type { Layer } from '../model/graph.ts';
import type { Checkpoint } from '../model/scenario.ts';
import type { TrainingGraph } from './modelAnalysis.ts';

/**
 * The training graph with its blocks marked; itself where nothing is asked for or no module repeats. Marks of a layer
 * spec stay as they are.
 */
export function checkpointBlocks(training: TrainingGraph, checkpoint: Checkpoint): TrainingGraph {
  if (checkpoint === 'none') return training;
  const { analysis, batch, costs, requiresGradient } = training;
  const blocks = blocksOf(analysis.layers);
  if (blocks.size === 0) return training;
  const first = 1 + analysis.layers.reduce((most, { marks }) => Math.max(most, marks?.recomputed ?? -1), -1);
  const numbers = new Map([...blocks].map((block, index) => [block, first + index]));
  const layers = analysis.layers.map((layer): Layer => {
    const number = pathsOf(layer)
      .map((path) => numbers.get(path))
      .find((found) => found !== undefined);
    if (number === undefined || layer.marks?.recomputed !== undefined) return layer;
    const keeps = checkpoint === 'selective' ? { keepsProducts: true as const } : {};
    return { ...layer, marks: { ...layer.marks, recomputed: number, ...keeps } };
  });
  const { folded: _, ...whole } = analysis;
  return {
    analysis: { ...whole, layers },
    batch,
    costs,
    get tensors() {
      return training.tensors;
    },
    requiresGradient,
  };
}

/** Paths of the outermost modules that repeat. */
export function blocksOf(layers: readonly Layer[]): ReadonlySet<string> {
  const counts = new Map<string, Set<string>>();
  for (const layer of layers) {
    for (const path of pathsOf(layer)) {
      const stem = stemOf(path);
      if (stem === undefined) continue;
      const known = counts.get(stem);
      if (known === undefined) counts.set(stem, new Set([path]));
      else known.add(path);
    }
  }
  const repeats = (path: string): boolean => (counts.get(stemOf(path) ?? '')?.size ?? 0) > 1;
  return new Set(layers.flatMap((layer) => pathsOf(layer).find(repeats) ?? []));
}

/** Enclosing modules, outermost first, and the layer itself. */
const pathsOf = ({ ancestors, name }: Layer): readonly string[] => [...ancestors, name];

/** What a path is called without its number: `h` of `h[3]`, `/model/layers` of `/model/layers.3`. */
const stemOf = (path: string): string | undefined => /^(.+)(?:\[\d+\]|[./]\d+)$/.exec(path)?.[1];
