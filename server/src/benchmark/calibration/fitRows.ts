/** Factors of kinds and starts of passes of timings of several kinds, each fitted to what the other leaves. */

import { add, innerOf } from './keyedSums.ts';
import { type Divided, fitKinds, type KindFactors } from './kindFactors.ts';
import type { Row } from './timedRows.ts';

export interface Fit {
  readonly kinds: KindFactors;
  readonly starts: ReadonlyMap<Row['of'], number>;
}

const rounds = 8;

export function fitRows(rows: readonly Row[]): Fit {
  let fit: Fit = { kinds: new Map(), starts: new Map() };
  for (let round = 0; round < rounds; round += 1) {
    const starts = startsOf(rows, fit.kinds);
    fit = { starts, kinds: fitKinds(divide(rows, { ...fit, starts })) };
  }
  return fit;
}

export const factorOf = (kinds: KindFactors, kind: string): number => kinds.get(kind)?.factor ?? 1;

export const predicted = ({ known }: Row, kinds: KindFactors): number => {
  let sum = 0;
  for (const [kind, time] of known) sum += factorOf(kinds, kind) * time;
  return sum;
};

/**
 * What a pass of a layer alone takes beside its kernels, by the shortest ones: the GPU takes longer to start a kernel that follows
 * none, and a processor calls Python.
 */
function startsOf(rows: readonly Row[], kinds: KindFactors): Fit['starts'] {
  const found = new Map<Row['of'], number>();
  for (const of of ['forward', 'backward'] as const) {
    const own = rows.filter((row) => row.of === of && row.known.size > 0);
    const shortest = Math.min(...own.map(({ time }) => time));
    const left = own
      .filter(({ time }) => time < short * shortest)
      .map((row) => row.time - predicted(row, kinds))
      .sort((one, other) => one - other);
    const middle = left[left.length >> 1];
    if (middle !== undefined && left.length >= few) found.set(of, Math.max(0, middle));
  }
  return found;
}

/** Over the shortest timing: of longer ones a start is no part that can be told. */
const short = 4;
const few = 5;

/** A timing that is further from what is fitted counts less: mostly it holds kernels that the prediction does not know. */
const farOff = 0.1;

const startOf = (starts: Fit['starts'], of: Row['of']): number => {
  const start = starts.get(of);
  return start === undefined ? 0 : start;
};

/** Without its start; of the shortest, a part stays. */
export const net = ({ time, of }: Row, starts: Fit['starts']): number =>
  Math.max(time - startOf(starts, of), 0.3 * time);

function divide(rows: readonly Row[], { kinds, starts }: Fit): Divided {
  const measured = new Map<string, Map<string, number>>();
  const known = new Map<string, Map<string, number>>();
  const totals = new Map<string, number>();
  for (const row of rows) {
    const whole = predicted(row, kinds);
    if (whole === 0) continue;
    const time = net(row, starts);
    const weight = Math.min(1, farOff / Math.abs(Math.log(time / whole)));
    add(totals, row.model, time);
    for (const [kind, own] of row.known) {
      add(innerOf(measured, kind), row.model, (weight * time * factorOf(kinds, kind) * own) / whole);
      add(innerOf(known, kind), row.model, weight * own);
    }
  }
  return new Map(
    [...known].map(([kind, models]) => [
      kind,
      new Map(
        [...models]
          .filter(([, own]) => own > 0)
          .map(([model, own]) => {
            const time = measured.get(kind)?.get(model) ?? Number.NaN;
            return [model, { measured: time, known: own, share: time / (totals.get(model) ?? Number.NaN) }];
          }),
      ),
    ]),
  );
}
