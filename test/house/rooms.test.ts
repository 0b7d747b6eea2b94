/**
 * The walls of the house (ARCHITECTURE.md): imports go upward in the table of rooms only, the rooms above
 * `benchmark` use no platform, and the client imports one file of the server.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folders as rooms } from './folders.ts';

const root = resolve(import.meta.dirname, '../..');
const source = join(root, 'server/src');

const pureRooms = rooms.slice(0, rooms.indexOf('benchmark'));
/** What the pure rooms may import from packages: none of these performs input or output. */
const purePackages = ['yaml', 'zod'];

const files = typescriptFiles(source);

describe('rooms', () => {
  it('sees the source tree', () => {
    expect(files.length).toBeGreaterThan(50);
  });

  it.each(files.map((file) => relative(source, file)))('%s imports only upward', (file) => {
    const room = file.split(sep)[0] ?? '';
    const wrong = importsOf(join(source, file)).filter((target) => {
      if (!target.startsWith('.'))
        return pureRooms.includes(room) && !purePackages.includes(packageOf(target));
      const reached = relative(source, resolve(dirname(join(source, file)), target)).split(sep)[0] ?? '';
      if (reached === 'protocol.ts') return rooms.indexOf(room) < rooms.indexOf('lsp');
      return rooms.indexOf(reached) > rooms.indexOf(room) && room !== 'protocol.ts';
    });
    expect(wrong).toEqual([]);
  });

  it.each(
    files
      .filter((file) => pureRooms.includes(relative(source, file).split(sep)[0] ?? ''))
      .map((file) => relative(source, file)),
  )('%s is deterministic and free of input and output', (file) => {
    const text = readFileSync(join(source, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect(text).not.toMatch(
      /\b(process\.|Date\.now|new Date|Math\.random|fetch\(|setTimeout|console\.|async |await )/,
    );
  });
});

it('charts know plain numbers only: they import their own folder and the model', () => {
  const charts = files.filter((file) => relative(source, file).startsWith(`charts${sep}`));
  expect(charts.length).toBeGreaterThan(5);
  const reached = charts
    .flatMap(localImportsOf)
    .map((target) => relative(source, target).split(sep)[0] ?? '')
    .filter((room) => room !== 'charts' && room !== 'model');
  expect(reached).toEqual([]);
});

it('no two files of the server need each other, for types alone either', () => {
  const finished = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file))
      circles.push(
        [...path.slice(path.indexOf(file)), file].map((each) => relative(source, each)).join(' → '),
      );
    if (finished.has(file) || path.includes(file)) return;
    for (const target of localImportsOf(file)) if (target.endsWith('.ts')) visit(target, [...path, file]);
    finished.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

/** Files that the build or a test starts from. */
const entries = ['browser/serverMain.ts', 'cli/launch.ts', 'cli/launchServer.ts', 'cli/main.ts'];

it('every file of the server is imported: a profile, framework, finding, layer or operator table is listed', () => {
  const users = [...files, ...typescriptFiles(join(root, 'scripts'))];
  const imported = new Set(users.flatMap(localImportsOf));
  const orphans = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|json)$/.test(name))
    .filter((name) => !entries.includes(name.split(sep).join('/')) && !imported.has(join(source, name)));
  expect(orphans).toEqual([]);
});

describe('client', () => {
  const clientFiles = typescriptFiles(join(root, 'client/src'));

  it.each(clientFiles.map((file) => relative(root, file)))(
    '%s imports only the protocol of the server',
    (file) => {
      const reached = importsOf(join(root, file))
        .filter((target) => target.startsWith('.'))
        .map((target) => relative(root, resolve(dirname(join(root, file)), target)))
        .filter((target) => target.startsWith('server'));
      expect(reached.filter((target) => target !== join('server', 'src', 'protocol.ts'))).toEqual([]);
    },
  );
});

function typescriptFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .sort();
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [
    ...text.matchAll(
      /^(?:import|export)\b[^'";]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
    ),
  ].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

const localImportsOf = (file: string): string[] =>
  importsOf(file)
    .filter((target) => target.startsWith('.'))
    .map((target) => resolve(dirname(file), target));

const packageOf = (specifier: string): string =>
  specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : (specifier.split('/')[0] ?? '');
