/** A change that takes a diagnostic away, and what it is worth. */

import type { ModelEstimate } from '../estimate/estimateModel.ts';
import { formatPercent, formatTime, significant } from '../model/format.ts';
import type { StepCost } from '../model/stepCost.ts';
import { seconds } from '../model/units.ts';
import type { Diagnostic } from './diagnostics.ts';
import type { TextEdit } from './textEdit.ts';

export interface Fix {
  /** What it does, and after a colon what that is worth. */
  readonly title: string;
  readonly diagnostic: Diagnostic;
  readonly edits: readonly TextEdit[];
  /** The one a person would take without looking at the others. */
  readonly preferred?: true;
}

/** Costs an edited text as the open one is costed: the model of this name, or the first. */
export type Recost = (source: string, model: string | undefined) => ModelEstimate;

/** `1.2 ms faster, 3 %`; '' where one of the times is unknown. */
export function gainOf(before: StepCost | undefined, after: StepCost | undefined): string {
  const from = before?.totals.time.step ?? null;
  const to = after?.totals.time.step ?? null;
  if (from === null || to === null || from === 0) return '';
  const saved = from - to;
  if (Math.abs(saved) < worthSaying * from) return asFast;
  const word = saved > 0 ? 'faster' : 'slower';
  return `${formatTime(seconds(Math.abs(saved)))} ${word}, ${formatPercent(Math.abs(saved) / from)}`;
}

/** `12 % more samples per second`, `46 times the samples per second`: what a change of the batch is worth. */
export function throughputGainOf(before: StepCost | undefined, after: StepCost | undefined): string {
  const from = before?.totals.throughput ?? null;
  const to = after?.totals.throughput ?? null;
  if (from === null || to === null || from === 0) return '';
  const gain = to / from - 1;
  if (Math.abs(gain) < worthSaying) return asFast;
  if (gain >= 1) return `${significant(to / from)} times the samples per second`;
  return `${formatPercent(Math.abs(gain))} ${gain > 0 ? 'more' : 'fewer'} samples per second`;
}

/** What does not pay is said too. */
const asFast = 'as fast as now';

/** Less than this is rounding. */
const worthSaying = 1e-3;
