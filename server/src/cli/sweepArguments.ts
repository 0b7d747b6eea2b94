/** `layercost sweep FILE --batch 1,2,4,8 --checkpoint none,block`: every combination of the listed values. */

import { chosen, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from './scenarioArguments.ts';

const formats = ['table', 'json', 'csv'] as const;

export interface SweepArguments {
  readonly command: 'sweep';
  readonly file: string;
  /** Options with several values, in the order of the table's columns. */
  readonly swept: readonly string[];
  readonly cases: readonly SweepCase[];
  readonly format: (typeof formats)[number];
  readonly output: string | undefined;
}

export interface SweepCase {
  /** By name of the option. */
  readonly values: Readonly<Record<string, string>>;
  readonly scenario: ScenarioArguments;
}

/** Options whose values are single words: those of the others contain commas. */
const listable = [
  'cluster',
  'nodes',
  'gpus',
  'batch',
  'global-batch',
  'accumulate',
  'precision',
  'optimizer',
  'mode',
  'checkpoint',
] as const;

/** More rows than a person reads. */
const mostCases = 200;

export function readSweep(
  rest: readonly string[],
  onlyFile: (words: readonly string[]) => string,
): SweepArguments {
  const { values, positionals } = parseOptions(rest, {
    ...scenarioOptions,
    format: { type: 'string' },
    output: { type: 'string' },
  });
  const lists = listable.flatMap((option) => {
    const list = values[option]?.split(',').map((each) => each.trim()) ?? [];
    return list.length > 1 ? [{ option, list: [...new Set(list)] }] : [];
  });
  const count = lists.reduce((product, { list }) => product * list.length, 1);
  if (lists.length === 0) {
    throw new WrongArgument(
      `layercost sweep needs an option with several values, such as --batch 1,2,4,8; it takes lists for ${listable.map((each) => `--${each}`).join(', ')}`,
    );
  }
  if (count > mostCases) {
    throw new WrongArgument(`the lists have ${count} combinations; at most ${mostCases} are costed at once`);
  }
  const combinations = lists.reduce<readonly Readonly<Record<string, string>>[]>(
    (found, { option, list }) => found.flatMap((one) => list.map((value) => ({ ...one, [option]: value }))),
    [{}],
  );
  return {
    command: 'sweep',
    file: onlyFile(positionals),
    swept: lists.map(({ option }) => option),
    cases: combinations.map((own) => {
      const given = { ...values, ...own };
      return { values: own, scenario: readScenario(given, wholeNumber('--gpus', given.gpus, 1)) };
    }),
    format: chosen('--format', values.format, formats) ?? 'table',
    output: values.output,
  };
}
