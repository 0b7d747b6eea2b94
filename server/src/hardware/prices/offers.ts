/** The offers that are built in: prices of clouds with their day and source. */

import type { Offer } from '../../model/price.ts';
import tables from './offers.json';

/** Checked against the schema by `test/hardware/prices.test.ts`. */
export const builtInOffers: readonly Offer[] = tables.flatMap(({ date, source, offers }) =>
  offers.map((offer) => ({ ...offer, date, source })),
);
