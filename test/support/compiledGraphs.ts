/** The rows of `measured/compiled-graphs.csv`, and what this project says of the same graphs. */

import { numberIn, readMeasured } from '../../scripts/measured/readMeasured.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { savedBytes } from '../../server/src/estimate/memory/savedBytes.ts';
import { lowerCompiled } from '../../server/src/frameworks/pytorch/compiled/lowerCompiled.ts';
import { prefersChannelsLast } from '../../server/src/frameworks/pytorch/compiled/prefersChannelsLast.ts';
import { eagerOperators } from '../../server/src/frameworks/pytorch/lowerEager.ts';
import { isMatmulClass } from '../../server/src/operators/definition.ts';
import { openGraph, openWithFusedAttention } from './savedActivations.ts';

export interface CompiledRow {
  readonly model: string;
  readonly graph: string;
  readonly batch: number;
  readonly precision: 'fp32' | 'bf16';
  /** Launches of generated kernels, and what those read and write. */
  readonly forward: number;
  readonly backward: number;
  /** `undefined` in rows from before they were counted. */
  readonly forwardBytes: number | undefined;
  readonly backwardBytes: number | undefined;
  readonly saved: number;
}

/** One entry per model and graph. */
export function compiledRows(): readonly CompiledRow[] {
  return readMeasured('measured', 'compiled-graphs.csv').flatMap((row) =>
    (row.graphs ?? '').split(' ').map((graph) => ({
      model: row.model ?? '',
      graph,
      batch: numberIn(row, 'batch'),
      precision: row.precision === 'bf16' ? 'bf16' : 'fp32',
      forward: numberIn(row, 'triton_forward'),
      backward: numberIn(row, 'triton_backward'),
      forwardBytes: row.bytes_forward === '' ? undefined : numberIn(row, 'bytes_forward'),
      backwardBytes: row.bytes_backward === '' ? undefined : numberIn(row, 'bytes_backward'),
      saved: numberIn(row, 'saved'),
    })),
  );
}

export type CompiledFigures = Readonly<
  Record<'forward' | 'backward' | 'saved' | 'forwardBytes' | 'backwardBytes', number>
>;

export function compiledFigures(
  { graph, batch, precision }: Pick<CompiledRow, 'graph' | 'batch' | 'precision'>,
  compilesLoss = true,
): CompiledFigures {
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
  const eager = eagerOperators(training, precision, 'training', {
    convolutionTf32: true,
    fusedCalls: true,
    // Attention of this one is written out.
    fusedAttention: !graph.includes('prenorm'),
    channelsLast: copied,
  });
  const { operators, generated } = lowerCompiled(
    training,
    eager,
    'training',
    { channelsLast: copied, copied },
    compilesLoss,
  );
  const { activations, weightCopies } = savedBytes({ operators });
  const saved = [...activations, ...weightCopies].reduce((total, size) => total + size, 0);
  const bytesOf = (pass: 'forward' | 'backwardData'): number =>
    operators
      .flatMap((operator) => operator?.[pass] ?? [])
      .filter(({ class: kernel }) => !isMatmulClass(kernel) && kernel !== 'attention')
      .reduce((total, { bytes }) => total + bytes, 0);
  return { ...generated, forwardBytes: bytesOf('forward'), backwardBytes: bytesOf('backwardData'), saved };
}
