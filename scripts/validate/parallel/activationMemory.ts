/**
 * Memory of the first stage by Megatron-LM's paper on activations (Korthikanti et al., arXiv:2205.05198, figures 1 and 7): weights with
 * the optimizer, and activations, without and with sequence parallelism and recomputation. Recomputing the core of attention keeps what a
 * fused kernel of attention keeps.
 */

import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { type MeasuredRow, numberIn } from '../../measured/readMeasured.ts';
import { machine } from '../scaling/clusters.ts';
import { gptSpec } from './layoutSpecs.ts';
import { frameworkOf } from './parallelRow.ts';

export interface JudgedActivations {
  readonly rows: number;
  /** Predicted over published. */
  readonly states: readonly number[];
  readonly activations: readonly number[];
  /** Of activations over those without a technique. */
  readonly shares: readonly number[];
}

/** The models that the paper trains with three chunks of a stage. */
const interleaved: ReadonlySet<string | undefined> = new Set(['gpt3-175B', 'turing-530B']);

export function judgeActivations(rows: readonly MeasuredRow[]): JudgedActivations {
  const predicted = rows.map((row) => ({ row, ...memoryOf(row) }));
  const whole = new Map(
    predicted
      .filter(({ row }) => row.activations_percent_of_none === '100')
      .map(({ row, activations }) => [row.model, activations]),
  );
  return {
    rows: rows.length,
    states: predicted.flatMap(({ row, states }) =>
      row.parameters_optimizer_gib ? [states / (numberIn(row, 'parameters_optimizer_gib') * 2 ** 30)] : [],
    ),
    activations: predicted.flatMap(({ row, activations }) =>
      row.activations_gib ? [activations / (numberIn(row, 'activations_gib') * 2 ** 30)] : [],
    ),
    shares: predicted.flatMap(({ row, activations }) => {
      const all = whole.get(row.model);
      if (!row.activations_percent_of_none || all === undefined || activations === all) return [];
      return [activations / all / (numberIn(row, 'activations_percent_of_none') / 100)];
    }),
  };
}

function memoryOf(row: MeasuredRow): { readonly states: number; readonly activations: number } {
  const kind = row.kind ?? '';
  const isFused = kind.includes('selective');
  const opened = openLayerSpec(
    gptSpec(
      {
        layers: numberIn(row, 'layers'),
        hidden: numberIn(row, 'hidden'),
        heads: numberIn(row, 'heads'),
        seq: numberIn(row, 'seq'),
        vocabulary: 51200,
      },
      { core: isFused ? 'fused' : 'scores' },
    ),
    'gpt.layers.yaml',
  );
  const pipeline = numberIn(row, 'pp');
  const { cost } = estimateModel(
    opened,
    [
      {
        optimizer: 'adam',
        precision: 'fp16',
        gpus: numberIn(row, 'gpus'),
        batch: numberIn(row, 'micro_batch'),
        accumulate: numberIn(row, 'global_batch') / numberIn(row, 'micro_batch'),
        ...(kind.includes('full') ? { checkpoint: 'block' } : {}),
        ...frameworkOf(isFused ? 'megatron' : 'megatron,attention=eager'),
        parallel: {
          tensor: numberIn(row, 'tp'),
          pipeline,
          ...(interleaved.has(row.model) ? { chunks: 3 } : {}),
          ...(kind.includes('sequence') ? { sequence: true } : {}),
        },
      },
    ],
    machine('dgx-a100'),
  );
  if (cost === undefined) throw new Error(`${row.model} cannot be costed`);
  const { parameters, gradients, optimizerState, activations } = cost.totals.memory;
  return { states: parameters + gradients + optimizerState, activations };
}
