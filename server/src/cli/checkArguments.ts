/** `layercost check [FILE] [--base REF]`: budgets of models. */

import { oneOf, WrongArgument } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';

const formats = ['table', 'json', 'sarif', 'junit', 'github', 'markdown'] as const;
export type CheckFormat = (typeof formats)[number];

export interface CheckArguments {
  readonly command: 'check';
  /** The file of checks. */
  readonly file: string;
  /** The revision of git to compare with. */
  readonly base: string | undefined;
  readonly format: CheckFormat;
  readonly output: string | undefined;
  /** Findings that are accepted. */
  readonly baseline: string | undefined;
  /** Where the findings of now are written as accepted. */
  readonly writeBaseline: string | undefined;
}

const usualCheckFile = 'layercost.yaml';

export function readCheck(rest: readonly string[]): CheckArguments {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseOptions(rest, {
    base: text,
    format: text,
    output: text,
    baseline: text,
    'write-baseline': text,
  });
  const [file = usualCheckFile, extra] = positionals;
  if (extra !== undefined)
    throw new WrongArgument(`layercost check takes one file of checks; remove ${extra}`);
  // Git would take it for an option.
  if (values.base?.startsWith('-')) throw new WrongArgument(`--base ${values.base} is not a revision`);
  return {
    command: 'check',
    file,
    base: values.base,
    format: oneOf('--format', values.format, formats, 'table'),
    output: values.output,
    baseline: values.baseline,
    writeBaseline: values['write-baseline'],
  };
}
