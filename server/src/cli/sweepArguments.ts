/** `layercost sweep FILE --batch 1,2,4,8 --checkpoint none,block`: every combination of the listed values. */

import { findFramework } from '../frameworks/registry.ts';
import { isFrameworkPath } from '../model/scenario.ts';
import { chosen, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from './scenarioArguments.ts';

const formats = ['table', 'json', 'csv'] as const;

export interface SweepArguments {
  readonly command: 'sweep';
  readonly file: string;
  /** Options with several values, in the order of the table's columns; a dimension as `dim-NAME`. */
  readonly swept: readonly string[];
  readonly cases: readonly SweepCase[];
  readonly format: (typeof formats)[number];
  readonly output: string | undefined;
}

export interface SweepCase {
  /** By name of the option, as in `swept`. */
  readonly values: Readonly<Record<string, string>>;
  readonly scenario: ScenarioArguments;
}

/** Options whose values are single words; frameworks and dimensions are split by their own rules. */
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
  'past',
  'checkpoint',
] as const;

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

export function readSweep(
  rest: readonly string[],
  onlyFile: (words: readonly string[]) => string,
): SweepArguments {
  const { values, positionals } = parseOptions(rest, {
    ...scenarioOptions,
    format: { type: 'string' },
    output: { type: 'string' },
  });
  const lists = [
    ...listable.map((option) => ({ option, list: wordsOf(values[option]) })),
    { option: 'framework', list: frameworksOf(values.framework) },
    ...dimensionsOf(values.dim),
  ].filter(({ list }) => list.length > 1);
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
  const combinations = lists.reduce<readonly Readonly<Record<string, string>>[]>(
    (found, { option, list }) => found.flatMap((one) => list.map((value) => ({ ...one, [option]: value }))),
    [{}],
  );
  return {
    command: 'sweep',
    file: onlyFile(positionals),
    swept: lists.map(({ option }) => option),
    cases: combinations.map((own) => {
      const given = { ...values, ...own, dim: (values.dim ?? []).map((text) => dimensionIn(own, text)) };
      return { values: own, scenario: readScenario(given, wholeNumber('--gpus', given.gpus, 1)) };
    }),
    format: chosen('--format', values.format, formats) ?? 'table',
    output: values.output,
  };
}

const wordsOf = (text: string | undefined): readonly string[] => [
  ...new Set(text?.split(',').map((each) => each.trim())),
];

/** `horovod,pytorch-ddp,bucket-mb=50`: a framework's name begins the next one, what else follows a comma is an option. */
function frameworksOf(text: string | undefined): readonly string[] {
  const found: string[] = [];
  for (const piece of text?.split(',') ?? []) {
    const word = piece.trim();
    const isName = findFramework(word) !== undefined || isFrameworkPath(word);
    const before = found.pop();
    if (before === undefined) found.push(word);
    else if (isName) found.push(before, word);
    else found.push(`${before},${word}`);
  }
  return [...new Set(found)];
}

/** `--dim seq=1024,2048`. */
function dimensionsOf(
  texts: readonly string[] | undefined,
): readonly { readonly option: string; readonly list: readonly string[] }[] {
  return (texts ?? []).map((text) => {
    const [name = '', values] = text.split('=', 2);
    return { option: `dim-${name}`, list: wordsOf(values) };
  });
}

/** The dimension with the value of one combination, or as it was given. */
function dimensionIn(own: SweepCase['values'], text: string): string {
  const [name = ''] = text.split('=', 1);
  const value = own[`dim-${name}`];
  return value === undefined ? text : `${name}=${value}`;
}
