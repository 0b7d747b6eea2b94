import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { llamaGraph } from '../bench/llamaGraph.ts';

const opened = openModel(byteSourceOfBuffer(llamaGraph(150)), 'llama.onnx');

test.each(['fp32', 'bf16'] as const)(
  'what a fused kernel keeps is alive until it runs, in %s',
  (precision) => {
    const { training, scenario, cluster } = estimateModel(opened, [
      { cluster: 'h100-sxm', batch: 2, dimensions: { sequence: 64 }, precision },
    ]);
    if (training === undefined || scenario === undefined || cluster === undefined)
      throw new Error('not costed');
    expect(Math.min(...planStep(training, scenario, cluster).live().unkept)).toBeGreaterThanOrEqual(0);
  },
);
