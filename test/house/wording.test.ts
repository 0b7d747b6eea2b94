/**
 * Words that people read: the field's terms, one fact a sentence. A phrase of the list has a plainer one; a long sentence
 * says more than one fact.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandNames } from '../../server/src/cli/commandHelp.ts';
import { help, helpOfCommand } from '../../server/src/cli/help.ts';
import { frameworks } from '../../server/src/frameworks/registry.ts';
import { findingThresholds } from '../../server/src/model/findingThresholds.ts';
import { issueCodes } from '../../server/src/model/issueCodes.ts';

/** Each with what to write instead. */
const banned: readonly (readonly [RegExp, string])[] = [
  [/\bwhat (?:is|was) asked for\b/i, 'name the option'],
  [/\bto be had\b/i, 'available'],
  [/\bby which\b/i, 'two sentences'],
  [/\bfrom where on\b/i, 'threshold'],
  [/\bone['’]s own\b/i, 'your own, user-defined'],
  [/\bmade to harm\b/i, 'malicious'],
  [/\bheld against\b/i, 'compared with'],
  [/\bholds? (?:it|them) to\b/i, 'checks'],
  [/\b(?:is|are) laid\b/i, 'simulated'],
  [/\b(?:is|are|was|were) (?:not )?told\b/i, 'reported, unknown'],
  [/\bgoes no way\b/i, 'without a route'],
  [/\bin the place of\b/i, 'instead of'],
  [/\bhow (?:un)?alike\b/i, 'variation'],
  [/\bis no (?:multiple|name|document|tensor|list|call|path|type)\b/i, 'is not a'],
  [/\bhardly\b/i, 'a number'],
  [/\bcomputed again\b/i, 'recomputed'],
];

const root = resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const pagesIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name))
    .sort();

const texts: ReadonlyMap<string, string> = new Map([
  ...[
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'samples/README.md',
    'measured/README.md',
  ]
    .concat(pagesIn('docs'))
    .map((file): [string, string] => [file, read(file)]),
  ['package.nls.json', manifestTexts().join('\n')],
  ['layercost --help', [help(), ...commandNames.map((name) => helpOfCommand(name))].join('\n')],
  [
    'issueCodes',
    Object.values(issueCodes)
      .flatMap(({ title, explanation }) => [title, explanation])
      .join('\n'),
  ],
  [
    'findingThresholds',
    Object.values(findingThresholds)
      .map(({ documentation }) => documentation)
      .join('\n'),
  ],
  [
    'options of frameworks',
    frameworks
      .flatMap(({ documentation, options }) => [documentation, ...options.map((o) => o.documentation)])
      .join('\n'),
  ],
]);

describe('words', () => {
  it.each([...texts.keys()])('%s has no phrase of the private dialect', (name) => {
    const lines = (texts.get(name) ?? '').replace(/\s*\n\s*/g, ' ');
    const found = banned.flatMap(([phrase, instead]) => {
      const match = phrase.exec(lines);
      return match === null
        ? []
        : [`${lines.slice(Math.max(0, match.index - 40), match.index + 40)} → ${instead}`];
    });
    expect(found).toEqual([]);
  });
});

describe('sentences', () => {
  const pages = [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'docs/where.md',
    'docs/clusters.md',
    'docs/steps.md',
    'docs/caffe.md',
    'docs/editors.md',
    'docs/settings.md',
    'docs/layer-spec.md',
    'docs/onnx-text.md',
    'docs/pt2.md',
    ...pagesIn('docs/spec'),
    'samples/README.md',
    'measured/README.md',
    ...pagesIn('docs/findings'),
  ];
  it.each([
    ...pages.map((file) => [file, paragraphsOf(read(file))] as const),
    ['package.nls.json', manifestTexts()] as const,
    ['issueCodes', Object.values(issueCodes).map(({ explanation }) => explanation)] as const,
  ])('%s has at most 25 words in a sentence', (_, paragraphs) => {
    expect(paragraphs.flatMap(sentencesOf).filter((sentence) => wordsOf(sentence) > 25)).toEqual([]);
  });

  it('counts words of prose only', () => {
    const page =
      '# A title\n\nOne two `a b c` three. Four (e.g. five), six:\n\n- seven\n- eight\n\n| a | b |\n\n```\nx\n```\n';
    expect(paragraphsOf(page).flatMap(sentencesOf).map(wordsOf)).toEqual([4, 4, 1, 1]);
  });
});

function manifestTexts(): readonly string[] {
  const texts: unknown = JSON.parse(read('package.nls.json'));
  return Object.values(texts ?? {}).map(String);
}

/** Paragraphs and items of lists; headings, tables, fences and indented code are none. */
function paragraphsOf(page: string): readonly string[] {
  return page
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .filter((part) => !/^\s*(?:#|\||!\[| {4})/.test(part))
    .map((part) => part.replace(/^\s*(?:[-*]|\d+\.) /, ''));
}

/** A colon, a semicolon or a line that ends in a colon does not begin a sentence. Code and addresses count as a word. */
const sentencesOf = (paragraph: string): readonly string[] =>
  paragraph
    .replace(/`[^`]*`/g, 'Code')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/\b(?:e\.g|i\.e|et al|vs)\./g, (text) => text.replaceAll('.', ''))
    .split(/(?<=[.!?])['"”*_)]*\s+(?=["“*_([]*[\p{Lu}\d`])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');

const wordsOf = (sentence: string): number =>
  sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
