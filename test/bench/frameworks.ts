/** What another choice costs with every framework and its options: the timeline of a large model over many GPUs. */

import { performance } from 'node:perf_hooks';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { scalingCurve } from '../../server/src/estimate/scaling/scalingCurve.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { cudnnEraOptions } from '../../server/src/frameworks/cudnn/cudnnEra.ts';
import type { FrameworkEntry } from '../../server/src/frameworks/frameworkEntry.ts';
import { eagerOptions } from '../../server/src/frameworks/pytorchDdp.ts';
import { frameworks } from '../../server/src/frameworks/registry.ts';
import { costOf, wholeCostOf } from './costOf.ts';
import { llamaGraph } from './llamaGraph.ts';

/**
 * A row for each framework: that of its choices which takes the longest. Each time is that of another batch, of which nothing
 * has been found before; the points of a curve share what does not depend on the number of GPUs, as they do for a person.
 */
export function showFrameworks(): void {
  const opened = openModel(byteSourceOfBuffer(llamaGraph(9_000)), 'llama.onnx');
  const base = { dimensions: { sequence: 2048 }, precision: 'bf16', cluster: 'dgx-h100' } as const;
  let runs = 0;
  /** Of batches that come back after five, when what was found of the first has been let go of. */
  const nextBatch = (): number => {
    runs += 1;
    return 4 + (runs % 5);
  };
  console.log('');
  console.log('9,000 operators, the slowest choice of each framework; least of several runs');
  console.log(`${''.padEnd(56)}1,024 GPUs   1 to 4,096 in 13 points`);
  for (const entry of frameworks.filter(({ oneNode }) => oneNode !== true)) {
    const requestOf = (options: Readonly<Record<string, string>>, gpus: number, batch = nextBatch()) => ({
      ...base,
      batch,
      gpus,
      framework: { name: entry.name, options },
    });
    let slowest: { readonly time: number; readonly options: Readonly<Record<string, string>> } | undefined;
    for (const options of choicesOf(entry)) {
      const time = least(3, () => wholeCostOf(opened, requestOf(options, 1024)));
      if (slowest === undefined || time > slowest.time) slowest = { time, options };
    }
    if (slowest === undefined) continue;
    const { options } = slowest;
    const time = Math.min(
      slowest.time,
      least(5, () => wholeCostOf(opened, requestOf(options, 1024))),
    );
    const curve = least(3, () => {
      const batch = nextBatch();
      scalingCurve(curvePoints.map((gpus) => costOf(opened, requestOf(options, gpus, batch))));
    });
    const chosen = Object.entries(options).map(([name, value]) => `,${name}=${value}`);
    const times = `${time.toFixed(0).padStart(8)}${curve.toFixed(0).padStart(20)}`;
    console.log(`${`  ${entry.name}${chosen.join('')}`.padEnd(56)}${times}`);
  }
}

const curvePoints = Array.from({ length: 13 }, (_, power) => 2 ** power);

/** Its defaults, and each other value that options of its own list. */
const choicesOf = ({ options }: FrameworkEntry): readonly Readonly<Record<string, string>>[] => [
  {},
  ...options
    .filter(({ name }) => !ofKernels.has(name))
    .flatMap(({ name, default: usual, expects }) =>
      (expects.choices ?? []).filter((value) => value !== usual).map((value) => ({ [name]: value })),
    ),
];

/** Options that many frameworks have: they change kernels, not what is sent. */
const ofKernels = new Set([...eagerOptions, ...cudnnEraOptions].map(({ name }) => name));

/** Milliseconds: other programs only ever add to them. */
function least(runs: number, work: () => unknown): number {
  let time = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run += 1) {
    const started = performance.now();
    work();
    time = Math.min(time, performance.now() - started);
  }
  return time;
}
