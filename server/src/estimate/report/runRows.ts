/** Rows of a whole run: its time, its price and its energy. */

import { counted } from '../../model/counted.ts';
import {
  atLeast,
  formatCount,
  formatDuration,
  formatEnergy,
  formatPercent,
  formatPrice,
  significant,
} from '../../model/format.ts';
import { offerText } from '../../model/price.ts';
import { joules, seconds } from '../../model/units.ts';
import type { Report } from './report.ts';
import { type SummaryRow, timeText } from './reportText.ts';

export function runRows({ run, time }: Report['totals']): readonly SummaryRow[] {
  if (run === undefined) return [];
  const isKnown = run.exact && time.exact;
  return [
    {
      name: 'run',
      value: atLeast(formatDuration(seconds(run.time)), isKnown),
      detail: [
        counted(run.steps, 'step'),
        run.initialisation === null
          ? 'without initialisation, which is unknown'
          : `${timeText(run.initialisation)} before the first`,
        ...(run.price === null ? [] : [atLeast(formatPrice(run.price), isKnown)]),
        ...(run.offer === undefined ? [] : [`price of ${offerText(run.offer)}`]),
      ].join(', '),
    },
    ...energyRows(run),
  ];
}

/** The boards draw less than they may; what is around them is left out, and said so. */
function energyRows({ energy, exact }: NonNullable<Report['totals']['run']>): readonly SummaryRow[] {
  if (energy === null) return [];
  const { atMost, boardPower, utilisation, pue } = energy;
  const factors = `${formatCount(boardPower)} W of a GPU × ${formatPercent(utilisation)} busy × PUE ${significant(pue)}`;
  const start = exact ? '' : ', without the initialisation';
  return [
    {
      name: 'energy',
      value: `≤ ${formatEnergy(joules(atMost))}`,
      detail: `upper estimate for the GPUs: ${factors}${start}; hosts and network are not in it`,
    },
  ];
}
