/**
 * A framework with its options, as one text: `pytorch-ddp,bucket-mb=50,compile`. The command line, settings and layer specs
 * read it here. Whether the framework has the options is for the framework to say.
 */

import type { TextSpan } from '../model/issue.ts';
import type { FrameworkChoice } from '../model/scenario.ts';

export interface FrameworkText {
  /** Absent where no name is written. */
  readonly choice: FrameworkChoice | undefined;
  /** Where the name stands in the text. */
  readonly name: TextSpan;
  /** Where each option stands, with its value. */
  readonly options: ReadonlyMap<string, TextSpan>;
  readonly problems: readonly FrameworkTextProblem[];
}

export interface FrameworkTextProblem {
  /** One phrase: the piece that is wrong, and what to write. */
  readonly message: string;
  readonly span: TextSpan;
}

/** An option without a value is `true`. What is right counts, whatever else is wrong. */
export function readFrameworkText(text: string): FrameworkText {
  const problems: FrameworkTextProblem[] = [];
  const [first = { text: '', span: { start: 0, end: 0 } }, ...rest] = piecesOf(text);
  const isOption = first.text.includes('=');
  if (first.text === '' || isOption) {
    const what = isOption ? `\`${first.text}\` is where the name belongs` : 'the name is missing';
    problems.push({ message: `${what}: write ${example}`, span: first.span });
  }
  const values = new Map<string, string>();
  const options = new Map<string, TextSpan>();
  let before = first.text;
  for (const { text: piece, span } of isOption ? [] : rest) {
    const equals = piece.indexOf('=');
    const name = (equals < 0 ? piece : piece.slice(0, equals)).trim();
    const value = equals < 0 ? 'true' : piece.slice(equals + 1).trim();
    const problem =
      piece === ''
        ? `nothing follows \`${before},\`: write an option, such as \`bucket-mb=50\`, or remove the comma`
        : name === ''
          ? `\`${piece}\` has no name: write ${example}`
          : value === ''
            ? `\`${piece}\` has no value: write ${example}`
            : values.has(name)
              ? `\`${name}\` is given twice, as ${values.get(name)} and as ${value}: remove one`
              : undefined;
    if (problem === undefined) {
      values.set(name, value);
      options.set(name, span);
    } else problems.push({ message: problem, span });
    before = piece;
  }
  const hasName = first.text !== '' && !isOption;
  return {
    choice: hasName ? { name: first.text, options: Object.fromEntries(values) } : undefined,
    name: first.span,
    options,
    problems,
  };
}

const example = 'a name, then options, such as `pytorch-ddp,bucket-mb=50`';

/** What stands between the commas, without the blanks around it. */
function piecesOf(text: string): readonly { readonly text: string; readonly span: TextSpan }[] {
  let start = 0;
  return text.split(',').map((piece) => {
    const from = start + (piece.length - piece.trimStart().length);
    start += piece.length + 1;
    const trimmed = piece.trim();
    return { text: trimmed, span: { start: from, end: from + trimmed.length } };
  });
}

/** The text that is read back as this choice. */
export const printFramework = ({ name, options }: FrameworkChoice): string =>
  [name, ...Object.entries(options).map((pair) => pair.join('='))].join(',');

/** In a line that has little room: several options are left out. */
export const labelFramework = (framework: FrameworkChoice): string =>
  hasManyOptions(framework) ? framework.name : printFramework(framework);

export const hasManyOptions = ({ options }: FrameworkChoice): boolean => Object.keys(options).length > 1;
