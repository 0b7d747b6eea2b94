/** How fast hosts copy for TCP (`tcpRate.ts`), fitted to `measured/tcp-rates.csv`. */

import { type TcpLibrary, tcpRate } from '../../server/src/hardware/tcpRate.ts';
import { bytesPerSecond } from '../../server/src/model/units.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../measured/readMeasured.ts';

export interface TcpRow {
  readonly source: string;
  readonly library: TcpLibrary;
  /** Nominal rate of the port, Gb/s. */
  readonly gbits: number;
  /** Bytes per second. */
  readonly measured: number;
}

export const tcpRows = (folder: string): readonly TcpRow[] =>
  readMeasured(folder, 'tcp-rates.csv').map((row) => ({
    source: row.source ?? '',
    library: libraryOf(row),
    gbits: numberIn(row, 'gbits'),
    measured: numberIn(row, 'rate') * 1e9,
  }));

function libraryOf({ library }: MeasuredRow): TcpLibrary {
  if (library === 'nccl' || library === 'ps-lite') return library;
  throw new Error(`no library is called ${library}`);
}

/** Bytes per second, to 10 MB/s: the least sum of squares of ln(measured / predicted). `undefined` where no row is of the library. */
export function fitCopies(rows: readonly TcpRow[], library: TcpLibrary): number | undefined {
  const own = rows.filter((row) => row.library === library);
  if (own.length === 0) return undefined;
  const losses = candidates.map((copies) =>
    own.reduce(
      (sum, { gbits, measured }) =>
        sum + Math.log(measured / tcpRate(nominalOf(gbits), library, copies)) ** 2,
      0,
    ),
  );
  return candidates[losses.indexOf(Math.min(...losses))];
}

const candidates = Array.from({ length: 3000 }, (_, index) => (index + 1) * 1e7);

export const nominalOf = (gbits: number) => bytesPerSecond(gbits * 1.25e8);

export interface HeldTcpRow extends TcpRow {
  /** By the fit to the rows of other sources; `undefined` where there are none. */
  readonly predicted: number | undefined;
}

export const heldTcpRows = (rows: readonly TcpRow[]): readonly HeldTcpRow[] =>
  rows.map((row) => {
    const copies = fitCopies(
      rows.filter(({ source }) => source !== row.source),
      row.library,
    );
    return {
      ...row,
      predicted: copies === undefined ? undefined : tcpRate(nominalOf(row.gbits), row.library, copies),
    };
  });
