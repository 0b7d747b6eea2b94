/** A table of prices as a file: what is built in, and what a person keeps. JSON, checked by schema. */

import { z } from 'zod';
import { schemaProblems } from '../../formats/schemaProblems.ts';
import { type Offer, priceKinds } from '../../model/price.ts';

const dollars = z.number().positive().max(100_000);

export const priceTable = z.array(
  z.strictObject({
    provider: z.string().min(1),
    instance: z.string().min(1),
    region: z.string().min(1),
    dollarsPerHour: z.partialRecord(z.enum(priceKinds), dollars),
    date: z.iso.date(),
    source: z.string().min(1),
  }),
);

/** The offers of a text, or what is wrong with it in one sentence. */
export function readPriceTable(
  text: string,
): { readonly offers: readonly Offer[] } | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `it is not valid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  const read = priceTable.safeParse(value);
  if (read.success) return { offers: read.data };
  const [first] = schemaProblems(read.error, priceTable, value);
  return { problem: `\`${first?.path.join('.') ?? ''}\` ${first?.message ?? 'is wrong'}` };
}
