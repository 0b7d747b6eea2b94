/** `layercost sweep FILE --batch 1,2,4,8 --checkpoint none,block`: every combination of the listed values. */

import { casesOf, type ListedCase, listable, listsOf } from './listedOptions.ts';
import { onlyFile } from './onlyFile.ts';
import { chosen, WrongArgument } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { scenarioOptions } from './scenarioArguments.ts';

const formats = ['table', 'json', 'csv'] as const;

export interface SweepArguments {
  readonly command: 'sweep';
  readonly file: string;
  /** Options with several values, in the order of the table's columns; a dimension as `dim-NAME`. */
  readonly swept: readonly string[];
  readonly cases: readonly ListedCase[];
  readonly format: (typeof formats)[number];
  readonly output: string | undefined;
}

/** What a GPU computes changes with them, and so would a time that was measured. */
const ofOneMeasurement = new Set([
  'cluster',
  'batch',
  'global-batch',
  'precision',
  'optimizer',
  'mode',
  'past',
  'checkpoint',
]);

/** More rows than a person reads. */
const mostCases = 200;

export function readSweep(rest: readonly string[]): SweepArguments {
  const { values, positionals } = parseOptions(rest, {
    ...scenarioOptions,
    format: { type: 'string' },
    output: { type: 'string' },
  });
  const lists = listsOf(values);
  const count = lists.reduce((product, { list }) => product * list.length, 1);
  if (lists.length === 0) {
    throw new WrongArgument(
      `layercost sweep needs an option with several values, such as --batch 1,2,4,8; it takes lists for ${[...listable, 'framework'].map((each) => `--${each}`).join(', ')} and --dim NAME`,
    );
  }
  const measured = values['measured-step'] !== undefined || values['layer-trace'] !== undefined;
  const isShared = values['global-batch'] !== undefined;
  const unlike = lists.find(
    ({ option }) =>
      ofOneMeasurement.has(option) ||
      option.startsWith('dim-') ||
      (isShared && ['gpus', 'nodes', 'accumulate'].includes(option)),
  );
  if (measured && unlike !== undefined) {
    throw new WrongArgument(
      `a measured time is of one model, batch and precision, so that a list of --${unlike.option.replace(/^dim-/, 'dim ')} cannot be costed with it; leave out --measured-step and --layer-trace`,
    );
  }
  if (count > mostCases) {
    throw new WrongArgument(`the lists have ${count} combinations; at most ${mostCases} are costed at once`);
  }
  return {
    command: 'sweep',
    file: onlyFile('sweep', positionals),
    swept: lists.map(({ option }) => option),
    cases: casesOf(values, lists),
    format: chosen('--format', values.format, formats) ?? 'table',
    output: values.output,
  };
}
