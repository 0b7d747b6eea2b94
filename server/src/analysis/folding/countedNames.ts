/**
 * Whether names that count up from block to block are ever the same: what is the same is one value, or one module, and
 * then blocks are not what they seem.
 */

import { type NumberedText, textIn } from '../../formats/onnx/numberedText.ts';
import { patternOf } from './findRepetition.ts';

/** Names of which each block has its own. */
export class CountedNames {
  readonly #blocks: number;
  readonly #byPattern = new Map<string, (readonly CountedNumber[])[]>();

  /** Of `blocks` blocks. */
  constructor(blocks: number) {
    this.#blocks = blocks;
  }

  /** Adds a name; false where it may be that of another, or of another block. */
  add(name: NumberedText): boolean {
    if (name.values.length === 0) return false;
    const pattern = patternOf(textIn(name, 0));
    const numbers = numbersOf(name);
    const known = this.#byPattern.get(pattern);
    if (known === undefined) {
      this.#byPattern.set(pattern, [numbers]);
      return true;
    }
    if (known.length >= mostAlike || known.some((other) => this.#meet(numbers, other))) return false;
    known.push(numbers);
    return true;
  }

  /** Whether one of them may be this name, which does not count. */
  mayHave(name: string): boolean {
    const known = this.#byPattern.get(patternOf(name));
    if (known === undefined) return false;
    const numbers = numbersOf({ pieces: [name], values: [], steps: [] });
    return known.some((counted) => this.#meet(counted, numbers));
  }

  /** Whether two names of one pattern, by their numbers, may be the same in some of the blocks. */
  #meet(ours: readonly CountedNumber[], theirs: readonly CountedNumber[]): boolean {
    let between: number | undefined;
    for (const [index, our] of ours.entries()) {
      const their = theirs[index];
      if (their === undefined) return true;
      if (our.step === 0 && their.step === 0) {
        if (our.digits !== their.digits) return false;
      } else if (our.step === their.step) {
        // The same number stands this many blocks further on.
        const blocks = (our.value - their.value) / our.step;
        if (!Number.isInteger(blocks) || Math.abs(blocks) >= this.#blocks) return false;
        if (between !== undefined && between !== blocks) return false;
        between = blocks;
      } else if (our.step === 0 || their.step === 0) {
        const [fixed, counted] = our.step === 0 ? [our, their] : [their, our];
        const block = (fixed.value - counted.value) / counted.step;
        if (!Number.isInteger(block) || block < 0 || block >= this.#blocks) return false;
      }
    }
    return true;
  }
}

/** More names of one pattern than this are not compared with each other. */
const mostAlike = 500;

interface CountedNumber {
  readonly digits: string;
  readonly value: number;
  /** 0 where it is the same in all blocks. */
  readonly step: number;
}

/** All numbers of a name, in order. */
function numbersOf({ pieces, values, steps }: NumberedText): readonly CountedNumber[] {
  const numbers: CountedNumber[] = [];
  for (const [index, piece] of pieces.entries()) {
    for (const [digits] of piece.matchAll(/\d+/g)) numbers.push({ digits, value: Number(digits), step: 0 });
    const value = values[index];
    if (value !== undefined) numbers.push({ digits: String(value), value, step: steps[index] ?? 0 });
  }
  return numbers;
}
