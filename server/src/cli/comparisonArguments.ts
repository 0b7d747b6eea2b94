/** The words of `layercost compare`: two models in one scenario, one or two models in two, or two revisions of a model. */

import { oneOf, textOf, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from './scenarioArguments.ts';

export interface ComparisonArguments {
  readonly command: 'compare';
  readonly left: ComparedFile;
  readonly right: ComparedFile;
  /** A git revision: the left side is the file as it is there. */
  readonly base: string | undefined;
  readonly format: 'table' | 'json' | 'html';
  readonly output: string | undefined;
}

/** One side of a comparison. */
export interface ComparedFile {
  readonly file: string;
  readonly scenario: ScenarioArguments;
}

/** `--left` and `--right` hold options of one side each, in one text. */
export function readCompare(rest: readonly string[]): ComparisonArguments {
  const { values, positionals } = parseOptions(joinSides(rest), {
    ...scenarioOptions,
    format: { type: 'string' },
    base: { type: 'string' },
    left: { type: 'string' },
    right: { type: 'string' },
    output: { type: 'string' },
  });
  const { left, right, format, base, output, ...shared } = values;
  const [first, second = first, extra] = positionals;
  if (first === undefined || second === undefined || extra !== undefined) {
    throw new WrongArgument('layercost compare takes one or two model files: layercost compare A B');
  }
  const reference = textOf(base);
  if (reference?.startsWith('-')) throw new WrongArgument(`--base ${reference} is not a revision`);
  if (reference !== undefined && positionals.length > 1) {
    throw new WrongArgument('--base compares one file with itself in a revision; remove the second file');
  }
  if (positionals.length === 1 && left === undefined && right === undefined && reference === undefined) {
    throw new WrongArgument(
      'layercost compare FILE needs two scenarios, such as --left "--cluster dgx-a100" --right "--cluster dgx-h100", or a git revision: --base main',
    );
  }
  const side = (file: string, own: string | undefined): ComparedFile => {
    const words = own?.split(/\s+/).filter((word) => word !== '') ?? [];
    const options = parseOptions(words, scenarioOptions);
    if (options.positionals.length > 0) {
      throw new WrongArgument(`--left and --right take scenario options; remove ${options.positionals[0]}`);
    }
    const merged = { ...shared, ...options.values };
    return { file, scenario: readScenario(merged, wholeNumber('--gpus', textOf(merged.gpus), 1)) };
  };
  return {
    command: 'compare',
    left: side(first, left),
    right: side(second, right),
    base: reference,
    format: oneOf('--format', format, ['table', 'json', 'html'], 'table'),
    output: textOf(output),
  };
}

/** `parseArgs` takes a value that begins with a dash only after `=`; these two values always do. */
function joinSides(args: readonly string[]): readonly string[] {
  return args.flatMap((word, index) => {
    if (word === '--left' || word === '--right') return `${word}=${args[index + 1] ?? ''}`;
    const before = args[index - 1];
    return before === '--left' || before === '--right' ? [] : word;
  });
}
