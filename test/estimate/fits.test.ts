/** Whether a step fits is what the findings on memory say, and can be asked without them. */

import { expect, test } from 'vitest';
import { estimateStep } from '../../server/src/estimate/estimateStep.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { Scenario } from '../../server/src/model/scenario.ts';
import { chain } from '../support/trainingGraph.ts';

const cluster = findCluster('rtx-3090');
const scenario: Scenario = {
  cluster: 'rtx-3090',
  nodes: 1,
  gpus: 1,
  batchPerGpu: 8,
  dimensions: {},
  precision: 'fp32',
  optimizer: 'momentum',
  framework: { name: 'pytorch-ddp', options: {} },
  mode: 'training',
};

test('each answer comes with its finding, over sizes from far below the memory to above it', () => {
  const findingOf = { yes: undefined, may: 'findings/little-memory-left', no: 'findings/out-of-memory' };
  const told = new Set<string>();
  for (let gibibytes = 14; gibibytes <= 26; gibibytes += 0.5) {
    const output = (gibibytes * 2 ** 30) / 4 / 8 / 10;
    const layers = Array.from({ length: 10 }, (_, index) => ({
      name: `layer${index}`,
      class: 'matmul' as const,
      type: 'MatMul',
      flops: 1e9,
      parameters: 1000,
      output,
    }));
    if (cluster === undefined) throw new Error('no cluster');
    const { fits, findings } = estimateStep(chain(layers, 8), scenario, cluster);
    const onMemory = findings
      .map(({ code }) => code)
      .filter((code) => /out-of-memory|memory-left/.test(code));
    expect(onMemory, `${gibibytes} GiB`).toEqual([findingOf[fits]].filter((code) => code !== undefined));
    told.add(fits);
  }
  expect([...told]).toEqual(['yes', 'may', 'no']);
});
