/**
 * The blocks of a model: numbered modules that are built alike, such as the decoder layers of a transformer or the
 * bottlenecks of a ResNet. They are what people wrap in torch.utils.checkpoint, and what `checkpoint=block` goes by.
 *
 * Modules whose paths differ only in their numbers are of one kind (`layer3.0`, `layer4.1`). A kind is of blocks where
 * two of its modules have two weights or more of the same shapes; where there is none, where two use weights in the
 * same kinds of operators (the layers of a DenseNet grow). Of blocks within blocks, the outer ones count.
 */

import { isWeight, type Layer } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';
import { foldedIndex } from './repetition/foldGraph.ts';

/** By layer: the path of its block; `undefined` where no blocks repeat. It is found once for an analysis. */
export const repeatedBlocks = (analysis: ModelAnalysis): BlocksByLayer =>
  knownBlocks(analysis, 'blocks').ofLayers;

type BlocksByLayer = readonly (string | undefined)[] | undefined;

const knownBlocks = memoizeRecent(
  (analysis: ModelAnalysis, _: 'blocks'): { readonly ofLayers: BlocksByLayer } => ({
    ofLayers: findBlocks(analysis),
  }),
  (known, asked) => known === asked,
);

function findBlocks(analysis: ModelAnalysis): BlocksByLayer {
  const modules = numberedModules(analysis.layers);
  if (modules.size === 0) return undefined;
  for (const print of [printShapes(analysis), printTypes(analysis)]) {
    const kinds = kindsOfBlocks(modules, print);
    if (kinds.size === 0) continue;
    return analysis.layers.map((layer) =>
      pathsOf(layer).find((path) => kinds.has(kindOf(path)) && isWhole(modules.get(path) ?? [], print)),
    );
  }
  return undefined;
}

/** Several layers, or one of several operators with weights of their own, as a spec's `TransformerEncoderLayer`. */
const isWhole = ([first, second]: readonly Layer[], print: (layer: Layer) => readonly string[]): boolean =>
  second !== undefined || (first !== undefined && first.operators.length > 1 && print(first).length > 1);

/** Paths around a layer, outermost first; operators beside the submodules of a block are a layer named as the block. */
const pathsOf = ({ ancestors, name }: Layer): readonly string[] => [...ancestors, name];

/** Layers by the path of each module around them whose last part ends with a number. */
function numberedModules(layers: readonly Layer[]): ReadonlyMap<string, readonly Layer[]> {
  const modules = new Map<string, Layer[]>();
  for (const layer of layers) {
    for (const path of pathsOf(layer)) {
      if (!/\d\]?$/.test(path)) continue;
      const members = modules.get(path);
      if (members === undefined) modules.set(path, [layer]);
      else members.push(layer);
    }
  }
  return modules;
}

const kindOf = (path: string): string => path.replace(/\d+/g, '#');

/** Kinds of which two modules print alike. */
function kindsOfBlocks(
  modules: ReadonlyMap<string, readonly Layer[]>,
  print: (layer: Layer) => readonly string[],
): ReadonlySet<string> {
  const kinds = new Set<string>();
  const seen = new Set<string>();
  for (const [path, layers] of modules) {
    const kind = kindOf(path);
    if (kinds.has(kind)) continue;
    const weights = layers.flatMap(print);
    if (weights.length < 2) continue;
    const key = `${kind} ${weights.join(' ')}`;
    if (seen.has(key)) kinds.add(kind);
    seen.add(key);
  }
  return kinds;
}

/** The shapes of the matrices and filters that a layer uses. */
const printShapes =
  (analysis: ModelAnalysis) =>
  (layer: Layer): readonly string[] =>
    weightsOf(analysis, layer).map(({ shape }) => shape);

/** What it uses them for. */
const printTypes =
  (analysis: ModelAnalysis) =>
  (layer: Layer): readonly string[] =>
    weightsOf(analysis, layer).map(({ type }) => type);

/** Copies of a block use weights as the block does that stands for them in a folded analysis. */
function weightsOf(
  analysis: ModelAnalysis,
  layer: Layer,
): readonly { readonly type: string; readonly shape: string }[] {
  const { folded } = analysis;
  const { graph } = folded?.analysis ?? analysis;
  return layer.operators.flatMap((index) => {
    const operator = graph.operators[folded === undefined ? index : foldedIndex(folded.layout, index)];
    return (operator?.inputs ?? []).flatMap((name) => {
      const value = graph.values.get(name);
      if (operator === undefined || value === undefined || !isWeight(value.role)) return [];
      if (value.type.kind !== 'tensor' || !Array.isArray(value.type.shape)) return [];
      return value.type.shape.length < 2 ? [] : [{ type: operator.type, shape: value.type.shape.join('x') }];
    });
  });
}
