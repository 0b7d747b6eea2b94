/** A text that each block of a network has, with numbers that count up from block to block: `/layers.7/mlp/Add_41`. */
export interface NumberedText {
  /** What stands around the numbers: one more than there are numbers. */
  readonly pieces: readonly string[];
  /** Each number in block 0. */
  readonly values: readonly number[];
  /** What each number grows by from block to block; always positive. */
  readonly steps: readonly number[];
}

const number = /\d+/g;

/** The text of which block 0 has `first` and block 1 `second`; `undefined` where they differ in more than numbers. */
export function numberedText(first: string, second: string): NumberedText | undefined {
  if (first === second) return { pieces: [first], values: [], steps: [] };
  const numbers = [...first.matchAll(number)];
  const others = [...second.matchAll(number)];
  if (numbers.length !== others.length) return undefined;
  const pieces: string[] = [];
  const values: number[] = [];
  const steps: number[] = [];
  let written = 0;
  for (const [index, { 0: digits, index: at }] of numbers.entries()) {
    const other = others[index]?.[0] ?? '';
    if (digits === other) continue;
    if (!isPlain(digits) || !isPlain(other) || Number(other) < Number(digits)) return undefined;
    pieces.push(first.slice(written, at));
    values.push(Number(digits));
    steps.push(Number(other) - Number(digits));
    written = at + digits.length;
  }
  const text = { pieces: [...pieces, first.slice(written)], values, steps };
  return textIn(text, 1) === second ? text : undefined;
}

/** Without zeros in front, which a number would lose, and exact. */
const isPlain = (digits: string): boolean => digits.length < 16 && String(Number(digits)) === digits;

/** The text in one of the blocks. */
export function textIn({ pieces, values, steps }: NumberedText, block: number): string {
  let text = pieces[0] ?? '';
  for (let index = 0; index < values.length; index += 1) {
    text += (values[index] ?? 0) + block * (steps[index] ?? 0) + (pieces[index + 1] ?? '');
  }
  return text;
}

/** Whether there is such a text in a block, which may be before block 0: numbers are not counted below 0. */
export const isIn = ({ values, steps }: NumberedText, block: number): boolean =>
  values.every((value, index) => value + block * (steps[index] ?? 0) >= 0);

/** The same text counted from another block. */
export const countedFrom = ({ pieces, values, steps }: NumberedText, block: number): NumberedText => ({
  pieces,
  values: values.map((value, index) => value + block * (steps[index] ?? 0)),
  steps,
});
