/** One model of a layer spec: what it says itself over what the top level says for all. */

import type { LayerSpec, Name, SpecBody } from './syntax.ts';

/** A model with everything it needs; `name` is absent where the text names neither model nor file. */
export interface SelectedModel extends SpecBody {
  readonly name: Name | undefined;
}

/** Names of the models of a file; empty where it is one model. */
export const modelNames = (spec: LayerSpec): readonly string[] => spec.models.map(({ name }) => name.text);

/**
 * The model called `wanted`; the first where none is asked for, and the file itself where it is one model. Gives
 * `undefined` where there is no model of that name.
 *
 * Dims and blocks of a model add to those of the top level and win over them, the keys of its scenario too; inputs,
 * layers and outputs of a model replace them.
 */
export function selectModel(spec: LayerSpec, wanted?: string): SelectedModel | undefined {
  if (spec.models.length === 0) {
    return wanted === undefined || wanted === spec.name?.text ? spec : undefined;
  }
  const model = wanted === undefined ? spec.models[0] : spec.models.find(({ name }) => name.text === wanted);
  if (model === undefined) return undefined;
  const has = (key: string): boolean => model.sections.some((section) => section.key.text === key);
  const hasFramework = model.scenarioSpans.has('framework');
  return {
    name: model.name,
    dims: overlaid(spec.dims, model.dims),
    inputs: has('inputs') ? model.inputs : spec.inputs,
    hasAllInputs: has('inputs') ? model.hasAllInputs : spec.hasAllInputs,
    blocks: overlaid(spec.blocks, model.blocks),
    layers: has('layers') ? model.layers : spec.layers,
    outputs: has('outputs') || has('layers') ? model.outputs : spec.outputs,
    scenario: { ...spec.scenario, ...model.scenario },
    scenarioSpans: new Map([
      // Another framework takes none of the shared one's options.
      ...[...spec.scenarioSpans].filter(([key]) => !key.startsWith('framework.') || !hasFramework),
      ...model.scenarioSpans,
    ]),
    scenarioKeySpans: new Map([...spec.scenarioKeySpans, ...model.scenarioKeySpans]),
    sections: model.sections,
  };
}

/** The model below `models` in whose text `offset` is; `undefined` outside of all of them. */
export function modelAt(spec: LayerSpec, offset: number): string | undefined {
  return spec.models.find(({ span }) => offset >= span.start && offset <= span.end)?.name.text;
}

function overlaid<Item extends { readonly name: Name }>(
  shared: readonly Item[],
  own: readonly Item[],
): readonly Item[] {
  const replaced = new Map(own.map((item) => [item.name.text, item]));
  const kept = shared.map((item) => replaced.get(item.name.text) ?? item);
  const names = new Set(shared.map((item) => item.name.text));
  return [...kept, ...own.filter((item) => !names.has(item.name.text))];
}
