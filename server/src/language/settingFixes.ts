/** Fixes that set something of the scenario: dimensions without a value, and what findings advise. */

import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { ScenarioChange } from '../model/scenarioChange.ts';
import type { Diagnostic } from './diagnostics.ts';
import { dimensionChoices } from './dimensionChoices.ts';
import { type ModelView, viewOfModel } from './modelView.ts';
import { scenarioFixes } from './scenarioFixes.ts';

/** A fix that changes no text of a model, or where an editor decides in which file it goes. */
export interface SettingFix {
  readonly title: string;
  readonly diagnostic: Diagnostic;
  readonly change: ScenarioChange;
  readonly preferred?: true;
}

/** Gives every dimension without a value what it usually is. */
export function dimensionFixes(view: ModelView, diagnostics: readonly Diagnostic[]): readonly SettingFix[] {
  return diagnostics.flatMap((diagnostic): readonly SettingFix[] => {
    if (diagnostic.unset === undefined) return [];
    const unset = dimensionChoices(viewOfModel(view, diagnostic.model)).filter(
      ({ value }) => value === undefined,
    );
    if (unset.length === 0) return [];
    const title = `Set ${unset.map(({ name, proposal }) => `\`${name}\` to ${proposal}`).join(', ')}`;
    const dimensions = Object.fromEntries(unset.map(({ name, proposal }) => [name, proposal]));
    return [{ title, diagnostic, change: { dimensions }, preferred: true }];
  });
}

/** What findings advise, where the scenario stands in the settings. */
export function findingSettingFixes(
  view: ModelView,
  diagnostics: readonly Diagnostic[],
  recost: (change: ScenarioChange) => ModelEstimate,
): readonly SettingFix[] {
  return diagnostics.flatMap((diagnostic) =>
    scenarioFixes<ScenarioChange>({
      diagnostic,
      before: viewOfModel(view, diagnostic.model).estimate,
      ways: (change) => [change],
      recost,
    }).map(({ title, way }, index): SettingFix => {
      const fix = { title, diagnostic, change: way };
      return index === 0 ? { ...fix, preferred: true } : fix;
    }),
  );
}
