/** The words of `layercost compare`: two models in one scenario, or one or two models in two. */

import { oneOf, textOf, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from './scenarioArguments.ts';

export interface ComparisonArguments {
  readonly command: 'compare';
  readonly left: ComparedFile;
  readonly right: ComparedFile;
  readonly format: 'table' | 'json';
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
    left: { type: 'string' },
    right: { type: 'string' },
  });
  const { left, right, format, ...shared } = values;
  const [first, second = first, extra] = positionals;
  if (first === undefined || second === undefined || extra !== undefined) {
    throw new WrongArgument('layercost compare takes one or two model files: layercost compare A B');
  }
  if (positionals.length === 1 && left === undefined && right === undefined) {
    throw new WrongArgument(
      'layercost compare FILE needs two scenarios, such as --left "--cluster dgx-a100" --right "--cluster dgx-h100"',
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
    format: oneOf('--format', format, ['table', 'json'], 'table'),
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
