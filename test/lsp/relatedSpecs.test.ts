/** Which layer specs a rename looks at: those that are open, what they include, and those of the workspace. */

import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { FolderEntry } from '../../server/src/language/textFeatures.ts';
import { type RelatedSpecSources, relatedSpecs } from '../../server/src/lsp/relatedSpecs.ts';

interface Workspace {
  /** Open documents: address, language and text. */
  readonly open?: readonly (readonly [uri: string, languageId: string, text: string])[];
  readonly included?: Readonly<Record<string, readonly { readonly path: string; readonly text: string }[]>>;
  readonly folders?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  readonly entries?: Readonly<Record<string, readonly FolderEntry[]>>;
}

/** What is found, which folders were listed, and which files were read and closed again. */
function looking({ open = [], included = {}, folders = [], files = {}, entries = {} }: Workspace) {
  const listed: string[] = [];
  const read: string[] = [];
  const closed: string[] = [];
  const sources: RelatedSpecSources = {
    texts: () => open.map(([uri, languageId, text]) => ({ uri, languageId, getText: () => text })),
    included: (uri) => included[uri] ?? [],
    folders: async () => folders,
    listFolder: async (uri) => {
      listed.push(uri);
      return entries[uri] ?? [];
    },
    read: async (uri) => {
      read.push(uri);
      const text = files[uri];
      return text === undefined
        ? { kind: 'failed', issue: { code: 'file/unreadable', severity: 'error', message: 'not there' } }
        : {
            kind: 'open',
            source: byteSourceOfBuffer(new TextEncoder().encode(text)),
            close: () => closed.push(uri),
          };
    },
  };
  return { ...relatedSpecs(sources), listed, read, closed };
}

const file = (name: string): FolderEntry => ({ name, isFolder: false });
const folder = (name: string): FolderEntry => ({ name, isFolder: true });
const own = 'file:///home/ann/nets/own.layers.yaml';
const including = (path: string): string => `include: [${path}]\n`;

describe('open texts', () => {
  test('are layer specs, by language or by name, each with what it includes', () => {
    const { open } = looking({
      open: [
        [own, 'layer-spec', 'own'],
        ['file:///home/ann/other.layers.yml', 'yaml', 'other'],
        ['file:///home/ann/notes.yaml', 'yaml', 'notes'],
        ['file:///home/ann/graph.onnxtxt', 'onnx-text', 'graph'],
      ],
      included: {
        [own]: [
          { path: '../blocks.layers.yaml', text: 'blocks' },
          // No address, as an absolute path has none beside a file.
          { path: '/etc/blocks.layers.yaml', text: 'absolute' },
        ],
        'file:///home/ann/notes.yaml': [{ path: 'never.layers.yaml', text: 'never' }],
      },
    });
    const { self, texts, resolve } = open(own);
    expect(self).toBe(own);
    expect(texts).toEqual([
      { address: own, text: 'own' },
      { address: 'file:///home/ann/blocks.layers.yaml', text: 'blocks' },
      { address: 'file:///home/ann/other.layers.yml', text: 'other' },
    ]);
    expect(resolve(own, 'a.layers.yaml')).toBe('file:///home/ann/nets/a.layers.yaml');
  });
});

describe('everywhere', () => {
  const addresses = async (workspace: Workspace): Promise<readonly string[]> =>
    (await looking(workspace).everywhere(own)).texts.map(({ address }) => address).toSorted();

  test('looks below the folder of the workspace, but into no folder of tools', async () => {
    const workspace: Workspace = {
      open: [[own, 'layer-spec', 'own']],
      folders: ['file:///home/ann', 'file:///elsewhere'],
      entries: {
        'file:///home/ann': [
          file('a.layers.yaml'),
          file('B.LAYERS.YML'),
          file('c.yaml'),
          file('d.layers.yaml.bak'),
          folder('e.layers.yaml'),
          folder('.git'),
          folder('node_modules'),
          folder('__pycache__'),
          folder('my_node_modules'),
        ],
        'file:///home/ann/my_node_modules': [file('f.layers.yaml')],
        'file:///home/ann/.git': [file('g.layers.yaml')],
      },
      files: {
        'file:///home/ann/a.layers.yaml': '',
        'file:///home/ann/B.LAYERS.YML': '',
        'file:///home/ann/c.yaml': '',
        'file:///home/ann/my_node_modules/f.layers.yaml': '',
        'file:///home/ann/.git/g.layers.yaml': '',
      },
    };
    const found = looking(workspace);
    const { texts } = await found.everywhere(own);
    expect(texts.map(({ address }) => address).toSorted()).toEqual(
      [
        own,
        'file:///home/ann/B.LAYERS.YML',
        'file:///home/ann/a.layers.yaml',
        'file:///home/ann/my_node_modules/f.layers.yaml',
      ].toSorted(),
    );
    expect(found.listed).toEqual([
      'file:///home/ann',
      'file:///home/ann/e.layers.yaml',
      'file:///home/ann/my_node_modules',
    ]);
    expect(found.closed.toSorted()).toEqual(found.read.toSorted());
  });

  test('looks in the folder of the file where no workspace holds it', async () => {
    const found = looking({ folders: ['file:///elsewhere'] });
    await found.everywhere(own);
    expect(found.listed).toEqual(['file:///home/ann/nets']);
  });

  test('follows what is included, also in circles and outside the folder', async () => {
    expect(
      await addresses({
        folders: ['file:///home/ann/nets'],
        open: [[own, 'layer-spec', including('../shared/a.layers.yaml')]],
        files: {
          'file:///home/ann/shared/a.layers.yaml': including('b.layers.yaml'),
          'file:///home/ann/shared/b.layers.yaml': including('a.layers.yaml'),
        },
      }),
    ).toEqual([own, 'file:///home/ann/shared/a.layers.yaml', 'file:///home/ann/shared/b.layers.yaml']);
  });

  test('goes on behind an include that has no address', async () => {
    expect(
      await addresses({
        folders: ['file:///home/ann/nets'],
        open: [[own, 'layer-spec', 'include: [../shared/a.layers.yaml, /etc/b.layers.yaml]\n']],
        files: { 'file:///home/ann/shared/a.layers.yaml': '' },
      }),
    ).toEqual([own, 'file:///home/ann/shared/a.layers.yaml']);
  });

  test('takes what is open as it is there, and reads no file for it', async () => {
    const found = looking({
      folders: ['file:///home/ann/nets'],
      entries: { 'file:///home/ann/nets': [file('own.layers.yaml'), file('gone.layers.yaml')] },
      open: [[own, 'layer-spec', 'as it is typed']],
      files: { [own]: 'as it was saved' },
    });
    expect((await found.everywhere(own)).texts).toEqual([{ address: own, text: 'as it is typed' }]);
    expect(found.read).toEqual(['file:///home/ann/nets/gone.layers.yaml']);
  });

  /** A layer spec is read up to 1 MiB. */
  test.each([
    [2 ** 20, 1],
    [2 ** 20 + 1, 0],
  ])('of a file of %i bytes, %i is read', async (size, count) => {
    const found = looking({
      folders: ['file:///home/ann/nets'],
      entries: { 'file:///home/ann/nets': [file('long.layers.yaml')] },
      files: { 'file:///home/ann/nets/long.layers.yaml': '#'.repeat(size) },
    });
    expect((await found.everywhere(own)).texts).toHaveLength(count);
    expect(found.closed).toEqual(['file:///home/ann/nets/long.layers.yaml']);
  });

  test('looks at 500 specs, and lists no more folders once it knows of so many', async () => {
    const names = (count: number, from: number) =>
      Array.from({ length: count }, (_, index) => file(`${from + index}.layers.yaml`));
    const entriesOf = (count: number): Workspace => ({
      folders: ['file:///home/ann/nets'],
      entries: {
        'file:///home/ann/nets': [...names(count, 0), folder('more')],
        'file:///home/ann/nets/more': names(2, 1000),
      },
    });
    const few = looking(entriesOf(499));
    await few.everywhere(own);
    expect([few.listed.length, few.read.length]).toEqual([2, 500]);
    const many = looking(entriesOf(500));
    await many.everywhere(own);
    expect([many.listed.length, many.read.length]).toEqual([1, 500]);
  });

  test('looks into 2,000 folders', async () => {
    const found = looking({
      folders: ['file:///home/ann/nets'],
      entries: {
        'file:///home/ann/nets': Array.from({ length: 2100 }, (_, index) => folder(`${index}`)),
      },
    });
    await found.everywhere(own);
    expect(found.listed).toHaveLength(2000);
  });
});
