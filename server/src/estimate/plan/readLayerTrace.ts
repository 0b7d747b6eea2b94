/**
 * Reads measured layer times from comma-separated values (RFC 4180), as profilers and spreadsheets write them and
 * as `--format csv` prints them.
 *
 * The header names the columns: `layer` (or `name`), and `forward` and `backward`, each with its unit
 * (`forward_ms`, `time_backward_s`, `forward_us`). Other columns are ignored.
 */

import type { Issue } from '../../model/issue.ts';
import type { LayerMeasurement, LayerMeasurements } from '../../model/measurement.ts';
import { readableIssues } from '../../model/readableIssues.ts';
import { type Seconds, seconds } from '../../model/units.ts';

export interface LayerTrace {
  readonly measurements: LayerMeasurements | undefined;
  readonly issues: readonly Issue[];
}

const unitsPerSecond: Readonly<Record<string, number>> = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };

/** `origin` is the file's name, for notes. Rows that cannot be read are issues, and the others stand. */
export function readLayerTrace(text: string, origin: string): LayerTrace {
  const [header, ...rows] = parseRows(text.replace(/^\uFEFF/, ''));
  const columns = header === undefined ? undefined : findColumns(header);
  if (columns === undefined) {
    return {
      measurements: undefined,
      issues: [
        issue(
          `${origin} has no header with the columns layer and forward_ms or backward_ms (or _s, _us, _ns); add one as its first line`,
        ),
      ],
    };
  }
  const issues: Issue[] = [];
  const layers = new Map<string, LayerMeasurement>();
  for (const [index, row] of rows.entries()) {
    const name = row[columns.layer];
    const forward = timeIn(row, columns.forward);
    const backward = timeIn(row, columns.backward);
    if (name === undefined || forward === 'wrong' || backward === 'wrong') {
      issues.push(
        issue(`${origin}, row ${index + 2}: a time is not a number of at least 0; the row is left out`),
      );
      continue;
    }
    layers.set(name, {
      ...(forward === undefined ? {} : { forward }),
      ...(backward === undefined ? {} : { backward }),
    });
  }
  return { measurements: { origin, layers }, issues: readableIssues(issues) };
}

interface TimeColumn {
  readonly index: number;
  readonly perSecond: number;
}

function findColumns(header: readonly string[]) {
  const names = header.map((name) => name.trim().toLowerCase());
  const layer = names.findIndex((name) => name === 'layer' || name === 'name');
  const forward = findTime(names, 'forward');
  const backward = findTime(names, 'backward');
  return layer < 0 || (forward === undefined && backward === undefined)
    ? undefined
    : { layer, forward, backward };
}

function findTime(names: readonly string[], pass: string): TimeColumn | undefined {
  for (const [index, name] of names.entries()) {
    const perSecond = unitsPerSecond[new RegExp(`^(?:time_)?${pass}_(s|ms|us|ns)$`).exec(name)?.[1] ?? ''];
    if (perSecond !== undefined) return { index, perSecond };
  }
  return undefined;
}

/** An empty cell is a time that was not measured. */
function timeIn(row: readonly string[], column: TimeColumn | undefined): Seconds | undefined | 'wrong' {
  const cell = column === undefined ? '' : (row[column.index]?.trim() ?? '');
  if (cell === '' || column === undefined) return undefined;
  const value = Number(cell);
  return Number.isFinite(value) && value >= 0 ? seconds(value / column.perSecond) : 'wrong';
}

/** Rows of cells; quoted cells may hold commas, line breaks and doubled quotes. Blank lines are dropped. */
function parseRows(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  const cells = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|\r|$)/gy;
  for (let match = cells.exec(text); match !== null; match = cells.exec(text)) {
    row.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] !== ',') {
      if (row.length > 1 || row[0] !== '') rows.push(row);
      row = [];
    }
    if (cells.lastIndex >= text.length) break;
  }
  return rows;
}

const issue = (message: string): Issue => ({ code: 'measurement/trace', severity: 'error', message });
