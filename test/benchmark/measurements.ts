/** What a benchmark of `smallPlan` could measure. */

import type { BenchmarkMeasurements } from '../../server/src/benchmark/benchmarkMeasurements.ts';
import { originOf } from '../../server/src/benchmark/benchmarkMeasurements.ts';
import type { Scenario } from '../../server/src/model/scenario.ts';
import { seconds } from '../../server/src/model/units.ts';

const device = { kind: 'cpu', name: 'Fake CPU', torch: '9.9', precision: 'fp32' } as const;

export const measurements: BenchmarkMeasurements = {
  origin: originOf(device, new Date()),
  device,
  layers: new Map([
    [
      'fc',
      {
        forward: seconds(0.1),
        forwardQuartiles: { low: seconds(0.05), high: seconds(0.2) },
        backward: seconds(0.15),
      },
    ],
  ]),
  step: seconds(0.5),
  wholeStep: {
    whole: seconds(0.5),
    quartiles: { low: seconds(0.4), high: seconds(0.6) },
    update: seconds(0.05),
    repeats: 5,
  },
  notMeasured: new Map([['act', 'the runner does not know it']]),
  notes: [],
};

export const measuredScenario: Scenario = {
  cluster: 'a100-80gb',
  nodes: 1,
  gpus: 1,
  batchPerGpu: 4,
  dimensions: { batch: 4 },
  precision: 'fp32',
  optimizer: 'adamw',
  framework: { name: 'pytorch-ddp', options: {} },
  mode: 'training',
};
