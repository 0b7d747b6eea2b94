/** Files changed in a few places: bytes, numbers of the wire format, words, lengths. */

import { joinBytes, varint } from '../support/onnxBytes.ts';
import type { Random } from './random.ts';

/** A few edits of any kind, or a cut. */
export function mutateBytes(bytes: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  if (random.chance(0.15)) return bytes.slice(0, random.below(bytes.length + 1));
  let mutated = bytes;
  for (let edits = 1 + random.below(6); edits > 0; edits -= 1) mutated = editBytes(mutated, other, random);
  return mutated;
}

const hostileNumbers = [
  0n,
  1n,
  127n,
  255n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n,
  2n ** 53n,
  2n ** 62n,
  2n ** 63n - 1n,
  2n ** 64n - 1n,
];

function editBytes(bytes: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  const place = random.below(bytes.length + 1);
  const splice = (removed: number, inserted: Uint8Array): Uint8Array =>
    joinBytes([bytes.subarray(0, place), inserted, bytes.subarray(place + removed)]);
  const short = 1 + random.below(16);
  switch (random.below(7)) {
    case 0:
    case 1:
      return splice(1, Uint8Array.of(random.below(256)));
    case 2:
      return splice(0, Uint8Array.of(random.below(256)));
    case 3:
      return splice(short, new Uint8Array(0));
    case 4:
      return splice(1, varint(random.pick(hostileNumbers)));
    case 5:
      return splice(0, bytes.subarray(place, place + short * 16));
    default: {
      const from = random.below(other.length + 1);
      return splice(0, other.subarray(from, from + short * 16));
    }
  }
}

const hostileWords = [
  ...'{}[]()<>,:;=*+-/%"\'`#@&!|\\?'.split(''),
  '\n',
  '\n    ',
  '\t',
  '\u0000',
  '\ufeff',
  '\ud800',
  '\u2028',
  '...',
  '=>',
  '**',
  '//',
  '1e999',
  '-1',
  '0',
  '9007199254740993',
  '18446744073709551616',
  '1000000000',
  'nan',
  'inf',
  'null',
  'true',
  '__proto__',
  'constructor',
  'toString',
  'from input',
  '* 1000000000',
  '&a [*a, *a]',
  '<<: *a',
  'dims: 99999999999',
  'graph {',
  'input',
  'batch',
];

/** A few words or numbers replaced, pieces repeated, removed or taken from another text; or a cut. */
export function mutateText(text: string, other: string, random: Random): string {
  if (random.chance(0.15)) return text.slice(0, random.below(text.length + 1));
  let mutated = text;
  for (let edits = 1 + random.below(5); edits > 0; edits -= 1) mutated = editText(mutated, other, random);
  return mutated;
}

function editText(text: string, other: string, random: Random): string {
  const place = random.below(text.length + 1);
  const splice = (removed: number, inserted: string, at = place): string =>
    text.slice(0, at) + inserted + text.slice(at + removed);
  const short = 1 + random.below(24);
  switch (random.below(7)) {
    case 0:
      return splice(0, random.pick(hostileWords));
    case 1:
      return splice(short, random.pick(hostileWords));
    case 2:
      return splice(short, '');
    case 3: {
      // The next number or word becomes another.
      const word = /\w+/.exec(text.slice(place, place + 200));
      return word === null
        ? splice(0, random.pick(hostileWords))
        : splice(word[0].length, random.pick(hostileWords), place + word.index);
    }
    case 4:
      return splice(0, text.slice(place, place + short * 8));
    case 5: {
      const start = text.lastIndexOf('\n', place) + 1;
      const end = text.indexOf('\n', place);
      return splice(0, text.slice(start, end < 0 ? undefined : end + 1).repeat(1 + random.below(3)), start);
    }
    default: {
      const from = random.below(other.length + 1);
      return splice(0, other.slice(from, from + short * 8));
    }
  }
}
