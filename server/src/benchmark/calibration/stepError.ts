/** How far whole steps are from what is fitted to others, and how far the spreads of kinds alone let them be. */

import { factorOf, fitRows, net, predicted } from './fitRows.ts';
import { add } from './keyedSums.ts';
import { type KindFactors, prior } from './kindFactors.ts';
import type { Row } from './timedRows.ts';

/** Standard deviation of the logarithm of a model's time over what the others predict of it. */
export function stepError(rows: readonly Row[]): number {
  const models = [...new Set(rows.map(({ model }) => model))];
  const errors =
    models.length < 3
      ? []
      : models.map((model) => {
          const { kinds, starts } = fitRows(rows.filter((row) => row.model !== model));
          const own = rows.filter((row) => row.model === model && row.known.size > 0);
          const measured = own.reduce((sum, row) => sum + net(row, starts), 0);
          return Math.log(measured / own.reduce((sum, row) => sum + predicted(row, kinds), 0));
        });
  const squares = errors.reduce((sum, error) => sum + Math.min(error, 3 * prior.steps) ** 2, 0);
  return Math.sqrt((prior.count * prior.steps ** 2 + squares) / (prior.count + errors.length));
}

/** What the spreads of its kinds add up to in a step, as ranges of steps are made; the mean of the models. */
export function meanWidth(rows: readonly Row[], kinds: KindFactors): number {
  const wide = new Map<string, number>();
  const whole = new Map<string, number>();
  for (const row of rows) {
    for (const [kind, time] of row.known) {
      const own = factorOf(kinds, kind) * time;
      add(whole, row.model, own);
      const fitted = kinds.get(kind);
      if (fitted !== undefined) add(wide, row.model, own * fitted.spread);
    }
  }
  const shares = [...wide].map(([model, sum]) => sum / (whole.get(model) ?? Number.NaN));
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
