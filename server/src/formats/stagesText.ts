/**
 * Where a pipeline is cut, as a person writes it: a word, blocks of each stage (`8+8+9+7`, or `11+11+10+0` for a head by itself),
 * or names of blocks (`h.8+h.16`).
 */

import { type ParallelRequest, stageCuts } from '../model/scenario.ts';

/** The cut, or what is wrong with it. `[8, 8, 9, 7]` is the same as `8+8+9+7`. */
export function readStages(
  text: string,
): { readonly stages: NonNullable<ParallelRequest['stages']> } | { readonly problem: string } {
  const word = stageCuts.find((each) => each === text);
  if (word !== undefined) return { stages: word };
  const parts = text
    .replace(/^\[(.*)\]$/, '$1')
    .split(/[+,]/)
    .map((part) => part.trim());
  const numbers = parts.map(Number);
  if (
    parts.every((part) => /^\d+$/.test(part)) &&
    numbers.every((each, stage) => each > 0 || (stage > 0 && stage === numbers.length - 1))
  )
    return { stages: numbers };
  // A name of a block ends with its number.
  if (parts.every((part) => /[^\d\s].*\d\]?$/.test(part))) return { stages: parts };
  return {
    problem: `\`stages\` is ${stageCuts.join(', ')}, blocks of each stage such as 8+8+9+7, or the blocks that later stages begin with such as h.8+h.16; not "${text}"`,
  };
}

/** As `readStages` takes it. */
export const stagesText = (stages: NonNullable<ParallelRequest['stages']>): string =>
  typeof stages === 'string' ? stages : stages.join('+');
