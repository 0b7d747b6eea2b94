/**
 * The layer specs that may share blocks with an open one, whether they are open or lie in its workspace: what a rename and a
 * search for references have to look at. Looked for when asked, so that what they say is so now.
 */

import { decodeText } from '../formats/byteSource.ts';
import { readLayerSpec } from '../formats/layer-spec/readLayerSpec.ts';
import type { RelatedTexts } from '../language/textFeatures.ts';
import { languageIds } from '../protocol.ts';
import { languageOf } from './languageOf.ts';
import type { ListFolder } from './listFolder.ts';
import type { ReadFile } from './readFile.ts';
import { folderOf, holdingFolder, resolvePath } from './virtualText.ts';

export interface RelatedSpecs {
  /** Those that are open, and what they include. */
  readonly open: (uri: string) => RelatedTexts;
  /** Those of the workspace too. */
  readonly everywhere: (uri: string) => Promise<RelatedTexts>;
}

export interface RelatedSpecSources {
  readonly texts: () => readonly { readonly uri: string; readonly languageId: string; getText(): string }[];
  /** Texts of the files that an open spec includes, by their paths. */
  readonly included: (uri: string) => readonly { readonly path: string; readonly text: string }[];
  readonly folders: () => Promise<readonly string[]>;
  readonly listFolder: ListFolder;
  readonly read: ReadFile;
}

export function relatedSpecs({
  texts,
  included,
  folders,
  listFolder,
  read,
}: RelatedSpecSources): RelatedSpecs {
  const open = (uri: string): RelatedTexts => ({
    self: uri,
    texts: texts()
      .filter((text) => languageOf(text) === languageIds.layerSpec)
      .flatMap((document) => [
        { address: document.uri, text: document.getText() },
        ...included(document.uri).flatMap(({ path, text }) => {
          const address = resolvePath(document.uri, path);
          return address === undefined ? [] : [{ address, text }];
        }),
      ]),
    resolve: resolvePath,
  });
  const readText = async (uri: string): Promise<string | undefined> => {
    const file = await read(uri);
    if (file.kind === 'failed') return undefined;
    try {
      return file.source.size > longestSpec ? undefined : decodeText(file.source);
    } finally {
      file.close();
    }
  };
  return {
    open,
    everywhere: async (uri) => {
      const known = open(uri);
      const found = new Map(known.texts.map(({ address, text }) => [address, text]));
      const root = holdingFolder(uri, await folders()) ?? folderOf(uri);
      const waiting = [...found.keys(), ...(await findSpecs(root, listFolder))];
      const seen = new Set<string>();
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (seen.has(next) || seen.size >= mostSpecs) continue;
        seen.add(next);
        const text = found.get(next) ?? (await readText(next));
        if (text === undefined) continue;
        found.set(next, text);
        for (const { path } of readLayerSpec(text).spec?.includes ?? []) {
          const address = resolvePath(next, path.text);
          if (address !== undefined) waiting.push(address);
        }
      }
      return { ...known, texts: [...found].map(([address, text]) => ({ address, text })) };
    },
  };
}

/** A workspace with more is no place to look through while somebody waits. */
const mostSpecs = 500;
const mostFolders = 2_000;
const longestSpec = 2 ** 20;

/** Addresses of the layer specs below a folder; folders of tools and packages are left out. */
async function findSpecs(root: string, listFolder: ListFolder): Promise<readonly string[]> {
  const specs: string[] = [];
  const folders = [root];
  for (let at = 0; at < folders.length && at < mostFolders && specs.length < mostSpecs; at += 1) {
    const folder = folders[at] ?? root;
    for (const { name, isFolder } of await listFolder(folder)) {
      const address = resolvePath(`${folder}/.`, name);
      if (address === undefined) continue;
      if (isFolder && !/^\.|^node_modules$|^__pycache__$/.test(name)) folders.push(address);
      if (!isFolder && /\.layers\.ya?ml$/i.test(name)) specs.push(address);
    }
  }
  return specs;
}
