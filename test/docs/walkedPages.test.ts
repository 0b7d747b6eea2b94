/**
 * Pages that are walked as they are written: each file is saved, each command run, and what a page shows is what it prints.
 * `npx vitest run test/docs -u` writes what is printed now into the pages.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const command = join(root, 'dist/cli.js');
const folder = mkdtempSync(join(tmpdir(), 'layercost-tutorial-'));

beforeAll(() => {
  if (!existsSync(command)) spawnSync(process.execPath, ['esbuild.mjs'], { cwd: root });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each(['docs/tutorial.md', 'docs/how-to/lora.md'])(
  '%s says what its commands print',
  {
    timeout: 120_000,
  },
  async (name) => {
    const page = join(root, name);
    const text = readFileSync(page, 'utf8');
    await expect(walk(text)).toMatchFileSnapshot(page);
  },
);

/** The page with what its commands print in the place of what it shows. */
function walk(text: string): string {
  let printed = '';
  return text.replace(
    /^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm,
    (fence, language: string, name: string, body: string) => {
      if (language === 'json') writeFileSync(join(folder, name.trim()), body);
      if (language === 'sh') printed = body.split('\n').filter(Boolean).map(run).join('');
      return language === 'text' ? `\`\`\`text\n${printed.trimEnd()}\n\`\`\`` : fence;
    },
  );
}

/** No shell: words, and texts in quotes. */
function run(line: string): string {
  const [program, ...words] = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, word]) => quoted ?? word ?? '',
  );
  expect(program, 'a page runs the command line alone').toBe('layercost');
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...words], {
    cwd: folder,
    encoding: 'utf8',
    // Neither a person's prices nor a terminal's width change what the page shows.
    env: { ...process.env, XDG_CONFIG_HOME: folder },
  });
  expect(status, `${line}\n${stderr}`).toBe(0);
  return stdout;
}
