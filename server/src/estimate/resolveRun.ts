/** The whole run that was asked for, with the price of a GPU-hour looked up; says where that is old or not known. */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { ageInDays, choosePrice, oldPrice } from '../hardware/prices/choosePrice.ts';
import { offerText, type Price, type PriceKind } from '../model/price.ts';
import type { Market, RunRequest, RunScenario } from '../model/scenario.ts';

export interface ResolvedRun {
  readonly run: RunScenario;
  /** About the price, where there is something to say. */
  readonly message?: string;
}

/** Without a market, prices have no age: nobody said which day it is. */
export function resolveRun(
  { price: asked, ...run }: RunRequest,
  cluster: ClusterProfile,
  market: Market | undefined,
): ResolvedRun {
  if (typeof asked === 'number') return { run: { ...run, price: { perGpuHour: asked } } };
  if (typeof asked === 'object') return { run: { ...run, price: asked } };
  const { price, kinds } = choosePrice(cluster, asked ?? 'on-demand', market?.offers);
  if (price === undefined) {
    // Who asks for no kind of price may not care for money.
    return asked === undefined ? { run } : { run, message: unknownPrice(cluster, asked, kinds) };
  }
  const message = ageOf(price, market);
  return { run: { ...run, price }, ...(message === undefined ? {} : { message }) };
}

function unknownPrice({ name }: ClusterProfile, asked: PriceKind, kinds: readonly PriceKind[]): string {
  const are = kinds.length === 1 ? 'is' : 'are';
  const known = kinds.length === 0 ? ', nor any other' : `; \`${kinds.join('`, `')}\` ${are}`;
  return `No \`${asked}\` price of \`${name}\` is known${known}: give yours as \`price=N\`, in US dollars per GPU-hour`;
}

function ageOf({ offer }: Price, market: Market | undefined): string | undefined {
  if (offer === undefined || market === undefined) return undefined;
  if (ageInDays(offer.date, market.today) <= oldPrice) return undefined;
  return `The price is more than ${oldPrice} days old (${offerText(offer)}): check it, or give yours as \`price=N\` in \`run\``;
}
