/** The rows of `measured/saved-activations.csv`, and what this project says of the same graphs. */

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
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
  const [header = '', ...lines] = readFileSync('measured/saved-activations.csv', 'utf8').trim().split('\n');
  const columns = header.split(',');
  return lines.flatMap((line) => {
    const cells = splitCells(line);
    const cell = (name: string): string => cells[columns.indexOf(name)] ?? '';
    const dimensions = Object.entries(pairs(cell('dimensions'))).map(([name, size]) => [name, Number(size)]);
    return cell('graphs')
      .split(' ')
      .map((graph) => ({
        model: cell('model'),
        graph,
        batch: Number(cell('batch')),
        dimensions: Object.fromEntries(dimensions),
        options: pairs(cell('options')),
        bytes: Number(cell('bytes')),
      }));
  });
}

/** Only cells with commas are quoted; none holds a quotation mark. */
const splitCells = (line: string): readonly string[] =>
  [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

const pairs = (text: string): Readonly<Record<string, string>> =>
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
