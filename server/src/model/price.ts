/** What an hour of a GPU costs, from whom, and of which day that is known. */

export const priceKinds = ['on-demand', 'spot', 'reserved-1y', 'reserved-3y'] as const;
export type PriceKind = (typeof priceKinds)[number];

/** What one provider asks for a machine. */
export interface Offer {
  readonly provider: string;
  /** The machine, as the provider names it: "p5.48xlarge". */
  readonly instance: string;
  readonly region: string;
  /** US dollars for a machine and hour. */
  readonly dollarsPerHour: { readonly [K in PriceKind]?: number | undefined };
  /** The newest day that the prices are known to be of: "2026-03-01". */
  readonly date: string;
  readonly source: string;
}

/** A price that was chosen: of an offer, of a cluster profile, or of the person who asks. */
export interface Price {
  /** US dollars. */
  readonly perGpuHour: number;
  /** Absent where a person gave the number. */
  readonly offer?: Omit<Offer, 'dollarsPerHour'> & { readonly kind: PriceKind };
}

/** `AWS p5.48xlarge in us-east-1, on demand, 2026-03-01` */
export const offerText = ({ provider, instance, region, kind, date }: NonNullable<Price['offer']>): string =>
  `${provider} ${instance} in ${region}, ${kindTexts[kind]}, ${date}`;

const kindTexts: Readonly<Record<PriceKind, string>> = {
  'on-demand': 'on demand',
  spot: 'spot',
  'reserved-1y': 'reserved for a year',
  'reserved-3y': 'reserved for three years',
};
