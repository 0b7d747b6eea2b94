/** Options of `layercost prices`. */

import { oneOf, WrongArgument } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';

export interface PricesArguments {
  readonly command: 'prices';
  readonly name: string | undefined;
  readonly update: string | undefined;
  readonly date: string | undefined;
  readonly format: 'table' | 'json';
}

/** Throws `WrongArgument`. */
export function readPricesArguments(rest: readonly string[]): PricesArguments {
  const { values, positionals } = parseOptions(rest, {
    update: { type: 'string' },
    date: { type: 'string' },
    format: { type: 'string' },
  });
  const [name, extra] = positionals;
  if (extra !== undefined) throw new WrongArgument('layercost prices takes at most one cluster');
  if (values.date !== undefined && Number.isNaN(Date.parse(values.date)))
    throw new WrongArgument(`--date is a day such as 2026-03-01, not "${values.date}"`);
  return {
    command: 'prices',
    name,
    update: values.update,
    date: values.date,
    format: oneOf('--format', values.format, ['table', 'json'], 'table'),
  };
}
