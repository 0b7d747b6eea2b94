/** Each command's page of help names exactly the options that the command takes. */

import { expect, it, vi } from 'vitest';
import { readArguments } from '../../server/src/cli/arguments.ts';
import { commandHelp, commandNames } from '../../server/src/cli/commandHelp.ts';
import { help, helpOfCommand } from '../../server/src/cli/help.ts';
import * as parser from '../../server/src/cli/parseOptions.ts';
import { readableWidth } from '../../server/src/cli/printsToTerminal.ts';

const optionsOf = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/--([a-z][a-z-]*)/g)].map(([, name = '']) => name));

/** What the reader of its arguments asks the parser for; an editor gives the server more than people do. */
function takenBy(command: string): ReadonlySet<string> {
  const parse = vi.spyOn(parser, 'parseOptions');
  readArguments([command]);
  const names = parse.mock.calls.flatMap(([, options]) => Object.keys(options));
  parse.mockRestore();
  const isServer = command === 'lsp' || command === 'mcp';
  return new Set(isServer ? names.filter((name) => name === 'stdio') : names);
}

it.each(commandNames)('%s', (command) => {
  const taken = takenBy(command);
  const page = helpOfCommand(command);
  const named = optionsOf(page);
  expect([...taken].filter((name) => !named.has(name))).toEqual([]);
  const known = new Set([...commandNames.flatMap((name) => [...takenBy(name)]), 'help']);
  expect([...named].filter((name) => !known.has(name))).toEqual([]);
  const own = optionsOf(commandHelp[command].options.map(([written]) => written).join(' '));
  expect([...own].filter((name) => !taken.has(name))).toEqual([]);
  expect(page.split('\n').filter((line) => line.length > 118)).toEqual([]);
});

it('lists every command in a screen', () => {
  const lines = help().split('\n');
  for (const name of commandNames) expect(lines.some((line) => line.startsWith(`  ${name} `))).toBe(true);
  expect(lines.length).toBeLessThan(40);
});

it.each([72, 80])('fits a terminal of %i columns', (columns) => {
  const pages = [help(columns), ...commandNames.map((name) => helpOfCommand(name, columns))];
  // A line of use is copied as it is, and a word is not broken.
  const long = pages
    .flatMap((page) => page.split('\n'))
    .filter((line) => [...line].length > columns && !/^(usage: | {7})?layercost |^ *\S+$/.test(line));
  expect(long).toEqual([]);
});

it('is as wide as it likes where a terminal does not know its size', () => {
  expect([undefined, 0, 39].map(readableWidth)).toEqual([undefined, undefined, undefined]);
  expect([40, 200].map(readableWidth)).toEqual([40, 200]);
});
