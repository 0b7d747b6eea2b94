/** A report of a folded model is made without its operators: writing out those of thousands takes longer than the report. */

import { expect, test } from 'vitest';
import type { ModelAnalysis } from '../../server/src/analysis/modelAnalysis.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import { renderTable } from '../../server/src/estimate/report/renderTable.ts';
import type { Graph } from '../../server/src/model/graph.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

/** The analysis with operators and values that must not be asked for; `graph` itself may be. */
function withoutOperators(analysis: ModelAnalysis): ModelAnalysis {
  const { name, inputs, outputs, operatorSets } = analysis.graph;
  const unasked = (): never => {
    throw new Error('the whole graph was made');
  };
  const graph: Graph = {
    name,
    inputs,
    outputs,
    operatorSets,
    get operators() {
      return unasked();
    },
    get values() {
      return unasked();
    },
  };
  const { layers, parameters, frozen, batchSymbol, fixedBatch, symbols, issues, folded } = analysis;
  return {
    graph,
    get composites() {
      return unasked();
    },
    layers,
    parameters,
    frozen,
    batchSymbol,
    fixedBatch,
    symbols,
    issues,
    get costing() {
      return unasked();
    },
    ...(folded === undefined ? {} : { folded }),
  };
}

const opened = openLayerSpec(
  `
dims: { batch: 2, sequence: 64, d: 256 }
inputs: { tokens: 'int64[batch, sequence]' }
blocks:
  decoder:
    - norm: RMSNorm(d)
    - attn: MultiheadAttention(d, 4, causal=True)
    - res_1: add(attn, input)
    - up: Linear(d, 4*d)
    - act: GELU()
    - down: Linear(4*d, d)
    - res_2: add(down, res_1)
layers:
  - embed: Embedding(1000, d)
  - h: decoder() * 60
  - head: Linear(d, 1000, bias=False)
`,
  'decoder.layers.yaml',
);

test.each<[string, ScenarioRequest]>([
  ['out of memory', { cluster: 'dgx-a100', gpus: 16, batch: 64, precision: 'bf16' }],
  ['on one GPU', { cluster: 'h100-sxm', gpus: 1, batch: 1, precision: 'bf16' }],
  ['sharded', { cluster: 'dgx-h100', gpus: 64, framework: { name: 'pytorch-fsdp', options: {} } }],
  ['in inference', { cluster: 'dgx-a100', gpus: 1, mode: 'inference' }],
])('%s', (_, request) => {
  const { analysis } = opened;
  if (analysis?.folded === undefined) throw new Error('the model is not folded');
  const estimate = estimateModel({ ...opened, analysis: withoutOperators(analysis) }, [
    { dimensions: { sequence: 128 }, ...request },
  ]);
  const { training, cost, issues } = estimate;
  if (training === undefined || cost === undefined) throw new Error('the model is not costed');
  const table = renderTable(makeReport(estimate.opened, training.analysis, cost, issues));
  expect(table).toContain('h[40].down');
});
