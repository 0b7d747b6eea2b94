/** Texts that models include: what is read, how often, who is told of changes, and what an open document has in place of its file. */

import { expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { type IncludedFiles, includedFiles, openWithIncludes } from '../../server/src/lsp/includedFiles.ts';
import type { FileBounds } from '../../server/src/lsp/platform.ts';

const model = 'file:///m/nets/net.layers.yaml';
const other = 'file:///m/nets/other.layers.yaml';
const mlp = 'file:///m/nets/mlp.layers.yaml';
const shared = 'file:///m/nets/blocks/shared.layers.yaml';

interface Folder {
  readonly includes: IncludedFiles;
  readonly files: Map<string, string>;
  readonly open: Map<string, string>;
  readonly reads: (readonly [string, FileBounds | undefined])[];
  readonly watched: string[];
  closed: number;
}

function folder(): Folder {
  const made: Folder = {
    files: new Map([
      [mlp, 'mlp'],
      [shared, 'shared'],
    ]),
    open: new Map(),
    reads: [],
    watched: [],
    closed: 0,
    includes: includedFiles({
      read: async (uri, bounds) => {
        made.reads.push([uri, bounds]);
        const text = made.files.get(uri);
        if (text === undefined)
          return { kind: 'failed', issue: { code: 'file/unreadable', severity: 'error', message: 'none' } };
        const close = (): void => {
          made.closed += 1;
        };
        return { kind: 'open', source: byteSourceOfBuffer(new TextEncoder().encode(text)), close };
      },
      openText: (uri) => made.open.get(uri),
      watch: (uri) => void made.watched.push(uri),
    }),
  };
  return made;
}

const paths = ['mlp.layers.yaml', 'blocks/shared.layers.yaml'];

test('each file is read and watched once, whoever includes it, and only within the folder of its model', async () => {
  const made = folder();
  const { includes, reads, watched } = made;
  expect(includes.reader(model)('mlp.layers.yaml')).toBeUndefined();
  expect(await includes.load(model, paths)).toBe(true);
  expect(await includes.load(model, paths)).toBe(false);
  expect(await includes.load(other, paths)).toBe(false);
  expect(reads).toEqual([
    [mlp, { longest: expect.any(Number), inside: 'file:///m/nets' }],
    [shared, { longest: expect.any(Number), inside: 'file:///m/nets' }],
  ]);
  expect(watched).toEqual([mlp, shared]);
  expect(made.closed).toBe(2);
  expect(includes.reader(model)('mlp.layers.yaml')).toBe('mlp');
  expect(includes.texts(model)).toEqual([
    { path: paths[0], text: 'mlp' },
    { path: paths[1], text: 'shared' },
  ]);
});

test('a file that is open is not read: its text is that of the editor', async () => {
  const { includes, reads, watched, open } = folder();
  open.set(mlp, 'typed');
  expect(await includes.load(model, paths)).toBe(true);
  expect(reads.map(([uri]) => uri)).toEqual([shared]);
  expect(watched).toEqual([mlp, shared]);
  expect(includes.reader(model)('mlp.layers.yaml')).toBe('typed');
  expect(includes.texts(model)[0]).toEqual({ path: paths[0], text: 'typed' });
  // Closed without a change: the file counts, and nobody has read it yet.
  open.clear();
  expect(includes.reader(model)('mlp.layers.yaml')).toBeUndefined();
  expect(await includes.load(model, paths)).toBe(true);
  expect(includes.reader(model)('mlp.layers.yaml')).toBe('mlp');
});

test('a file that changes is read again when it is asked for, and is watched already', async () => {
  const { includes, reads, watched, files } = folder();
  await includes.load(model, paths);
  files.set(mlp, 'new');
  expect(includes.reader(model)('mlp.layers.yaml')).toBe('mlp');
  includes.forget(mlp);
  expect(includes.reader(model)('mlp.layers.yaml')).toBeUndefined();
  expect(await includes.load(model, paths)).toBe(true);
  expect(includes.reader(model)('mlp.layers.yaml')).toBe('new');
  expect([reads.length, watched]).toEqual([3, [mlp, shared]]);
});

test('a file that is not there is asked for once, and has no text', async () => {
  const { includes, reads, watched } = folder();
  expect(await includes.load(model, ['none.layers.yaml'])).toBe(true);
  expect(await includes.load(model, ['none.layers.yaml'])).toBe(false);
  expect([reads.length, watched]).toEqual([1, ['file:///m/nets/none.layers.yaml']]);
  expect(includes.texts(model)).toEqual([]);
});

test.each(['/etc/passwd', 'https://host/a.layers.yaml', '', '\\\\server\\share'])(
  '%j is no path beside a model: nothing is read',
  async (path) => {
    const { includes, reads, watched } = folder();
    expect(await includes.load(model, [path])).toBe(false);
    expect([reads, watched, includes.reader(model)(path), includes.texts(model)]).toEqual([
      [],
      [],
      undefined,
      [],
    ]);
  },
);

test('who includes a file is as it was read last', async () => {
  const { includes } = folder();
  expect(includes.includers(mlp)).toEqual([]);
  await includes.load(model, paths);
  await includes.load(other, paths.slice(1));
  expect([mlp, shared].map((uri) => includes.includers(uri))).toEqual([[model], [model, other]]);
  await includes.load(model, []);
  expect([mlp, shared].map((uri) => includes.includers(uri))).toEqual([[], [other]]);
  includes.close(other);
  expect(includes.includers(shared)).toEqual([]);
  expect(includes.texts(other)).toEqual([]);
});

/** A chain of files, each naming the next. */
test.each([
  [0, 1],
  [1, 2],
  [3, 4],
])('a model whose includes lie %i deep is opened %i times', async (depth, opens) => {
  const { includes } = folder();
  let count = 0;
  const opened = await openWithIncludes(includes, model, () => {
    count += 1;
    return { includes: Array.from({ length: Math.min(count, depth) }, (_, index) => `${index}.layers.yaml`) };
  });
  expect([count, opened.includes.length]).toEqual([opens, depth]);
});

test('a model that names more files for ever is opened 17 times', async () => {
  const { includes } = folder();
  let count = 0;
  await openWithIncludes(includes, model, () => {
    count += 1;
    return { includes: [`${count}.layers.yaml`] };
  });
  expect(count).toBe(17);
});

test('one that is not opened any more ends the work', async () => {
  const { includes } = folder();
  const opened = await openWithIncludes(includes, model, () => undefined);
  expect(opened).toBeUndefined();
});
