/** Where the graph of a measured model is: in the project, or in the shared folder beside it. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { specOfConfig } from '../../server/src/lowering/hugging-face/specOfConfig.ts';

/** Opens a graph by its path below the root, or below `shared:` (`undefined` where the file is absent). */
export type OpenGraph = (
  path: string,
  dimensions?: Readonly<Record<string, number>>,
) => OpenedModel | undefined;

/** The models of one file of layer specs follow a `#`; `dimensions` win over those of a spec. The graph opened last is kept: rows come model by model. */
export function graphOpener(root: string, shared: string): OpenGraph {
  let last: { readonly key: string; readonly opened: OpenedModel } | undefined;
  return (path, dimensions) => {
    const key = JSON.stringify([path, dimensions]);
    if (last?.key === key) return last.opened;
    const [place = '', model] = path.split('#');
    const file = place.startsWith('shared:') ? join(shared, place.slice(7)) : join(root, place);
    if (!existsSync(file)) return undefined;
    const contents = readFileSync(file);
    const opened = openModel(
      byteSourceOfBuffer(file.endsWith('.gz') ? gunzipSync(contents) : contents),
      file.replace(/\.gz$/, ''),
      { model, dimensions, specOfConfig },
    );
    last = { key, opened };
    return opened;
  };
}
