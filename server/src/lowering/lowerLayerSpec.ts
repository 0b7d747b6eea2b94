/**
 * Lowers a layer spec to ONNX operators, so that the engine that costs ONNX files costs it too.
 *
 * A line that is wrong takes nothing else away: it becomes one operator that nothing knows, layers after it go on with
 * the sizes their arguments give, and an issue stands at the word that is wrong.
 */

import { type SelectedModel, selectModel } from '../formats/layer-spec/selectModel.ts';
import type { LayerSpec } from '../formats/layer-spec/syntax.ts';
import type { OnnxModel } from '../formats/onnx/syntax.ts';
import type { Issue } from '../model/issue.ts';
import { includeBlocks, type ReadInclude } from './layer-spec/blockTable.ts';
import { findUnused } from './layer-spec/findUnused.ts';
import type { LoweringCache } from './layer-spec/loweringCache.ts';
import { type LoweredModel, lowerModel } from './layer-spec/lowerModel.ts';
import type { ProvidedStructure } from './providedStructure.ts';

export interface LoweringOptions {
  /** Values of dims that win over those of the spec. */
  readonly dimensions?: ReadonlyMap<string, number>;
  /** Which model of several; the first where none is named. It must be one of the spec. */
  readonly model?: string;
  /** Path of the spec relative to its own folder: its name. */
  readonly path?: string;
  readonly readInclude?: ReadInclude;
  /** What was found out about an earlier state of the text; it is changed to what is found now. */
  readonly memory?: LoweringCache;
}

export interface LoweredSpec {
  readonly model: OnnxModel;
  readonly structure: ProvidedStructure;
  readonly selected: SelectedModel;
  /** Paths of the files it includes, found or not, relative to its folder. */
  readonly includes: readonly string[];
  readonly issues: readonly Issue[];
}

/**
 * One model of `spec`.
 *
 * The leading dimension of the first input stays open, and so does every dimension that only stands in the types
 * of inputs, unless a layer needs its value; their values are in `structure.symbolDefaults`. All others are numbers
 * in the graph.
 */
export function lowerLayerSpec(spec: LayerSpec, options: LoweringOptions = {}): LoweredSpec {
  const selected = selectModel(spec, options.model) ?? { ...spec, name: undefined };
  const overrides = options.dimensions ?? new Map<string, number>();
  const issues: Issue[] = [];
  const included = includeBlocks(spec, options.path ?? '', options.readInclude, (issue) =>
    issues.push(issue),
  );
  const lower = (closed: ReadonlySet<string>): LoweredModel =>
    lowerModel(selected, included.blocks, overrides, closed, options.memory);
  const open = lower(new Set());
  // A dimension whose value went into the graph (a table of positions, say) is a number from the start.
  const lowered = open.pinned.size === 0 ? open : lower(open.pinned);
  const { graph } = lowered;
  return {
    model: graph.build(nameOf(spec, selected, options.path), lowered.outputs),
    structure: {
      layers: graph.layers,
      roles: graph.roles,
      symbolDefaults: lowered.symbolDefaults,
      repetitions: graph.repetitions,
      ...(graph.unknownSizes.size === 0 ? {} : { reportedSymbols: graph.unknownSizes }),
      issues: [],
    },
    selected,
    includes: included.paths,
    issues: [...issues, ...lowered.issues, ...findUnused(spec)],
  };
}

/** `gpt2#small` where a file holds several models, so that each can be asked for by what a report calls it. */
function nameOf(spec: LayerSpec, { name }: SelectedModel, path = ''): string {
  if (spec.models.length === 0 || name === undefined) return name?.text ?? '';
  return `${spec.name?.text ?? path}#${name.text}`;
}
