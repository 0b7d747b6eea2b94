/** The price of a cluster: what its profile says, else the offers of its machine, a person's own before the built-in. */

import { type Offer, type Price, type PriceKind, priceKinds } from '../../model/price.ts';
import type { ClusterProfile } from '../clusterProfile.ts';
import { builtInOffers } from './offers.ts';

/** `kinds` are those there are, for the message where the asked one is not among them. */
export interface PriceChoice {
  readonly price: Price | undefined;
  readonly kinds: readonly PriceKind[];
}

/** Of several regions the one with the lowest price of the kind. */
export function choosePrice(
  cluster: ClusterProfile,
  kind: PriceKind,
  own: readonly Offer[] = [],
): PriceChoice {
  const { pricePerGpuHour, gpusPerNode } = cluster;
  if (pricePerGpuHour !== undefined && kind === 'on-demand')
    return { price: { perGpuHour: pricePerGpuHour.value }, kinds: ['on-demand'] };
  const offers = offersOf(cluster, own);
  const offer =
    cheapest(
      offers.filter((each) => own.includes(each)),
      kind,
    ) ?? cheapest(offers, kind);
  const kinds = priceKinds.filter((each) =>
    offers.some(({ dollarsPerHour }) => dollarsPerHour[each] !== undefined),
  );
  const dollars = offer?.dollarsPerHour[kind];
  if (offer === undefined || dollars === undefined) return { price: undefined, kinds };
  const { provider, instance, region, date, source } = offer;
  return {
    price: {
      perGpuHour: dollars / gpusPerNode.value,
      offer: { provider, instance, region, kind, date, source },
    },
    kinds,
  };
}

/** What is known of the machine of a cluster: a person's own offers first. */
export const offersOf = ({ instance }: ClusterProfile, own: readonly Offer[] = []): readonly Offer[] =>
  instance === undefined
    ? []
    : [...own, ...builtInOffers].filter(
        (offer) => offer.provider === instance.provider && offer.instance === instance.name,
      );

function cheapest(offers: readonly Offer[], kind: PriceKind): Offer | undefined {
  let best: Offer | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  for (const offer of offers) {
    const dollars = offer.dollarsPerHour[kind];
    if (dollars === undefined || dollars >= lowest) continue;
    [best, lowest] = [offer, dollars];
  }
  return best;
}

/** Days from the date of a price to `today`, both as "2026-03-01". */
export const ageInDays = (date: string, today: string): number =>
  Math.round((Date.parse(today) - Date.parse(date)) / 86_400_000);

/** Prices of clouds change a few times a year; from here on, a reader should know. */
export const oldPrice = 90;
