/** The rows of `measured/compiled-graphs.csv`, and what this project says of the same graphs. */

import { numberIn, readMeasured } from '../../scripts/measured/readMeasured.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { savedBytes } from '../../server/src/estimate/memory/savedBytes.ts';
import { lowerCompiled } from '../../server/src/frameworks/pytorch/compiled/lowerCompiled.ts';
import { prefersChannelsLast } from '../../server/src/frameworks/pytorch/compiled/prefersChannelsLast.ts';
import { eagerOperators } from '../../server/src/frameworks/pytorch/lowerEager.ts';
import { openGraph, openWithFusedAttention } from './savedActivations.ts';

export interface CompiledRow {
  readonly model: string;
  readonly graph: string;
  readonly batch: number;
  readonly forward: number;
  readonly backward: number;
  readonly saved: number;
}

/** One entry per model and graph. */
export function compiledRows(): readonly CompiledRow[] {
  return readMeasured('measured', 'compiled-graphs.csv').flatMap((row) =>
    (row.graphs ?? '').split(' ').map((graph) => ({
      model: row.model ?? '',
      graph,
      batch: numberIn(row, 'batch'),
      forward: numberIn(row, 'triton_forward'),
      backward: numberIn(row, 'triton_backward'),
      saved: numberIn(row, 'saved'),
    })),
  );
}

export type CompiledFigures = Pick<CompiledRow, 'forward' | 'backward' | 'saved'>;

export function compiledFigures({ graph, batch }: Pick<CompiledRow, 'graph' | 'batch'>): CompiledFigures {
  // The networks that were compiled have `scaled_dot_product_attention`. TinyLlama's spec is not among them: its fused
  // attention reads shared keys where they are, for which transformers made copies.
  const { analysis } = graph.endsWith('.layers.yaml') ? openWithFusedAttention(graph) : openGraph(graph);
  if (analysis === undefined) throw new Error(`${graph} cannot be read`);
  const bindings = new Map(
    analysis.symbols.flatMap(({ name, default: size }) =>
      size === undefined ? [] : [[name, size] as const],
    ),
  );
  if (analysis.batchSymbol !== undefined) bindings.set(analysis.batchSymbol, batch);
  const training = bindTrainingGraph(analysis, bindings, 'training');
  const copied = prefersChannelsLast(training, 'training');
  const eager = eagerOperators(training, 'fp32', 'training', {
    convolutionTf32: true,
    fusedCalls: true,
    fusedAttention: true,
    channelsLast: copied,
  });
  const { operators, generated } = lowerCompiled(training, eager, 'training', {
    channelsLast: copied,
    copied,
  });
  const saved = savedBytes({ operators }).activations.reduce((total, size) => total + size, 0);
  return { ...generated, saved };
}
