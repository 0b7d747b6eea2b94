/** Corrections of kinds of kernels from measured training steps of image models. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { languageSteps } from '../measured/languageSteps.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../measured/readMeasured.ts';
import { graphOpener } from '../validate/graphs.ts';
import { fitSteps, type MeasuredStep } from './fitSteps.ts';
import { openGraph, stepParts } from './stepParts.ts';
import { fitSustained } from './sustainedMatmuls.ts';

/** The factors of matmuls on tensor cores as their file has them, and a table for people. `root`: of the project. */
export function calibrateMatmuls(root: string) {
  const matmuls = fitSustained(languageSteps(join(root, 'measured'), graphOpener(root, '')));
  return {
    matmuls,
    table: matmuls
      .map(
        ({ gpu, factor, steps, sources, spread }) =>
          `matmuls in ${steps} steps of language models, ${gpu}: ${factor} times as long, measured / predicted on sources unseen ${spread.join(' to ')} (${sources.join(', ')})`,
      )
      .join('\n'),
  };
}

/** The factors by kind of kernel as their file has them, and a table for people; `undefined` where there are no graphs. */
export function calibrateSteps(measured: string, graphs: string) {
  const steps = measuredSteps(measured, graphs);
  if (steps === undefined) return undefined;
  const fits = [...fitSteps(steps)].map(([key, fit]) => ({ key, ...fit }));
  return {
    corrections: fits.map(({ key, factors, models, spread }) => {
      const [gpu, layout] = key.split(' ');
      return { gpu, layout, mixed: true, models, spread, sources: ['timm'], factors };
    }),
    table: fits
      .map(
        ({ key, models, left, ninetieth }) =>
          `steps of ${models} models, ${key}: held out families median ${(100 * left.medianError).toFixed(1)} %, 90th percentile ${(100 * ninetieth).toFixed(1)} %, middle ${left.median.toFixed(2)}`,
      )
      .join('\n'),
  };
}

/**
 * Measured steps by PyTorch 1.12, whose optimizers go tensor by tensor and fill gradients with zeros; their keys being GPU
 * and layout. `measured`: where the tables are; `graphs`: where `<model>.onnx.gz` are, as exported in training mode. `undefined` where there are no graphs: they are too large to be kept with the project.
 */
export function measuredSteps(measured: string, graphs: string): readonly MeasuredStep[] | undefined {
  if (!existsSync(graphs)) return undefined;
  const files = new Set(readdirSync(graphs));
  const steps: MeasuredStep[] = [];
  for (const [model, rows] of grouped(readMeasured(measured, 'steps-timm.csv'))) {
    const file = `${model}.onnx.gz`;
    if (!files.has(file)) continue;
    const opened = openGraph(join(graphs, file));
    for (const row of rows) {
      const parts = stepParts(opened, {
        cluster: row.gpu ?? '',
        batch: numberIn(row, 'batch'),
        precision: 'fp16',
        optimizer: 'momentum',
        framework: {
          name: 'pytorch-ddp',
          options: {
            attention: 'eager',
            'memory-format': row.layout ?? '',
            gradients: 'added',
            'optimizer-kernels': 'loop',
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

function grouped(rows: readonly MeasuredRow[]): Map<string, MeasuredRow[]> {
  const groups = new Map<string, MeasuredRow[]>();
  for (const row of rows) groups.set(row.model ?? '', [...(groups.get(row.model ?? '') ?? []), row]);
  return groups;
}
