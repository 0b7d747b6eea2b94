/**
 * Recurrent layers.
 *
 * FLOPs per step and direction are those of the two matrix products of the cell, 2·batch·gates·hidden·(input +
 * hidden): 4 gates for LSTM, 3 for GRU, 1 for RNN, as `torch.nn.LSTMCell` and its siblings compute. Each gradient
 * costs the same again, but for the states before the first step, which have a gradient only where they are computed
 * themselves. cuDNN keeps the activated gates of every step (its reserve space), and LSTM the cell state.
 *
 * One product takes the inputs of all steps, one product a step the states, and the weight gradients sum over all steps at
 * once (Appleyard, Kočiský, Blunsom, "Optimizing performance of recurrent neural networks on GPUs", arXiv 1604.01946,
 * sections 3.1 to 3.3).
 */

import { type Dimension, floorDivideDimensions } from '../../model/dimension.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  RepeatedProduct,
  SavedTensor,
} from '../definition.ts';
import { define } from '../vocabulary/define.ts';
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

interface Cell {
  readonly type: string;
  readonly gates: number;
  /** Outputs: all hidden states, the last one, and for LSTM the last cell state. */
  readonly outputs: 2 | 3;
  readonly documentation: string;
}

const cells: readonly Cell[] = [
  {
    type: 'LSTM',
    gates: 4,
    outputs: 3,
    documentation: 'long short-term memory over a sequence (ONNX Operators, LSTM-22)',
  },
  {
    type: 'GRU',
    gates: 3,
    outputs: 2,
    documentation: 'gated recurrent units over a sequence (ONNX Operators, GRU-22)',
  },
  {
    type: 'RNN',
    gates: 1,
    outputs: 2,
    documentation: 'simple recurrent units over a sequence (ONNX Operators, RNN-22)',
  },
];

export const recurrentOperators: readonly OperatorDefinition[] = cells.map((cell) =>
  define({
    type: cell.type,
    documentation: cell.documentation,
    infer: (context) => inferRecurrent(context, cell),
    cost: (context) => recurrentCost(context, cell),
  }),
);

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
      ? (recurrence?.[2] ?? floorDivideDimensions(context.inputShape(1)?.[1] ?? 0, cell.gates))
      : context.int('hidden_size', 0);
  const states = batchFirst ? [batch, directions, hidden] : [directions, batch, hidden];
  const outputs = [
    tensor(
      elementType,
      batchFirst ? [batch, length, directions, hidden] : [length, directions, batch, hidden],
    ),
    ...Array.from({ length: cell.outputs - 1 }, () => tensor(elementType, states)),
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
  const hidden = recurrence.dimensions[2] ?? 1;
  const length = context.int('layout', 0) === 1 ? second : first;
  const gates = steps * directions * cell.gates * hidden;
  const states = steps * directions * hidden;
  const outputs = Array.from({ length: context.outputCount }, (_, index) => context.output(index));
  const flops = 2 * gates * (size + hidden);
  const wide = cell.gates * hidden;
  const batch = steps / Math.max(1, length);
  const product = (m: number, n: number, k: number, count: number): RepeatedProduct => ({
    shape: { kind: 'product', batch: 1, m, n, k },
    count: count * directions,
  });
  const tensors = [input, weight, recurrence, context.input(3), ...outputs];
  // The recurrent weights are read again in every step; one product serves all inputs at once.
  const again = trafficOfElements(recurrence, recurrence.elements * Math.max(0, length - 1));
  const reserve = trafficOfElements(input, gates + (cell.type === 'LSTM' ? states : 0));
  const forward = work({
    flops,
    operations: 2 * gates + 4 * states,
    traffic: addTraffic(trafficOf(...tensors), again),
    kernels: 1 + 2 * length * directions,
    products: [product(steps, wide, size, 1), product(batch, wide, hidden, length)],
  });
  if (!needsGradient(context)) return cost('recurrent', forward);
  // Whatever needs a gradient, the states are walked back through time, to the first step: its product is for the
  // initial states alone.
  const recurrent = 2 * gates * hidden;
  const toInitial = recurrent / Math.max(1, length);
  const shares: Readonly<Record<number, number>> = {
    0: 2 * gates * size,
    1: 2 * gates * size,
    2: recurrent,
    5: toInitial,
  };
  const products: Readonly<Record<number, RepeatedProduct>> = {
    0: product(steps, size, wide, 1),
    1: product(wide, size, steps, 1),
    2: product(wide, hidden, steps, 1),
    5: product(batch, hidden, wide, 1),
  };
  const { data, weight: weightWork } = backwardOf(context, (index) =>
    work({
      flops: shares[index] ?? 0,
      products: listOf(products[index]),
      traffic: trafficOf(context.input(index)),
      kernels: index <= 2 ? 1 : 0,
    }),
  );
  const throughTime = work({
    flops: recurrent - toInitial,
    operations: 4 * gates,
    traffic: addTraffic(trafficOf(...outputs), again, reserve),
    kernels: 2 * length * directions,
    products: [product(batch, hidden, wide, length - 1)],
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

const listOf = (product: RepeatedProduct | undefined): readonly RepeatedProduct[] =>
  product === undefined ? [] : [product];
