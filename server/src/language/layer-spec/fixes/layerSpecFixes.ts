/** What can be done about the diagnostics of a layer spec. */

import type { Diagnostic } from '../../diagnostics.ts';
import type { Fix, Recost } from '../../fix.ts';
import { type ModelView, viewOfModel } from '../../modelView.ts';
import { offsetAt } from '../../textLines.ts';
import type { SpecText } from '../specText.ts';
import { argumentFixes } from './argumentFixes.ts';
import { callFixes } from './callFixes.ts';
import { findingFixes } from './findingFixes.ts';
import { isCure } from './isCure.ts';
import { nameFixes } from './nameFixes.ts';
import { removalFixes } from './removalFixes.ts';
import { unreadFixes } from './unreadFixes.ts';
import type { Wrong } from './wrong.ts';

/** The fixes of these diagnostics, the best of each first. `recost` is called for what changes the cost. */
export function layerSpecFixes(
  document: SpecText,
  view: ModelView,
  diagnostics: readonly Diagnostic[],
  recost: Recost,
): readonly Fix[] {
  return diagnostics.flatMap((diagnostic) => {
    const { start, end } = diagnostic.range;
    const span = { start: offsetAt(document.text, start), end: offsetAt(document.text, end) };
    const { model } = diagnostic;
    const wrong: Wrong = {
      document,
      view: viewOfModel(view, model),
      diagnostic,
      span,
      recost: (source) => recost(source, model),
    };
    const { repair } = diagnostic;
    const changes = [
      ...(repair === undefined ? [] : [{ title: repair.title, edits: [repair] }]),
      ...nameFixes(wrong),
      ...argumentFixes(wrong),
      ...callFixes(wrong),
      ...removalFixes(wrong),
      ...unreadFixes(wrong),
      ...findingFixes(wrong),
    ];
    const offered = changes
      .filter(({ title }, index) => changes.findIndex((other) => other.title === title) === index)
      .filter((change) => isCure(wrong, change));
    return offered.map(({ title, edits }, index): Fix => {
      const fix = { title, edits, diagnostic };
      return index === 0 ? { ...fix, preferred: true } : fix;
    });
  });
}
