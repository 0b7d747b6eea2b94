/** Options of frameworks: read from text, checked, with the values they take. */

import type { Issue } from '../model/issue.ts';
import { didYouMeanOneOf } from '../model/likelyNames.ts';

export interface FrameworkOption {
  readonly name: string;
  readonly default: string;
  /** One line for completions and `--help`. */
  readonly documentation: string;
  /** `undefined` where the text is a value it takes, else what it takes. */
  readonly expects: Expectation;
  /** Other options whose default a value of it changes, from `now` to `was`. */
  readonly sets?: (text: string) => ReadonlyMap<string, { readonly now: string; readonly was: string }>;
  /** Why a value of it leaves another option nothing but its default; `undefined` where it does not. */
  readonly refuses?: (text: string, option: string) => string | undefined;
}

export interface Expectation {
  (text: string): string | undefined;
  /** All values there are, where they can be listed. */
  readonly choices?: readonly string[];
}

export const positiveNumber = (text: string): string | undefined =>
  text.trim() !== '' && Number.isFinite(Number(text)) && Number(text) > 0 ? undefined : 'a positive number';

export const oneOf = (...values: readonly string[]): Expectation =>
  Object.assign((text: string) => (values.includes(text) ? undefined : values.join(' or ')), {
    choices: values,
  });

/** The given options over what others of them set, over the defaults; what is wrong is reported and the default kept. */
export function readOptions(
  framework: string,
  known: readonly FrameworkOption[],
  given: Readonly<Record<string, string>>,
): { readonly values: ReadonlyMap<string, string>; readonly issues: readonly Issue[] } {
  const issues: Issue[] = [];
  const values = new Map(known.map((option) => [option.name, option.default]));
  const setting = known.flatMap((option) => {
    const text = given[option.name];
    return text === undefined || option.expects(text) !== undefined ? [] : [{ option, text }];
  });
  for (const { option, text } of setting)
    for (const [name, { now, was }] of option.sets?.(text) ?? [])
      if (values.get(name) === now) values.set(name, was);
  for (const [name, text] of Object.entries(given)) {
    const option = known.find((candidate) => candidate.name === name);
    const expected = option?.expects(text);
    const [refusal] = setting.flatMap((by) => {
      const reason = by.option.refuses?.(by.text, name);
      return reason === undefined ? [] : [`${reason}; leave it out, or set a later \`${by.option.name}\``];
    });
    if (option === undefined) {
      const meant = didYouMeanOneOf(
        name,
        known.map((each) => each.name),
      );
      issues.push(
        invalid(name, `\`${framework}\` has no option \`${name}\`${meant}; it has ${listOf(known)}`),
      );
    } else if (expected !== undefined) {
      issues.push(invalid(name, `Option \`${name}\` of \`${framework}\` is "${text}"; it takes ${expected}`));
    } else if (refusal !== undefined && text !== option.default) {
      issues.push(invalid(name, `\`${name}=${text}\` of \`${framework}\` does nothing: ${refusal}`));
    } else {
      values.set(name, text);
    }
  }
  return { values, issues };
}

const invalid = (option: string, message: string): Issue => ({
  code: 'scenario/invalid',
  severity: 'error',
  message,
  scenarioKey: 'framework',
  scenarioPart: option,
});

const listOf = (known: readonly FrameworkOption[]): string =>
  known.length === 0 ? 'none' : known.map((option) => `\`${option.name}\``).join(', ');

export const fromZero = (text: string): string | undefined =>
  text.trim() !== '' && Number.isFinite(Number(text)) && Number(text) >= 0
    ? undefined
    : '0 or a positive number';

/** "fitted", or a number in its place. */
export const fittedOrNumber = (text: string): string | undefined =>
  text === 'fitted' || fromZero(text) === undefined ? undefined : 'fitted, 0 or a positive number';

export const wholeNumber = (text: string): string | undefined =>
  Number.isInteger(Number(text)) && Number(text) > 0 ? undefined : 'a whole number from 1';

/** A number that gradients are cut by: pieces of less would be millions. */
export const numberFrom =
  (least: number): Expectation =>
  (text) =>
    text.trim() !== '' && Number.isFinite(Number(text)) && Number(text) >= least
      ? undefined
      : `a number from ${least}`;

/** More servers than the largest clusters have nodes would take longer to choose from than to wait for. */
const mostServers = 10_000;

/** "nodes", or so many. */
export const nodesOrNumber = (text: string): string | undefined =>
  text === 'nodes' || (wholeNumber(text) === undefined && Number(text) <= mostServers)
    ? undefined
    : `nodes, or a whole number from 1 to ${mostServers}`;

/** The value of an option that `nodesOrNumber` accepts. */
export const countOf = (text: string | undefined, nodes: number): number =>
  text === undefined || text === 'nodes' ? nodes : Number(text);
