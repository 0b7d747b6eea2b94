/** What an estimate advises, done in the text of a layer spec, with what it saves. */

import { readFrameworkText } from '../../../formats/frameworkText.ts';
import { selectModel } from '../../../formats/layer-spec/selectModel.ts';
import type { ScenarioChange } from '../../../model/scenarioChange.ts';
import { scenarioFixes } from '../../scenarioFixes.ts';
import { applyEdits, type TextEdit } from '../../textEdit.ts';
import { frameworkEdit } from './frameworkEdit.ts';
import { scenarioEdit } from './scenarioEdit.ts';
import type { Change, Wrong } from './wrong.ts';

export function findingFixes(wrong: Wrong): readonly Change[] {
  const { diagnostic, view, document, recost } = wrong;
  return scenarioFixes<readonly TextEdit[]>({
    diagnostic,
    before: view.estimate,
    ways: (change) => waysToWrite(wrong, change),
    recost: (edits) => recost(applyEdits(document.source, edits)),
  }).map(({ title, way }) => ({ title, edits: way }));
}

/** Edits for one key of the scenario. The batch may also be one of the dims, and an option has a place of its own. */
function waysToWrite(
  { document, view, diagnostic: { model } }: Wrong,
  { batch, framework, ...keys }: ScenarioChange,
): readonly (readonly TextEdit[])[] {
  if (batch !== undefined && batch !== null) {
    const { inputs, dims } = selectModel(document.spec, model) ?? document.spec;
    const [size] = inputs[0]?.dimensions ?? [];
    const dim = size?.kind === 'name' ? dims.find(({ name }) => name.text === size.name) : undefined;
    return [
      ...(dim?.value?.kind === 'number' ? [[{ span: dim.value.span, text: String(batch) }]] : []),
      [scenarioEdit(document, 'batch', String(batch), model)],
    ];
  }
  if (framework !== undefined && framework !== null) {
    const now = view.estimate.scenario?.framework ?? { name: 'pytorch-ddp', options: {} };
    const { choice } = readFrameworkText(framework);
    const option = Object.entries(choice?.options ?? {}).find(([name, value]) => now.options[name] !== value);
    if (choice?.name === now.name && option !== undefined)
      return [[frameworkEdit(document, now, ...option, model)]];
    return [[scenarioEdit(document, 'framework', framework, model)]];
  }
  return Object.entries(keys).map(([key, value]) => [
    scenarioEdit(document, key, Array.isArray(value) ? `'${value.join(', ')}'` : String(value), model),
  ]);
}
