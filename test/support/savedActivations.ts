/** The rows of `measured/saved-activations.csv`, and what this project says of the same graphs. */

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { numberIn, readMeasured } from '../../scripts/measured/readMeasured.ts';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openLayerSpec, openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readShared } from './sharedModels.ts';

export interface SavedRow {
  readonly model: string;
  /** Path in the project, or below `shared/` beside it. */
  readonly graph: string;
  readonly batch: number;
  readonly dimensions: Readonly<Record<string, number>>;
  readonly options: Readonly<Record<string, string>>;
  readonly bytes: number;
}

/** One entry per model and graph. */
export function savedRows(): readonly SavedRow[] {
  return readMeasured('measured', 'saved-activations.csv').flatMap((row) => {
    const dimensions = Object.entries(pairs(row.dimensions)).map(([name, size]) => [name, Number(size)]);
    return (row.graphs ?? '').split(' ').map((graph) => ({
      model: row.model ?? '',
      graph,
      batch: numberIn(row, 'batch'),
      dimensions: Object.fromEntries(dimensions),
      options: pairs(row.options),
      bytes: numberIn(row, 'bytes'),
    }));
  });
}

const pairs = (text = ''): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split(' ')
      .filter(Boolean)
      .map((pair) => pair.split('=')),
  );

/** Bytes kept for backward, as this project has them. */
export function savedBytesOf(row: SavedRow): number {
  const cost = estimateModel(openGraph(row.graph, row.dimensions), [
    {
      cluster: 'a100-sxm-80gb',
      precision: 'fp32',
      optimizer: 'none',
      // What was measured had none.
      loss: 'none',
      batch: row.batch,
      framework: { name: 'pytorch-ddp', options: { ...row.options } },
    },
  ]).cost;
  if (cost === undefined || !cost.totals.exact) throw new Error(`${row.graph} cannot be costed`);
  return cost.totals.memory.activations;
}

export function openGraph(path: string, dimensions: Readonly<Record<string, number>> = {}): OpenedModel {
  const bytes = path.startsWith('shared/') ? readShared(path.slice('shared/'.length)) : readFileSync(path);
  return openModel(byteSourceOfBuffer(bytes), basename(path), { dimensions });
}

/** A layer spec whose attention, which it writes out, is one kernel. */
export const openWithFusedAttention = (path: string): OpenedModel =>
  openLayerSpec(readFileSync(path, 'utf8').replaceAll(', fused=False', ''), basename(path));
