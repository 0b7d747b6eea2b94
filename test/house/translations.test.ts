/** Translations say what the English says: every text, with its placeholders, links, commands and settings. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const readTexts = (path: string): Readonly<Record<string, string>> =>
  JSON.parse(readFileSync(join(root, path), 'utf8'));

/** Texts of the client's code, which `vscode.l10n.t` looks up. */
const textsOfClient = readdirSync(join(root, 'client/src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .flatMap((name) => {
    const source = readFileSync(join(root, 'client/src', name), 'utf8');
    const calls = [...source.matchAll(/\bl10n\.t\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")?/g)];
    return calls.map(([, single, double]) => ({ name, text: single ?? double }));
  });

const languages = readdirSync(root)
  .map((name) => /^package\.nls\.(.+)\.json$/.exec(name)?.[1])
  .filter((language) => language !== undefined);

it('there is a translation to check', () => {
  expect(languages).toEqual(['de']);
  expect(readdirSync(join(root, 'l10n'))).toEqual(
    languages.map((language) => `bundle.l10n.${language}.json`),
  );
});

it('texts of the client are literal, so that they can be translated', () => {
  expect(textsOfClient.filter(({ text }) => text === undefined)).toEqual([]);
});

describe.each(languages)('%s', (language) => {
  it('has every text of the manifest and no other', () => {
    const [english, translated] = [readTexts('package.nls.json'), readTexts(`package.nls.${language}.json`)];
    expect(Object.keys(translated)).toEqual(Object.keys(english));
    for (const [key, text] of Object.entries(english))
      expect(fixedParts(translated[key] ?? ''), key).toEqual(fixedParts(text));
  });

  it("has every text of the client's code and no other", () => {
    const translated = readTexts(`l10n/bundle.l10n.${language}.json`);
    const english = new Set(textsOfClient.map(({ text = '' }) => text));
    expect(Object.keys(translated).sort()).toEqual([...english].sort());
    for (const text of english) expect(fixedParts(translated[text] ?? ''), text).toEqual(fixedParts(text));
  });

  it('names commands as its own palette does', () => {
    const english = readTexts('package.nls.json');
    const translated = readTexts(`package.nls.${language}.json`);
    const commands = Object.keys(english).filter((key) => key.startsWith('command.'));
    const texts = [
      ...Object.entries(english).map(([key, text]) => [text, translated[key] ?? ''] as const),
      ...Object.entries(readTexts(`l10n/bundle.l10n.${language}.json`)),
    ];
    for (const key of commands) {
      const [name, own] = [title(english[key]), title(translated[key])];
      for (const [text, itsTranslation] of texts)
        if (text.includes(`\`Layercost: ${name}\``))
          expect(itsTranslation).toContain(`\`Layercost: ${own}\``);
    }
  });
});

const title = (text = ''): string => text.replace(/…$/, '');

/** What no language changes: placeholders, addresses of links, settings, code; names of commands have their own test. */
function fixedParts(text: string): readonly string[] {
  const parts = text.match(/\{\d+\}|\(command:[^)]+\)|`[^`]+`|\*Layercost Trace\*/g) ?? [];
  return [...new Set(parts)].filter((part) => !part.startsWith('`Layercost: ')).sort();
}
