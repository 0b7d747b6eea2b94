/** Corrections of kinds of kernels from measured steps of image models: of training, and of inference. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Mode } from '../../server/src/model/scenario.ts';
import { languageSteps } from '../measured/languageSteps.ts';
import { readKernels } from '../measured/readKernels.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../measured/readMeasured.ts';
import { graphOpener } from '../validate/graphs.ts';
import { fitSteps, type MeasuredStep } from './fitSteps.ts';
import { fitPauseless } from './pauselessMatmuls.ts';
import { openGraph, stepParts } from './stepParts.ts';
import { fitSustained } from './sustainedMatmuls.ts';

/** The factors of matmuls on tensor cores as their file has them, and a table for people. `root`: of the project. */
export function calibrateMatmuls(root: string) {
  const inSteps = fitSustained(languageSteps(join(root, 'measured'), graphOpener(root, '')));
  const pauseless = fitPauseless(readKernels(join(root, 'measured'), 'sustained'));
  return {
    matmuls: [...inSteps, ...pauseless],
    table: [
      ...inSteps.map(
        ({ gpu, older, factor, steps, sources, spread }) =>
          `matmuls in ${steps} steps of language models, ${gpu}${older ? ', older cuBLAS' : ''}: ${factor} times as long, measured / predicted on sources unseen ${spread.join(' to ')} (${sources.join(', ')})`,
      ),
      ...pauseless.map(
        ({ gpu, precision = 'bf16', factor, rows, spread }) =>
          `matmuls in ${precision} without a pause, by the curve of ${gpu}: ${factor} times as long, 80 % of ${rows} from ${spread.join(' to ')} of that`,
      ),
    ].join('\n'),
  };
}

/** The factors by kind of kernel as their file has them, and a table for people; `undefined` where there are no graphs. */
export function calibrateSteps(measured: string, graphs: string) {
  const fits = stepModes.flatMap((mode) => {
    const steps = measuredSteps(measured, graphs, mode) ?? [];
    return [...fitSteps(steps)].map(([key, fit]) => ({ key, mode, ...fit }));
  });
  if (fits.length === 0) return undefined;
  return {
    corrections: fits.map(({ key, mode, factors, models, spread }) => {
      const [gpu, layout] = key.split(' ');
      return { gpu, layout, mixed: true, mode, models, spread, sources: ['timm'], factors };
    }),
    table: fits
      .map(
        ({ key, mode, models, left, ninetieth }) =>
          `steps of ${models} models, ${mode}, ${key}: held out families median ${(100 * left.medianError).toFixed(1)} %, 90th percentile ${(100 * ninetieth).toFixed(1)} %, middle ${left.median.toFixed(2)}`,
      )
      .join('\n'),
  };
}

/** What was measured of image models; factors of one say nothing of the other, whose release is another. */
export const stepModes: readonly Mode[] = ['training', 'inference'];

/**
 * Measured steps, their keys being GPU and layout. Training is by PyTorch 1.12, whose optimizers go tensor by tensor and fill
 * gradients with zeros; inference by 2.4, on the GPU that training was measured on. `measured`: where the tables are; `graphs`: where `<model>.onnx.gz` are, as exported in training mode. `undefined` where there are no graphs: they are too large to be kept with the project.
 */
export function measuredSteps(
  measured: string,
  graphs: string,
  mode: Mode,
): readonly MeasuredStep[] | undefined {
  if (!existsSync(graphs)) return undefined;
  const files = new Set(readdirSync(graphs));
  const steps: MeasuredStep[] = [];
  for (const [model, rows] of grouped(stepRows(measured, mode))) {
    const file = `${model}.onnx.gz`;
    if (!files.has(file)) continue;
    const opened = openGraph(join(graphs, file));
    for (const row of rows) {
      const parts = stepParts(opened, {
        cluster: row.gpu ?? '',
        batch: numberIn(row, 'batch'),
        precision: 'fp16',
        mode,
        optimizer: mode === 'training' ? 'momentum' : 'none',
        framework: {
          name: 'pytorch-ddp',
          options: {
            'memory-format': row.layout ?? '',
            ...(mode === 'training' ? ofOldRelease : ofAutocast),
          },
        },
      });
      if (parts === undefined) continue;
      steps.push({
        model,
        key: `${row.gpu} ${row.layout}`,
        parts,
        seconds: numberIn(row, 'milliseconds') * 1e-3,
      });
    }
  }
  return steps;
}

/** timm's benchmark of inference: PyTorch 2.4 for all rows of RTX 3090; weights stay in fp32. */
const ofAutocast = { torch: '2.4', weights: 'fp32' };
const ofOldRelease = { torch: '1.12' };

const stepRows = (measured: string, mode: Mode): readonly MeasuredRow[] =>
  mode === 'training'
    ? readMeasured(measured, 'steps-timm.csv')
    : readMeasured(measured, 'steps-timm-inference.csv').filter(({ gpu }) => gpu === 'rtx-3090');

function grouped(rows: readonly MeasuredRow[]): Map<string, MeasuredRow[]> {
  const groups = new Map<string, MeasuredRow[]>();
  for (const row of rows) groups.set(row.model ?? '', [...(groups.get(row.model ?? '') ?? []), row]);
  return groups;
}
