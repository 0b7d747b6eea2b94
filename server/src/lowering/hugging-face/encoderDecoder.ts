/** What encoders with decoders have in common: residual parts of blocks, and classes that hold the whole. */

import type { ConfigFields } from './configFields.ts';

/** Lines behind dropout of probability `drop`, none where it is 0, and behind a residual connection. */
export function residualParts(drop: number) {
  const dropped = (line: string): readonly string[] => (drop > 0 ? [`${line}: Dropout(${drop})`] : []);
  const part = (
    prefix: string,
    lines: readonly string[],
    last: string,
    source: string,
  ): readonly string[] => [
    ...lines,
    ...dropped(`${prefix}_dropout`),
    `${prefix}_residual: add(${source}, ${drop > 0 ? `${prefix}_dropout` : last})`,
  ];
  return { dropped, part };
}

/** Encoder and decoder with the head of language; other classes have a part of them. */
export function needWhole(
  { architecture, problems }: ConfigFields,
  whole: RegExp = /ForConditionalGeneration$/,
): void {
  if (architecture === undefined || whole.test(architecture)) return;
  problems.push(`the class "${architecture}" is not known`);
}
