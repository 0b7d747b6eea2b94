/** One model of a layer spec as operators, its layers in order of writing. */

import type { SelectedModel } from '../../formats/layer-spec/selectModel.ts';
import type { SpecInput } from '../../formats/layer-spec/syntax.ts';
import { layersOf } from '../../formats/layer-spec/walkSpec.ts';
import { type Dimension, symbol, unknownDimension } from '../../model/dimension.ts';
import type { Issue } from '../../model/issue.ts';
import type { Home, HomeBlock } from './blockTable.ts';
import { dimensionValues, openDimensions } from './dimensionValues.ts';
import { evaluate, namesIn } from './evaluate.ts';
import type { GraphBuilder } from './graphBuilder.ts';
import type { Tensor } from './layerDefinition.ts';
import { keyOfValue, LoweringCache } from './loweringCache.ts';
import { LoweringRun } from './loweringRun.ts';
import { lowerLines } from './lowerLines.ts';
import { reportOnce } from './reportOnce.ts';
import { type Scope, single, tensorOf } from './scope.ts';

export interface LoweredModel {
  readonly graph: GraphBuilder;
  /** Tensors that leave the model. */
  readonly outputs: readonly Tensor[];
  /** Values of the dimensions that stay open, where they have one. */
  readonly symbolDefaults: ReadonlyMap<string, number>;
  /** Open dimensions whose value was needed. */
  readonly pinned: ReadonlySet<string>;
  readonly issues: readonly Issue[];
}

/** `included` are blocks of other files; `closed` are open dimensions whose value is known to be needed. */
export function lowerModel(
  model: SelectedModel,
  included: ReadonlyMap<string, HomeBlock>,
  overrides: ReadonlyMap<string, number>,
  closed: ReadonlySet<string>,
  memory: LoweringCache = new LoweringCache('copies'),
): LoweredModel {
  const log = reportOnce();
  const open = openDimensions(model, closed);
  const { values, symbolDefaults } = dimensionValues(model.dims, open, overrides, log.report);
  const blocks = new Map(included);
  const home: Home = { file: undefined, blocks, values };
  for (const block of model.blocks) blocks.set(block.name.text, { block, home });
  const kept = memory.runOf(circumstancesOf(model, home, symbolDefaults));
  const run = new LoweringRun(home, kept, symbolDefaults, log);
  const scope: Scope = {
    home,
    values: kept.valuesOf('', '', values),
    tensors: new Map(),
    weights: new Map(),
    outer: undefined,
    layers: model.layers,
    hasAllInputs: model.hasAllInputs,
    blocks: [],
    prefix: '',
    ancestors: [],
    marks: {},
    line: undefined,
    report: log.report,
  };
  const inputs = model.inputs.map((input) => inputTensor(input, scope, run.graph));
  // The circumstances of the run before were the same, and so are its inputs.
  kept.inputs ??= inputs;
  for (const tensor of kept.inputs) scope.tensors.set(tensor.name, single(tensor));
  const last = lowerLines(scope, run);
  kept.finish();
  const named = model.outputs.flatMap((reference) => tensorOf(reference, scope) ?? []);
  const outputs = model.outputs.length > 0 || last === undefined ? named : [last];
  run.given.returns(0, outputs);
  // A line that cannot be read may be the one that reads a layer.
  if (log.issues.every(({ severity }) => severity !== 'error')) {
    for (const issue of run.given.unread(run.graph.readNames(), referredNames(model))) log.report(issue);
  }
  return { graph: run.graph, outputs, symbolDefaults, pinned: run.pinned, issues: log.issues };
}

/** What all lines depend on. */
function circumstancesOf(
  { inputs }: SelectedModel,
  { values }: Home,
  symbolDefaults: ReadonlyMap<string, number>,
): string {
  return JSON.stringify([
    inputs.map(({ name, elementType, dimensions }) => [
      name.text,
      elementType,
      dimensions.map((size) => keyOfValue(evaluate(size, values, () => {}))),
    ]),
    [...values].map(([name, value]) => [name, keyOfValue(value)]),
    [...symbolDefaults],
  ]);
}

function inputTensor(
  { name, elementType, dimensions }: SpecInput,
  scope: Scope,
  graph: GraphBuilder,
): Tensor {
  const shape = dimensions.map((size): Dimension => {
    const value = evaluate(size, scope.values, scope.report);
    if (typeof value === 'number' || (typeof value === 'object' && value !== null && 'kind' in value))
      return value;
    if (size.kind !== 'name') return unknownDimension('its expression has no value');
    // That it has no value has been said; its name tells more than a question mark.
    graph.unknownSizes.add(size.name);
    return symbol(size.name);
  });
  return graph.input(name.text, elementType, shape);
}

/** Names in the arguments of calls, tensors or not. */
function referredNames(model: SelectedModel): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { call } of layersOf(model)) {
    for (const { value } of call?.arguments ?? []) for (const name of namesIn(value)) names.add(name);
  }
  return names;
}
