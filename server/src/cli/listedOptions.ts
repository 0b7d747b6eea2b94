/** Options with several values, such as `--cluster a,b`: every combination is a scenario. */

import { findFramework } from '../frameworks/registry.ts';
import { isFrameworkPath } from '../model/scenario.ts';
import { wholeNumber } from './optionValues.ts';
import type { parseOptions } from './parseOptions.ts';
import { readScenario, type ScenarioArguments, type scenarioOptions } from './scenarioArguments.ts';

export interface ListedCase {
  /** By name of the option; a dimension as `dim-NAME`. */
  readonly values: Readonly<Record<string, string>>;
  readonly scenario: ScenarioArguments;
}

export interface OptionList {
  readonly option: string;
  readonly list: readonly string[];
}

type Given = ReturnType<typeof parseOptions<typeof scenarioOptions>>['values'];

/** Options whose values are single words; frameworks and dimensions are split by their own rules. */
export const listable = [
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

/** Options that were given more than one value. */
export const listsOf = (values: Given): readonly OptionList[] =>
  [
    ...listable.map((option) => ({ option, list: wordsOf(values[option]) })),
    { option: 'framework', list: frameworksOf(values.framework) },
    ...dimensionsOf(values.dim),
  ].filter(({ list }) => list.length > 1);

/** Without a list, the one scenario that the options are of. */
export function casesOf(values: Given, lists: readonly OptionList[]): readonly ListedCase[] {
  const combinations = lists.reduce<readonly Readonly<Record<string, string>>[]>(
    (found, { option, list }) => found.flatMap((one) => list.map((value) => ({ ...one, [option]: value }))),
    [{}],
  );
  return combinations.map((own) => {
    const given = { ...values, ...own, dim: (values.dim ?? []).map((text) => dimensionIn(own, text)) };
    return { values: own, scenario: readScenario(given, wholeNumber('--gpus', given.gpus, 1)) };
  });
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
function dimensionIn(own: ListedCase['values'], text: string): string {
  const [name = ''] = text.split('=', 1);
  const value = own[`dim-${name}`];
  return value === undefined ? text : `${name}=${value}`;
}
