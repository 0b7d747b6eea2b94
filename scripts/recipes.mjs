/**
 * `npm run recipes [-- NAME…]`: follows the recipes of CONTRIBUTING.md on a scratch copy of the repository. After each step it
 * runs the check that a contributor would: where the step leaves something out, the check must fail and say what.
 */

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { recipesOf } from './recipes/recipes.mjs';
import { root } from './setup/project.mjs';

const recipes = recipesOf((path) => readFileSync(join(root, path), 'utf8'));
const names = process.argv.slice(2);
const unknown = names.filter((name) => recipes.every((recipe) => recipe.name !== name));
if (unknown.length > 0) {
  console.error(
    `no recipe is called ${unknown.join(', ')}; there are ${recipes.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}

const copy = mkdtempSync(join(tmpdir(), 'layercost-recipes-'));
process.on('exit', () => rmSync(copy, { recursive: true }));
const git = (folder, ...words) => spawnSync('git', words, { cwd: folder, encoding: 'utf8' }).stdout;
for (const file of git(root, 'ls-files', '--cached', '--others', '--exclude-standard').split('\n')) {
  if (file === '' || !existsSync(join(root, file))) continue;
  mkdirSync(dirname(join(copy, file)), { recursive: true });
  cpSync(join(root, file), join(copy, file));
}
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
git(copy, 'init', '--quiet');
git(copy, 'add', '--all');
git(
  copy,
  '-c',
  'user.name=recipes',
  '-c',
  'user.email=recipes@localhost',
  'commit',
  '--quiet',
  '-m',
  'before',
);

let wrong = 0;
for (const { name, steps } of recipes) {
  if (names.length > 0 && !names.includes(name)) continue;
  for (const { does, edits = {}, check, says } of steps) {
    for (const [path, edit] of Object.entries(edits)) write(path, edit);
    const { status, stdout, stderr } = spawnSync(process.execPath, check, { cwd: copy, encoding: 'utf8' });
    const output = `${stdout}${stderr}`;
    const isRight = says === undefined ? status === 0 : status !== 0 && says.test(output);
    console.log(
      `${isRight ? 'ok  ' : 'WRONG'} ${name}: ${does}${says === undefined ? '' : `, which fails by ${says}`}`,
    );
    if (!isRight) {
      wrong += 1;
      console.log(output.slice(-3000));
    }
  }
  git(copy, 'checkout', '--quiet', '.');
  git(copy, 'clean', '-fdq');
}
process.exitCode = wrong > 0 ? 1 : 0;

/** The text of a new file, or what becomes of the text of one that is there. */
function write(path, edit) {
  const file = join(copy, path);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  const after = typeof edit === 'string' ? edit : edit(before);
  if (after === before) throw new Error(`nothing of ${path} was changed`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, after);
}
