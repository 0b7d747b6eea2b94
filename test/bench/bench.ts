/** The figures of `npm run bench`. Each is a median of several runs with its extremes. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { measureProcess } from './childProcess.ts';
import { showFirstHint } from './firstHint.ts';
import { writeExternalModel, writeLargeModel } from './hugeModels.ts';
import { showKeystrokes } from './keystrokes.ts';
import { llamaGraph } from './llamaGraph.ts';
import { median, repeat, show } from './measure.ts';
import { inferShapesInPython, onnxVersion } from './pythonOnnx.ts';

const scenario = ['--cluster', 'dgx-a100', '--gpus', '16', '--batch', '64', '--precision', 'bf16'];

/** Measures and prints everything. `root` is the project's folder, with `dist/` built. */
export async function bench(root: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'layercost-bench-'));
  try {
    console.log(`Node ${process.version}; times in ms: median (least to most) of n runs\n`);
    const cli = join(root, 'dist/cli.js');
    const resnet = join(root, 'samples/resnet50.onnx');
    showStart(cli, resnet);
    showLargeGraph(cli, folder);
    showHugeFiles(cli, folder);
    await showFirstHint(root, resnet);
    for (const operators of [9_000, 50_000]) showEngine(operators);
    await showKeystrokes();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function showStart(cli: string, resnet: string): void {
  show(
    'node -e 0, whole process',
    repeat(9, () => runNode(['-e', '0'])),
  );
  show(
    'layercost --version, whole process',
    repeat(9, () => runNode([cli, '--version'])),
  );
  show(
    'report ResNet-50, whole process',
    repeat(9, () => runNode([cli, 'report', resnet, ...scenario])),
  );
}

/** A graph of 9,000 operators as a whole process, beside what Python takes for its shapes alone. */
function showLargeGraph(cli: string, folder: string): void {
  const file = join(folder, 'llama.onnx');
  writeFileSync(file, llamaGraph(9000));
  const ours = repeat(7, () =>
    runNode([cli, 'report', file, ...scenario, '--dim', 'sequence=2048', '--format', 'json']),
  );
  show('report 9,000-operator decoder, whole process', ours);
  const version = onnxVersion();
  if (version === undefined) {
    console.log('  not compared: no Python with the onnx package (name one by the variable PYTHON)');
    return;
  }
  const theirs = repeat(7, () => inferShapesInPython(file));
  show(
    '  onnx.load and infer_shapes, whole process',
    theirs,
    `onnx ${version}, ${(median(theirs) / median(ours)).toFixed(1)} times ours`,
  );
}

/** Files of gigabytes: what is read of them, and the memory it takes. */
function showHugeFiles(cli: string, folder: string): void {
  const inside = join(folder, 'inside.onnx');
  writeLargeModel(inside, 4);
  const outside = join(folder, 'outside.onnx');
  writeExternalModel(outside, join(folder, 'outside.data'), 'outside.data', 8);
  const own = measureProcess(folder, [cli, '--version']).bytesRead;
  for (const [what, file] of [
    ['report 4 GiB in one file, whole process', inside],
    ['report 8 GiB of external data, whole process', outside],
  ] as const) {
    const runs = Array.from({ length: 5 }, () => measureProcess(folder, [cli, 'report', file, ...scenario]));
    const resident = Math.max(...runs.map(({ residentBytes }) => residentBytes));
    const read = runs[0]?.bytesRead;
    show(
      what,
      runs.map(({ milliseconds }) => milliseconds),
      [
        `${(resident / 1e6).toFixed(0)} MB resident`,
        read === undefined || own === undefined
          ? 'bytes read not counted on this system'
          : `${(Math.max(0, read - own) / 1e6).toFixed(2)} MB read beyond the program`,
      ].join(', '),
    );
  }
}

/** The engine alone, inside this process. */
function showEngine(operators: number): void {
  const source = byteSourceOfBuffer(llamaGraph(operators));
  const request = { batch: 4, dimensions: { sequence: 2048 }, precision: 'bf16' } as const;
  const name = operators.toLocaleString('en-US');
  show(
    `read and analyse ${name} operators`,
    repeat(9, () => openModel(source, 'llama.onnx')),
  );
  const opened = openModel(source, 'llama.onnx');
  show(
    `cost ${name} operators again`,
    repeat(9, () => estimateModel(opened, [request])),
  );
}

function runNode(parameters: readonly string[]): void {
  execFileSync(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 });
}
