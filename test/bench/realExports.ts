/** Whole reports of the largest real exports, in alternation with what Python takes for their shapes alone. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { meanProcessor, medianOf, ofChildren, type Time, timed } from './measure.ts';
import { inferShapesInPython, onnxVersion } from './pythonOnnx.ts';

const count = 10;
const runs = 5;

/**
 * Prints a row for each export: milliseconds of `report` as table and as JSON and of Python, and the ratios to Python.
 * The machine may do other work meanwhile: each round runs all three, the median counts, and the mean processor time is shown.
 */
export function showRealExports(root: string, cli: string, folder: string): void {
  const exports = join(root, '../shared/models/torch-export');
  const version = onnxVersion();
  if (!existsSync(exports) || version === undefined) {
    console.log(
      'real exports: not compared, without ../shared/models/torch-export or Python with the onnx package',
    );
    return;
  }
  console.log(
    `\nThe ${count} largest exports, whole processes in alternation with onnx ${version}: load and infer_shapes`,
  );
  console.log(
    'median (processor) of',
    runs,
    'rounds'.padEnd(22),
    'table'.padStart(14),
    'JSON'.padStart(14),
    'Python'.padStart(14),
    '  ratios',
  );
  const ratios: (readonly number[])[] = [];
  for (const file of largestExports(exports, folder)) {
    const works = [
      () => runNode([cli, 'report', file]),
      () => runNode([cli, 'report', file, '--format', 'json']),
      () => inferShapesInPython(file),
    ];
    const times: Time[][] = works.map(() => []);
    for (let round = 0; round <= runs; round += 1) {
      for (const [index, work] of works.entries()) {
        const time = timed(work, ofChildren);
        if (round > 0) times[index]?.push(time);
      }
    }
    const ratiosOf = ([table = Number.NaN, json = Number.NaN, python = Number.NaN]: readonly number[]) => [
      table / python,
      json / python,
    ];
    const own = [...ratiosOf(times.map(medianOf)), ...ratiosOf(times.map(meanProcessor))];
    ratios.push(own);
    const shown = times.map((each) =>
      `${medianOf(each).toFixed(0)} (${meanProcessor(each).toFixed(0)})`.padStart(14),
    );
    console.log(
      basename(file, '.onnx').padEnd(36),
      ...shown,
      ` ${own.map((ratio) => ratio.toFixed(2)).join(' ')}`,
    );
  }
  for (const [index, what] of ['table', 'JSON', 'table, processor time', 'JSON, processor time'].entries()) {
    const all = ratios.map((pair) => pair[index] ?? Number.NaN);
    const mean = all.reduce((sum, ratio) => sum + ratio, 0) / all.length;
    console.log(
      `  ${what}: ${mean.toFixed(2)} times Python on average, ${Math.max(...all).toFixed(2)} at most`,
    );
  }
}

/** The largest of them, unpacked into `folder`, by the size of their graphs: weights are not in them. */
function largestExports(exports: string, folder: string): readonly string[] {
  const unpacked = readdirSync(exports, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.onnx.gz'))
    .map((path) => ({ path, bytes: gunzipSync(readFileSync(join(exports, path))) }))
    .toSorted((left, right) => right.bytes.length - left.bytes.length)
    .slice(0, count);
  mkdirSync(join(folder, 'exports'));
  return unpacked.map(({ path, bytes }) => {
    const file = join(folder, 'exports', basename(path, '.gz'));
    writeFileSync(file, bytes);
    return file;
  });
}

function runNode(parameters: readonly string[]): void {
  execFileSync(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 });
}
