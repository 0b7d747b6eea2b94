/** What the editor says names nothing that an editor does not have: an option of the command line. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { issueCodes } from '../../server/src/model/issueCodes.ts';

const root = resolve(import.meta.dirname, '../..');

/** Files whose texts no editor shows: the command line, conversion, and what starts programs. */
const elsewhere = [
  /^server\/src\/cli\//,
  /^server\/src\/node\/serverMain\.ts$/,
  /^server\/src\/analysis\/convertModel\.ts$/,
  /^server\/src\/formats\/onnx\/writeOnnx\.ts$/,
  /^server\/src\/benchmark\/runnerCommand\.ts$/,
  // Options of other programs, to paste into a terminal.
  /^server\/src\/estimate\/planner\/launcherOptions\.ts$/,
  // Custom properties of style sheets are written like options.
  /^server\/src\/(?:charts|estimate\/report)\/\w+(?:Style|Script)\.ts$/,
];
/** An option of a text that only a terminal has a width for. */
const ofTerminal = /hidden; use --width \$\{whole\}/;

const option = /(?:^|[\s`'"(])--[a-z][a-z-]*/;

const sources = ['server/src', 'client/src'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
);

/** Lines that are no comment. */
const linesOf = (file: string): readonly string[] =>
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(?:\/?\*|\/\/)/.test(line))
    .map((line) => line.replace(/ \/\/ .*$/, ''));

it('no text of the source that an editor can show names an option', () => {
  const wrong = sources
    .filter((file) => !elsewhere.some((pattern) => pattern.test(file)))
    .flatMap((file) => linesOf(file).map((text) => ({ file, text })))
    .filter(({ text }) => option.test(text) && !ofTerminal.test(text));
  expect(wrong).toEqual([]);
});

it('no issue code does', () => {
  const wrong = Object.entries(issueCodes).filter(([, { title, explanation }]) =>
    option.test(`${title} ${explanation}`),
  );
  expect(wrong).toEqual([]);
});

it('no setting and no command does', () => {
  const strings: unknown = JSON.parse(readFileSync(join(root, 'package.nls.json'), 'utf8'));
  expect(Object.entries(strings as Record<string, string>).filter(([, text]) => option.test(text))).toEqual(
    [],
  );
});
