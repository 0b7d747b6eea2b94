/** Options of `layercost results`. */

import { oneOf, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from './scenarioArguments.ts';

export interface ResultsArguments {
  readonly command: 'results';
  /** A model, whose results are listed with whether they are of it as it is now; left out: all results of the workspace. */
  readonly file: string | undefined;
  /** Two results to compare. */
  readonly compare: readonly [string, string] | undefined;
  readonly remove: readonly string[];
  readonly format: 'table' | 'json';
  readonly scenario: ScenarioArguments;
}

/** Throws `WrongArgument`. */
export function readResultsArguments(rest: readonly string[]): ResultsArguments {
  const { values, positionals } = parseOptions(rest, {
    ...scenarioOptions,
    format: { type: 'string' },
    compare: { type: 'string' },
    remove: { type: 'string', multiple: true },
  });
  const [file, ...more] = positionals;
  if (more.length > 0) throw new WrongArgument('layercost results takes at most one model file');
  const compare = values.compare?.split(',');
  const [first, second] = compare ?? [];
  if (compare !== undefined && (compare.length !== 2 || !first || !second))
    throw new WrongArgument(
      '--compare takes two results, such as --compare A,B; layercost results lists their names',
    );
  const remove = values.remove ?? [];
  if (compare !== undefined && remove.length > 0)
    throw new WrongArgument('--compare and --remove are two commands; give one of them');
  return {
    command: 'results',
    file,
    compare: first && second ? [first, second] : undefined,
    remove,
    format: oneOf('--format', values.format, ['table', 'json'], 'table'),
    scenario: readScenario(values, wholeNumber('--gpus', values.gpus, 1)),
  };
}
