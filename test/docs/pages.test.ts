/** Pages that people follow: each command is one that the command line understands, each link leads somewhere. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readArguments } from '../../server/src/cli/arguments.ts';

const root = resolve(import.meta.dirname, '../..');
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  'samples/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const read = (page: string): string => readFileSync(join(root, page), 'utf8');

/** A line of a block of code, without what a shell makes of it and without its comment. */
const commandsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) =>
    block
      .split('\n')
      .filter((line) => /^(?:npx )?layercost \w/.test(line) && !/\[--|\$\(/.test(line))
      .map((line) => line.replace(/ +(?:#|>|\| ).*$/, '')),
  );

const commands = pages.flatMap((page) => commandsOf(read(page)).map((line) => [page, line] as const));

describe('commands', () => {
  it.each(commands)('%s: %s', (_, line) => {
    const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
      ([, double, single, word]) => double ?? single ?? word ?? '',
    );
    const result = readArguments(words.slice(words.indexOf('layercost') + 1));
    expect(result.kind === 'wrong' ? result.message : '').toBe('');
    const files = words.filter((word) => /^samples\//.test(word));
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
});

/** `[text](target)` outside of code; an address on the web is left alone. */
const linksOf = (text: string): readonly string[] =>
  [...text.replace(/```[\s\S]*?```/g, '').matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** As GitHub makes anchors of headings. */
const anchorsOf = (text: string): ReadonlySet<string> =>
  new Set([
    ...[...text.matchAll(/^#+ +(.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/\s/g, '-'),
    ),
    ...[...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id),
  ]);

it.each(pages)('the links of %s lead somewhere', (page) => {
  const dead = linksOf(read(page)).filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(read(target)).has(anchor);
  });
  expect(dead).toEqual([]);
});
