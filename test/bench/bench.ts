/** The figures of `npm run bench`. Each is a median of several runs with its extremes, and the mean processor time. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { measureProcess } from './childProcess.ts';
import { wholeCostOf } from './costOf.ts';
import { showEditing } from './editing.ts';
import { showFirstHint } from './firstHint.ts';
import { showFrameworks } from './frameworks.ts';
import { writeExternalModel, writeLargeModel } from './hugeModels.ts';
import { showKeystrokes } from './keystrokes.ts';
import { showLayouts } from './layouts.ts';
import { llamaGraph } from './llamaGraph.ts';
import { medianOf, repeat, repeatProcess, show } from './measure.ts';
import { showOpenDocuments } from './openDocuments.ts';
import { showRealExports } from './realExports.ts';
import { showRecosts } from './recosts.ts';

const scenario = ['--cluster', 'dgx-a100', '--gpus', '16', '--batch', '64', '--precision', 'bf16'];

interface Place {
  /** The project's folder, with `dist/` built. */
  readonly root: string;
  readonly cli: string;
  readonly resnet: string;
  /** For files that are written and read again. */
  readonly folder: string;
}

/** In the order in which they are shown. */
const parts: Readonly<Record<string, (place: Place) => void | Promise<void>>> = {
  start: ({ cli, resnet }) => showStart(cli, resnet),
  exports: ({ root, cli, folder }) => showRealExports(root, cli, folder),
  huge: ({ cli, folder }) => showHugeFiles(cli, folder),
  'first-hint': ({ root, resnet }) => showFirstHint(root, resnet),
  growth: showGrowth,
  editing: showEditing,
  keystrokes: showKeystrokes,
  documents: ({ root, folder }) => showOpenDocuments(root, folder),
  frameworks: showFrameworks,
  layouts: ({ root }) => showLayouts(root),
  recosts: ({ root }) => showRecosts(root),
};

/** Measures and prints the parts that are named, or all. */
export async function bench(root: string, named: readonly string[]): Promise<void> {
  const unknown = named.find((name) => parts[name] === undefined);
  if (unknown !== undefined)
    throw new Error(`no part ${unknown}; parts are ${Object.keys(parts).join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'layercost-bench-'));
  try {
    console.log(
      `Node ${process.version}; times in ms: median (least to most) of n runs, mean processor time`,
    );
    leaveOutCertificates();
    console.log('');
    const place = {
      root,
      folder,
      cli: join(root, 'dist/cli.js'),
      resnet: join(root, 'samples/resnet50.onnx'),
    };
    for (const [name, measure] of Object.entries(parts)) {
      if (named.length === 0 || named.includes(name)) await measure(place);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A setting of a machine's network that makes every start of Node load some hundred certificates, whatever it runs. */
function leaveOutCertificates(): void {
  if (process.env.NODE_EXTRA_CA_CERTS === undefined) return;
  delete process.env.NODE_EXTRA_CA_CERTS;
  console.log('NODE_EXTRA_CA_CERTS is set here; processes are measured without it');
}

function showStart(cli: string, resnet: string): void {
  show(
    'node -e 0, whole process',
    repeatProcess(9, () => runNode(['-e', '0'])),
  );
  show(
    'layercost --version, whole process',
    repeatProcess(9, () => runNode([cli, '--version'])),
  );
  show(
    'report ResNet-50, whole process',
    repeatProcess(9, () => runNode([cli, 'report', resnet, ...scenario])),
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
      runs.map(({ time }) => time),
      [
        `${(resident / 1e6).toFixed(0)} MB resident`,
        read === undefined || own === undefined
          ? 'bytes read not counted on this system'
          : `${(Math.max(0, read - own) / 1e6).toFixed(2)} MB read beyond the program`,
      ].join(', '),
    );
  }
}

/** The engine alone, inside this process: how its time grows with the model. */
function showGrowth(): void {
  const request = { batch: 4, dimensions: { sequence: 2048 }, precision: 'bf16' } as const;
  const [least, most] = [9_000, 50_000].map((operators) => {
    const source = byteSourceOfBuffer(llamaGraph(operators));
    const name = operators.toLocaleString('en-US');
    const read = repeat(9, () => openModel(source, 'llama.onnx'));
    show(`read and analyse ${name} operators`, read);
    const opened = openModel(source, 'llama.onnx');
    const cost = repeat(9, () => wholeCostOf(opened, request));
    show(`cost ${name} operators again`, cost);
    return { read: medianOf(read), cost: medianOf(cost) };
  });
  if (least === undefined || most === undefined) return;
  const growth = (before: number, after: number): string => (after / before).toFixed(1);
  console.log(
    `  5.6 times the operators: ${growth(least.read, most.read)} times to read, ${growth(least.cost, most.cost)} times to cost`,
  );
}

function runNode(parameters: readonly string[]): void {
  execFileSync(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 });
}
