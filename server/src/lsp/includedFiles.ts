/**
 * The texts of the files that layer specs include. Reading a spec asks for them at once, and files answer later: so a
 * spec is read again once they are here.
 */

import type { OpenedModel } from '../analysis/openedModel.ts';
import { decodeText } from '../formats/byteSource.ts';
import { longestInclude } from '../formats/layer-spec/includePath.ts';
import type { IncludedText } from '../language/layer-spec/specText.ts';
import type { ReadInclude } from '../lowering/layer-spec/blockTable.ts';
import type { ReadFile } from './readFile.ts';
import { folderOf, resolvePath } from './virtualText.ts';

export interface IncludedFiles {
  /** Texts as they are known by now, by paths relative to the model. */
  reader(model: string): ReadInclude;
  /** Reads what is not known yet; gives whether there was any such file. */
  load(model: string, paths: readonly string[]): Promise<boolean>;
  /** The texts that a model includes, by paths relative to it. */
  texts(model: string): readonly IncludedText[];
  /** Models that include a file, as they were read last. */
  includers(uri: string): readonly string[];
  /** The file changed on disk, or its open text did. */
  forget(uri: string): void;
  close(model: string): void;
}

/**
 * What `open` gives, opened again as long as files that it includes come: they may include others. `undefined` where it gives
 * nothing any more.
 */
export async function openWithIncludes<Opened extends Pick<OpenedModel, 'includes'> | undefined>(
  includes: IncludedFiles,
  model: string,
  open: () => Promise<Opened> | Opened,
): Promise<Opened> {
  let opened = await open();
  for (let round = 0; opened !== undefined && round < deepestInclude; round += 1) {
    if (!(await includes.load(model, opened.includes ?? []))) break;
    opened = await open();
  }
  return opened;
}

/** A chain is as deep as people write it. */
const deepestInclude = 16;

export interface IncludeSources {
  readonly read: ReadFile;
  /** The text of a file that is open in the editor, which goes before the file. */
  readonly openText: (uri: string) => string | undefined;
  /** Called once for every file, to be told of its changes. */
  readonly watch: (uri: string) => void;
}

export function includedFiles({ read, openText, watch }: IncludeSources): IncludedFiles {
  const texts = new Map<string, string | undefined>();
  const includes = new Map<string, ReadonlyMap<string, string>>();
  const watched = new Set<string>();
  const addressOf = (model: string, path: string): string | undefined => resolvePath(model, path);

  const readText = async (uri: string, model: string): Promise<string | undefined> => {
    const file = await read(uri, { longest: longestInclude, inside: folderOf(model) });
    if (file.kind === 'failed') return undefined;
    try {
      return decodeText(file.source);
    } finally {
      file.close();
    }
  };

  return {
    reader: (model) => (path) => {
      const uri = addressOf(model, path);
      return uri === undefined ? undefined : (openText(uri) ?? texts.get(uri));
    },
    load: async (model, paths) => {
      const byPath = new Map(
        paths.flatMap((path) => {
          const uri = addressOf(model, path);
          return uri === undefined ? [] : [[path, uri]];
        }),
      );
      includes.set(model, byPath);
      const addresses = [...byPath.values()];
      const missing = addresses.filter((uri) => !texts.has(uri) && openText(uri) === undefined);
      for (const uri of addresses) {
        if (watched.has(uri)) continue;
        watched.add(uri);
        watch(uri);
      }
      for (const uri of missing) texts.set(uri, await readText(uri, model));
      return missing.length > 0;
    },
    texts: (model) =>
      [...(includes.get(model) ?? [])].flatMap(([path, uri]) => {
        const text = openText(uri) ?? texts.get(uri);
        return text === undefined ? [] : [{ path, text }];
      }),
    includers: (uri) =>
      [...includes].flatMap(([model, files]) => ([...files.values()].includes(uri) ? [model] : [])),
    forget: (uri) => {
      texts.delete(uri);
    },
    close: (model) => {
      includes.delete(model);
    },
  };
}
