/**
 * Recurrent layers.
 *
 * FLOPs per step and direction are those of the two matmuls of the cell, 2·batch·gates·hidden·(input +
 * hidden): 4 gates for LSTM, 3 for GRU, 1 for RNN, as `torch.nn.LSTMCell` and its siblings compute. Each gradient
 * costs the same again, but for the states before the first step, which have a gradient only where they are computed
 * themselves. cuDNN keeps the activated gates of every step (its reserve space), and LSTM the cell state.
 *
 * One matmul takes the inputs of all steps, one matmul a step the states, and the weight gradients sum over all steps at
 * once (Appleyard, Kočiský, Blunsom, "Optimizing performance of recurrent neural networks on GPUs", arXiv 1604.01946,
 * sections 3.1 to 3.3).
 */

import { type Dimension, floorDivideDimensions, unknownDimension } from '../../model/dimension.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  MatmulLayout,
  OperatorCost,
  OperatorDefinition,
  RepeatedMatmul,
  SavedTensor,
} from '../definition.ts';
import { recurrentMap } from '../dimensions/sequences.ts';
import { define, ownDomain } from '../vocabulary/define.ts';
import { data, detached, noRule, weight } from '../vocabulary/facts.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  tensor,
  tensorOfUnknownShape,
  whyUnknown,
} from '../vocabulary/types.ts';
import {
  addTraffic,
  addWork,
  backwardOf,
  cost,
  needsGradient,
  savedInput,
  savedOutput,
  trafficOf,
  trafficOfElements,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

interface Cell extends Pick<OperatorDefinition, 'type' | 'documentation' | 'inputs' | 'pytorch' | 'runner'> {
  readonly gates: number;
  /** Outputs: all hidden states, the last one, and for LSTM the last cell state. */
  readonly outputs: 2 | 3;
  /** Its states are projected to a smaller size before they are given out and fed back, by the weight at this input. */
  readonly projection?: number;
}

/** Inputs of every cell, as the ONNX documentation names them. */
const states = [
  data('X'),
  weight('W'),
  weight('R'),
  weight('B'),
  detached('sequence_lens'),
  data('initial_h'),
] as const;

const cells: readonly Cell[] = [
  {
    type: 'LSTM',
    gates: 4,
    outputs: 3,
    documentation: 'long short-term memory over a sequence (ONNX Operators, LSTM-22)',
    inputs: [...states, data('initial_c'), weight('P')],
    pytorch: { layer: 'LSTM', autocast: 'half' },
    runner: { rule: 'LSTM' },
  },
  {
    type: 'GRU',
    gates: 3,
    outputs: 2,
    documentation: 'gated recurrent units over a sequence (ONNX Operators, GRU-22)',
    inputs: states,
    pytorch: { layer: 'GRU', autocast: 'half' },
    runner: { rule: 'GRU' },
  },
  {
    type: 'RNN',
    gates: 1,
    outputs: 2,
    documentation: 'simple recurrent units over a sequence (ONNX Operators, RNN-22)',
    inputs: states,
    pytorch: { layer: 'RNN', autocast: 'half' },
    runner: { rule: 'RNN' },
  },
];

/**
 * `torch.nn.LSTM(proj_size=…)`: inputs as ONNX's LSTM has them, with the projection [directions, projected, hidden] in the
 * place of peepholes (Sak, Senior, Beaufays, "Long short-term memory based recurrent neural network architectures",
 * arXiv 1402.1128, equation 8).
 */
const projectedCell: Cell = {
  type: 'ProjectedLSTM',
  gates: 4,
  outputs: 3,
  projection: 7,
  documentation:
    'long short-term memory whose states are projected (torch.nn.LSTM of PyTorch 2.13, ProjectedLSTM-1)',
  inputs: [...states, data('initial_c'), weight('P')],
  pytorch: { layer: 'ProjectedLSTM', autocast: 'half' },
  runner: noRule.unwritten,
};

export const recurrentOperators: readonly OperatorDefinition[] = [...cells, projectedCell].map((cell) =>
  define({
    ...cell,
    ...(cell.projection === undefined ? {} : { domain: ownDomain }),
    infer: (context) => inferRecurrent(context, cell),
    dimensions: recurrentMap,
    cost: (context) => recurrentCost(context, cell),
  }),
);

/** The size of the state by weights [directions, gates · size, input]. */
function partOfGates(context: InferenceContext, gates: number): Dimension {
  const rows = context.inputShape(1)?.[1];
  return rows === undefined ? unknownDimension(whyUnknown(context, 1)) : floorDivideDimensions(rows, gates);
}

/** X is [seq, batch, input], or [batch, seq, input] with `layout` 1; outputs follow (ONNX Operators, LSTM-14). */
function inferRecurrent(context: InferenceContext, cell: Cell): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) {
    const unknown = tensorOfUnknownShape(elementType, whyUnknown(context, 0));
    return { outputs: Array.from({ length: cell.outputs }, () => unknown) };
  }
  const [first, second, size] = input;
  if (first === undefined || second === undefined || size === undefined) {
    return mismatch(`${cell.type} takes an input [sequence, batch, size], not ${printShape(input)}`);
  }
  const batchFirst = context.int('layout', 0) === 1;
  const [length, batch] = batchFirst ? [second, first] : [first, second];
  const directions = context.string('direction', 'forward') === 'bidirectional' ? 2 : 1;
  const recurrence = context.inputShape(2);
  const hidden: Dimension =
    context.attribute('hidden_size') === undefined
      ? (recurrence?.[2] ?? partOfGates(context, cell.gates))
      : context.int('hidden_size', 0);
  // What is given out and fed back; the cell's own state keeps its size.
  const given: Dimension =
    cell.projection === undefined ? hidden : (context.inputShape(cell.projection)?.[1] ?? hidden);
  const states = (width: Dimension): readonly Dimension[] =>
    batchFirst ? [batch, directions, width] : [directions, batch, width];
  const outputs = [
    tensor(elementType, batchFirst ? [batch, length, directions, given] : [length, directions, batch, given]),
    tensor(elementType, states(given)),
    ...(cell.outputs === 3 ? [tensor(elementType, states(hidden))] : []),
  ];
  const weight = context.inputShape(1);
  const expected = weight?.[2];
  if (typeof expected === 'number' && typeof size === 'number' && expected !== size) {
    return mismatch(
      `the input ${printShape(input)} has ${size} elements per step, but the weight ${printShape(weight ?? [])} takes ${expected}`,
      ...outputs,
    );
  }
  return { outputs };
}

function recurrentCost(context: CostContext, cell: Cell): OperatorCost {
  const input = context.input(0);
  const weight = context.input(1);
  const recurrence = context.input(2);
  if (input === undefined || weight === undefined || recurrence === undefined) return unknownShapeCost;
  const [first = 1, second = 1, size = 1] = input.dimensions;
  const steps = first * second;
  const directions = weight.dimensions[0] ?? 1;
  const hidden = (weight.dimensions[1] ?? cell.gates) / cell.gates;
  /** Size of the state that is fed back. */
  const fed = recurrence.dimensions[2] ?? 1;
  const length = context.int('layout', 0) === 1 ? second : first;
  const gates = steps * directions * cell.gates * hidden;
  const states = steps * directions * hidden;
  const outputs = Array.from({ length: context.outputCount }, (_, index) => context.output(index));
  const projection = cell.projection === undefined ? undefined : context.input(cell.projection);
  const projecting = projection === undefined ? 0 : 2 * states * fed;
  const flops = 2 * gates * (size + fed) + projecting;
  const wide = cell.gates * hidden;
  const batch = steps / Math.max(1, length);
  // cuDNN transposes weights before the first step (Appleyard, Kočiský, Blunsom, arXiv 1604.01946, section 3.2).
  const matmul = (
    m: number,
    n: number,
    k: number,
    count: number,
    layout: MatmulLayout = 'nn',
  ): RepeatedMatmul => ({
    shape: { kind: 'matmul', layout, batch: 1, m, n, k },
    count: count * directions,
  });
  const tensors = [input, weight, recurrence, context.input(3), projection, ...outputs];
  // The recurrent weights are read again in every step; one matmul serves all inputs at once.
  const read = recurrence.elements + (projection === undefined ? 0 : projection.elements);
  const again = trafficOfElements(recurrence, read * Math.max(0, length - 1));
  // A projection is taken of states that are given out nowhere else.
  const kept = (cell.outputs === 3 ? states : 0) + (projection === undefined ? 0 : states);
  const reserve = trafficOfElements(input, gates + kept);
  const kernelsOfStep = projection === undefined ? 2 : 3;
  const forward = work({
    flops,
    operations: 2 * gates + 4 * states,
    traffic: addTraffic(trafficOf(...tensors), again),
    kernels: 1 + kernelsOfStep * length * directions,
    matmuls: [
      matmul(steps, wide, size, 1),
      matmul(batch, wide, fed, length),
      ...(projection === undefined ? [] : [matmul(batch, fed, hidden, length)]),
    ],
  });
  if (!needsGradient(context)) return cost('recurrent', forward);
  // Whatever needs a gradient, the states are walked back through time, to the first step: its matmul is for the
  // initial states alone.
  const recurrent = 2 * gates * fed;
  const toInitial = recurrent / Math.max(1, length);
  const shares: Readonly<Record<number, number>> = {
    0: 2 * gates * size,
    1: 2 * gates * size,
    2: recurrent,
    5: toInitial,
    ...(cell.projection === undefined ? {} : { [cell.projection]: projecting }),
  };
  const matmuls: Readonly<Record<number, RepeatedMatmul>> = {
    0: matmul(steps, size, wide, 1),
    1: matmul(wide, size, steps, 1, 'nt'),
    2: matmul(wide, fed, steps, 1, 'nt'),
    5: matmul(batch, fed, wide, 1),
    ...(cell.projection === undefined ? {} : { [cell.projection]: matmul(fed, hidden, steps, 1, 'nt') }),
  };
  const { data, weight: weightWork } = backwardOf(context, (index) =>
    work({
      flops: shares[index] ?? 0,
      matmuls: listOf(matmuls[index]),
      traffic: trafficOf(context.input(index)),
      kernels: index <= 2 || index === cell.projection ? 1 : 0,
    }),
  );
  const throughTime = work({
    flops: recurrent - toInitial + projecting,
    operations: 4 * gates,
    traffic: addTraffic(trafficOf(...outputs), again, reserve),
    kernels: kernelsOfStep * length * directions,
    matmuls: [
      matmul(batch, fed, wide, length - 1),
      ...(projection === undefined ? [] : [matmul(batch, hidden, fed, length)]),
    ],
  });
  const saved: readonly SavedTensor[] = [
    savedInput(0),
    ...(outputs[0] === undefined ? [] : [savedOutput(0)]),
    { kind: 'extra', name: 'gates of every step', traffic: reserve },
  ];
  return cost('recurrent', forward, {
    data: addWork(data, throughTime),
    weight: weightWork,
    saved,
  });
}

const listOf = (matmul: RepeatedMatmul | undefined): readonly RepeatedMatmul[] =>
  matmul === undefined ? [] : [matmul];
