/** Splits the words of a command into its options and the rest, as `node:util` does, with our own messages. */

import { parseArgs } from 'node:util';
import { didYouMean } from '../model/nearestName.ts';
import { WrongArgument } from './optionValues.ts';

type KnownOptions = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

/** Options and other words of a command; throws `WrongArgument` for what it does not take. */
export function parseOptions<Options extends KnownOptions>(given: readonly string[], options: Options) {
  const args = withQuotedFlags(given);
  checkOptions(args, options);
  return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
}

/** `--parallel "--tensor-model-parallel-size 8 …"`: what has spaces was quoted, and is a value, whatever it starts with. */
function withQuotedFlags(args: readonly string[]): readonly string[] {
  const isOption = (text: string | undefined): boolean => text !== undefined && /^--[\w-]+$/.test(text);
  const isQuoted = (text: string | undefined): boolean =>
    text !== undefined && /^--[\w.-]+(?:\s|=\S*\s+--)/.test(text);
  return args.flatMap((arg, index) => {
    if (isQuoted(arg) && isOption(args[index - 1])) return [];
    return isOption(arg) && isQuoted(args[index + 1]) ? [`${arg}=${args[index + 1]}`] : [arg];
  });
}

/** What other tools have as an option of its own. */
const formatInstead = (name: string, options: KnownOptions): string =>
  Object.hasOwn(options, 'format') && formatNames.has(name) ? `; write \`--format ${name}\`` : '';

const formatNames: ReadonlySet<string> = new Set([
  'json',
  'markdown',
  'csv',
  'html',
  'svg',
  'sarif',
  'junit',
]);

/** Says in our words what `parseArgs` would refuse by throwing: an unknown option, a value that is missing or too many. */
function checkOptions(args: readonly string[], options: KnownOptions): void {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const known = Object.hasOwn(options, name) ? options[name] : undefined;
    if (known === undefined) {
      const names = Object.keys(options).map((option) => `--${option}`);
      throw new WrongArgument(
        `there is no option ${rawName} here${formatInstead(name, options) || didYouMean(rawName, names) || '; --help lists the options of a command'}`,
      );
    }
    if (known.type === 'string' && (value === undefined || (!inlineValue && value.startsWith('-')))) {
      if (value !== undefined && /^-[\d.]/.test(value)) {
        throw new WrongArgument(`${rawName} ${value}: no option takes a negative number`);
      }
      const instead = value === undefined ? '' : `, and ${value} is an option`;
      throw new WrongArgument(`${rawName} needs a value${instead}; --help lists the options of a command`);
    }
    if (known.type === 'boolean' && value !== undefined) {
      throw new WrongArgument(`${rawName} takes no value; remove ${value}`);
    }
  }
}
