/** The rows of `measured/compiled-graphs.csv`, and what this project says of the same graphs. */

import { readFileSync } from 'node:fs';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { savedBytes } from '../../server/src/estimate/savedBytes.ts';
import { lowerCompiled } from '../../server/src/frameworks/pytorch/compiled/lowerCompiled.ts';
import { prefersChannelsLast } from '../../server/src/frameworks/pytorch/compiled/prefersChannelsLast.ts';
import { eagerOperators } from '../../server/src/frameworks/pytorch/lowerEager.ts';
import { openGraph } from './savedActivations.ts';

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
  const [header = '', ...lines] = readFileSync('measured/compiled-graphs.csv', 'utf8').trim().split('\n');
  const columns = header.split(',');
  return lines.flatMap((line) => {
    const cells = [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(
      ([, quoted, plain]) => quoted ?? plain ?? '',
    );
    const cell = (name: string): string => cells[columns.indexOf(name)] ?? '';
    return cell('graphs')
      .split(' ')
      .map((graph) => ({
        model: cell('model'),
        graph,
        batch: Number(cell('batch')),
        forward: Number(cell('triton_forward')),
        backward: Number(cell('triton_backward')),
        saved: Number(cell('saved')),
      }));
  });
}

export type CompiledFigures = Pick<CompiledRow, 'forward' | 'backward' | 'saved'>;

export function compiledFigures({ graph, batch }: Pick<CompiledRow, 'graph' | 'batch'>): CompiledFigures {
  const { analysis } = openGraph(graph);
  if (analysis === undefined) throw new Error(`${graph} cannot be read`);
  const bindings = new Map(
    analysis.symbols.flatMap(({ name, default: size }) =>
      size === undefined ? [] : [[name, size] as const],
    ),
  );
  if (analysis.batchSymbol !== undefined) bindings.set(analysis.batchSymbol, batch);
  const training = bindTrainingGraph(analysis, bindings, 'training');
  const copied = prefersChannelsLast(training);
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
