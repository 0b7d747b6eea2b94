/** The plan that the benchmark would run of a model file. */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { notRunnable } from '../../server/src/benchmark/notRunnable.ts';
import { planBenchmark } from '../../server/src/benchmark/planBenchmark.ts';
import type { BenchmarkPlan } from '../../server/src/benchmark/planSchema.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

/** `undefined` where the file is no model, or its sizes are not known without a person. */
export function coveragePlan(path: string): BenchmarkPlan | undefined {
  const contents = readFileSync(path);
  const opened = openModel(
    byteSourceOfBuffer(path.endsWith('.gz') ? gunzipSync(contents) : contents),
    path.replace(/\.gz$/, ''),
  );
  const { training, scenario, cost } = estimateModel(opened, [
    {
      batch: 2,
      cluster: 'a100-sxm-80gb',
      gpus: 1,
      precision: 'bf16',
      framework: { name: 'pytorch-ddp', options: {} },
    },
  ]);
  const isWhole = cost?.totals.time.step != null;
  if (training === undefined || scenario === undefined || !isWhole) return undefined;
  return notRunnable(training, scenario) === undefined ? planBenchmark(training, scenario) : undefined;
}
