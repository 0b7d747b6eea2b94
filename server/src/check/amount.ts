/** Reads amounts as people write them: `60 ms`, `70 GiB`, `80 %`, `26 M`, `$2000`, and changes: `+5 %`. */

export type Unit = 'time' | 'size' | 'share' | 'count' | 'money';

export type ReadAmount =
  /** In the base unit: seconds, bytes, shares of 1, a count, US dollars. */
  | { readonly kind: 'absolute'; readonly value: number }
  /** Shares of the value before: 0.05 for `+5 %`. */
  | { readonly kind: 'relative'; readonly share: number }
  | { readonly kind: 'wrong'; readonly message: string };

/** By unit: what may stand behind a number, and what it is worth. Sizes in decimal and binary units, times up to days. */
const units: Readonly<Record<Unit, ReadonlyMap<string, number>>> = {
  time: new Map([
    ['ns', 1e-9],
    ['us', 1e-6],
    ['µs', 1e-6],
    ['ms', 1e-3],
    ['s', 1],
    ['min', 60],
    ['h', 3600],
    ['d', 86_400],
  ]),
  size: new Map([
    ['B', 1],
    ['kB', 1e3],
    ['KB', 1e3],
    ['MB', 1e6],
    ['GB', 1e9],
    ['TB', 1e12],
    ['KiB', 2 ** 10],
    ['MiB', 2 ** 20],
    ['GiB', 2 ** 30],
    ['TiB', 2 ** 40],
  ]),
  share: new Map([['%', 0.01]]),
  count: new Map([
    ['', 1],
    ['k', 1e3],
    ['M', 1e6],
    ['G', 1e9],
    ['B', 1e9],
    ['T', 1e12],
    ['P', 1e15],
  ]),
  money: new Map([
    ['', 1],
    ['k', 1e3],
    ['M', 1e6],
  ]),
};

const examples: Readonly<Record<Unit, string>> = {
  time: '60 ms',
  size: '70 GiB',
  share: '80 %',
  count: '26 M',
  money: '$2000',
};

/** One limit: an amount of the unit, or a change against the value before, which has a sign and a percentage. */
export function readAmount(text: string, unit: Unit): ReadAmount {
  const written = text.trim();
  const change = /^([+-])\s*(\d+(?:\.\d+)?)\s*%$/.exec(written);
  if (change !== null)
    return { kind: 'relative', share: (change[1] === '-' ? -1 : 1) * Number(change[2]) * 0.01 };
  const amount = /^(\$?)\s*(\d[\d,_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([A-Za-zµ%]*)$/i.exec(written);
  const [, sign = '', digits = '', name = ''] = amount ?? [];
  const factor = sign === '' || unit === 'money' ? units[unit].get(name) : undefined;
  const value = Number(digits.replace(/[,_]/g, ''));
  if (amount === null || factor === undefined || !Number.isFinite(value)) {
    const known = [...units[unit].keys()].filter((each) => each !== '');
    return {
      kind: 'wrong',
      message: `\`${written}\` is not an amount such as \`${examples[unit]}\` (units: ${known.join(', ')}), nor a change such as \`+5 %\``,
    };
  }
  return { kind: 'absolute', value: value * factor };
}
