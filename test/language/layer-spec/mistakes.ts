/** Slips of the keyboard: one of each kind at a place of a layer spec, with where it was made. */

export interface Mistake {
  readonly kind: MistakeKind;
  readonly source: string;
  readonly line: number;
}

export type MistakeKind = keyof typeof makers;

/** Edits of `text` that make one mistake, each at a place of its own: what is replaced, and by what. */
interface Slip {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const makers = {
  comma: (text: string) => signs(text, /,/g),
  bracket: (text: string) => signs(text, /[()[\]{}]/g),
  colon: (text: string) => signs(text, /:(?=\s|$)/g),
  quote: (text: string) => signs(text, /['"]/g),
  /** A tab in the place of the spaces that indent a line. */
  tab: (text: string) => matches(text, /(?<=^|\n)[ ]+(?=[^\s#])/g).map((place) => ({ ...place, text: '\t' })),
  /** One letter of a key is left out, doubled, or swapped with the next. */
  key: (text: string) =>
    matches(text, /(?<=[\n{,(]\s*)[a-z-]{4,}(?=\s*[:=])/g).flatMap(({ start, end }) => {
      const word = text.slice(start, end);
      const middle = start + Math.floor(word.length / 2);
      return [
        { start: middle, end: middle + 1, text: '' },
        { start: middle, end: middle, text: text[middle] ?? '' },
        { start: middle - 1, end: middle + 1, text: `${text[middle]}${text[middle - 1]}` },
      ].filter((slip) => text.slice(slip.start, slip.end) !== slip.text);
    }),
  indent: (text: string) => matches(text, /(?<=\n)[ ]+(?=[^\s#])/g).map((place) => ({ ...place, text: '' })),
  /** A call without a name before it, as in `nn.Sequential`; a name that other lines read stays. */
  unnamed: (text: string) =>
    matches(text, /(?<=\n\s*- )[A-Za-z_]\w*: (?=[A-Za-z_]\w*\()/g)
      .filter(({ start, end }) => text.split(new RegExp(`\\b${text.slice(start, end - 2)}\\b`)).length === 2)
      .map((place) => ({ ...place, text: '' })),
  /** An assignment, as in a module of PyTorch. */
  assignment: (text: string) =>
    matches(text, /(?<=\n\s*- [A-Za-z_]\w*): (?=[A-Za-z_]\w*\()/g).map((place) => ({
      ...place,
      text: ' = ',
    })),
  /** A shape without its element type. */
  type: (text: string) =>
    matches(text, /(?<=\n\s+\w+: )float32(?=\[)/g).map((place) => ({ ...place, text: '' })),
  /** A line that ends in the middle of a word or after a sign. */
  unfinished: (text: string) =>
    matches(text, /(?<=\n\s*- )[^\n]{8,}/g).flatMap(({ start, end }) =>
      [0.4, 0.6, 0.8].map((part) => ({ start: start + Math.floor((end - start) * part), end, text: '' })),
    ),
} satisfies Readonly<Record<string, (text: string) => readonly Slip[]>>;

export const mistakeKinds = Object.keys(makers).filter((kind): kind is MistakeKind => kind in makers);

/** All places at which a mistake of this kind can be made in a text, outside of its comments. */
export function mistakesOf(kind: MistakeKind, text: string): readonly Mistake[] {
  return makers[kind](text)
    .filter(({ start }) => !isInComment(text, start))
    .map(({ start, end, text: written }) => ({
      kind,
      source: text.slice(0, start) + written + text.slice(end),
      line: text.slice(0, start).split('\n').length - 1,
    }));
}

const matches = (
  text: string,
  pattern: RegExp,
): readonly { readonly start: number; readonly end: number }[] =>
  [...text.matchAll(pattern)].map((match) => ({ start: match.index, end: match.index + match[0].length }));

const signs = (text: string, pattern: RegExp): readonly Slip[] =>
  matches(text, pattern).map((place) => ({ ...place, text: '' }));

function isInComment(text: string, offset: number): boolean {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  const line = text.slice(start, end < 0 ? text.length : end);
  const comment = /(?:^|\s)#/.exec(line);
  return comment !== null && start + comment.index <= offset;
}
