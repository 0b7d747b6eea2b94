/** Whether a change makes a line readable and puts no other error in its place. */

import { diagnostics } from '../../diagnostics.ts';
import { isReadingCode } from '../../modelView.ts';
import { applyEdits } from '../../textEdit.ts';
import { positionAt } from '../../textLines.ts';
import { viewLayerSpec } from '../../viewLayerSpec.ts';
import type { Change, Wrong } from './wrong.ts';

/** A line that cannot be read may hide what is wrong with it: a fix that leads to the next error is none. Other fixes are. */
export function isCure({ document, view, diagnostic, recost }: Wrong, { edits }: Change): boolean {
  if (!isReadingCode(diagnostic.code)) return true;
  const edited = applyEdits(document.source, edits);
  const before = errorsOf(document.source, view.estimate);
  const after = errorsOf(edited, recost(edited));
  if (edited.split('\n').length !== document.text.lines.length) return after.length < before.length;
  const lines = new Set([
    diagnostic.range.start.line,
    ...edits.map(({ span }) => positionAt(document.text, span.start).line),
  ]);
  const onLines = (errors: typeof after): number =>
    errors.filter(({ range }) => lines.has(range.start.line)).length;
  // Elsewhere, a line that can be read again may show what could not be said before.
  return onLines(after) < Math.max(1, onLines(before));
}

const errorsOf = (source: string, estimate: Wrong['view']['estimate']) =>
  diagnostics(viewLayerSpec(source, estimate)).filter(({ severity }) => severity === 'error');
