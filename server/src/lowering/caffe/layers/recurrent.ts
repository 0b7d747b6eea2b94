/**
 * Recurrent layers over blobs [time, batch, …] with a second bottom that says where sequences begin
 * (src/caffe/layers/recurrent_layer.cpp, lstm_layer.cpp, rnn_layer.cpp).
 *
 * Caffe unrolls them into its own layers; the products are the same as those of the ONNX operators they are lowered
 * to. The factor that forgets the state where a sequence begins is left out: it is one product per element of it.
 */

import { booleanOf, numberOf } from '../../../formats/caffe/syntax.ts';
import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixedProduct, printShape, shapeOf } from '../shapes.ts';

interface Sequence {
  readonly hidden: number;
  /** Features of one step. */
  readonly features: number;
  /** [time, batch, features] */
  readonly steps: Tensor;
}

/** `exposed` is how many states it takes and gives beside the sequence, where it does. */
function sequenceOf(call: CaffeCall, exposed: number): Sequence | undefined {
  const hidden = numberOf(call.parameters, 'num_output');
  if (hidden === undefined || hidden < 1) {
    return call.missing('num_output', 'give the length of the hidden state');
  }
  const [input] = call.inputs;
  const shape = shapeOf(call);
  if (shape === undefined || input === undefined) return undefined;
  if (shape.length < 3) {
    const where = call.layer.bottoms[0]?.span;
    return call.mismatch(`a recurrent layer reads [time, batch, features], not ${printShape(shape)}`, where);
  }
  const features = fixedProduct(shape.slice(2));
  if (features === undefined) return undefined;
  const steps = shape.length === 3 ? input : call.emit('Reshape', [input, call.integers([0, 0, features])]);
  const states = booleanOf(call.parameters, 'expose_hidden') === true ? exposed : 0;
  if (call.inputs.length > 2 + states) {
    return call.unknown('it has a static input, which is left out', [[...shape.slice(0, 2), hidden]]);
  }
  return { hidden, features, steps };
}

/** W_xc, b_c, W_hc of lstm_layer.cpp; the second bias that ONNX has is 0. */
function lowerLstm(call: CaffeCall): readonly Tensor[] | undefined {
  const sequence = sequenceOf(call, 2);
  if (sequence === undefined) return undefined;
  const { hidden, features, steps } = sequence;
  const input = call.weight(0, 'W_xc', [1, 4 * hidden, features]);
  const bias = call.weight(1, 'b_c', [1, 4 * hidden]);
  const recurrent = call.weight(2, 'W_hc', [1, 4 * hidden, hidden]);
  const both = call.emit('Concat', [bias, call.buffer('zeros', [1, 4 * hidden])], { axis: int(1) });
  const initial = call.inputs.slice(2);
  const [states, ...last] = call.emitMany(
    'LSTM',
    [steps, input, recurrent, both, ...(initial.length === 0 ? [] : [undefined, ...initial])],
    call.tops,
    { hidden_size: int(hidden) },
  );
  return [call.emit('Squeeze', [states, call.integers([1])]), ...last];
}

/** Gates of the update and the reset, and what they choose from: three products per step. */
function lowerGru(call: CaffeCall): readonly Tensor[] | undefined {
  const sequence = sequenceOf(call, 1);
  if (sequence === undefined) return undefined;
  const { hidden, features, steps } = sequence;
  const input = call.weight(0, 'W_x', [1, 3 * hidden, features]);
  const bias = call.weight(1, 'b', [1, 3 * hidden]);
  const recurrent = call.weight(2, 'W_h', [1, 3 * hidden, hidden]);
  const both = call.emit('Concat', [bias, call.buffer('zeros', [1, 3 * hidden])], { axis: int(1) });
  const [states] = call.emitMany('GRU', [steps, input, recurrent, both], 1, { hidden_size: int(hidden) });
  return [call.emit('Squeeze', [states, call.integers([1])])];
}

/** W_xh, b_h, W_hh, then W_ho and b_o of each output (rnn_layer.cpp). */
function lowerRnn(call: CaffeCall): readonly Tensor[] | undefined {
  const sequence = sequenceOf(call, 1);
  if (sequence === undefined) return undefined;
  const { hidden, features, steps } = sequence;
  const input = call.weight(0, 'W_xh', [1, hidden, features]);
  const bias = call.weight(1, 'b_h', [1, hidden]);
  const recurrent = call.weight(2, 'W_hh', [1, hidden, hidden]);
  const both = call.emit('Concat', [bias, call.buffer('zeros', [1, hidden])], { axis: int(1) });
  const [states] = call.emitMany('RNN', [steps, input, recurrent, both], 1, { hidden_size: int(hidden) });
  const rows = call.emit('Squeeze', [states, call.integers([1])]);
  const product = call.emit('MatMul', [rows, call.weight(3, 'W_ho', [hidden, hidden])]);
  return [call.emit('Tanh', [call.emit('Add', [product, call.weight(4, 'b_o', [hidden])])])];
}

const recurrent = {
  parameters: 'recurrent_param',
  otherParameters: ['lstm_param', 'gru_param'],
  bottoms: [1, 5],
  tops: [1, 3],
} as const;

/** Types whose blobs have the batch on their second axis. */
export const recurrentTypes: ReadonlySet<string> = new Set([
  'LSTM',
  'RNN',
  'Recurrent',
  'Lstm',
  'SLSTM',
  'RLSTM',
  'GRU',
]);

export const recurrentLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'LSTM',
    aliases: ['Lstm', 'SLSTM', 'RLSTM'],
    documentation: 'Long short-term memory over [time, batch, features].',
    source: 'lstm_layer.cpp',
    ...recurrent,
    lower: lowerLstm,
  },
  {
    type: 'GRU',
    documentation: 'Gated recurrent units over [time, batch, features].',
    source: 'gru_layer.cpp of the forks',
    ...recurrent,
    lower: lowerGru,
  },
  {
    type: 'RNN',
    documentation: 'Recurrent units with tanh over [time, batch, features].',
    source: 'rnn_layer.cpp',
    ...recurrent,
    lower: lowerRnn,
  },
  {
    type: 'Recurrent',
    documentation: 'The common part of recurrent layers, which is none by itself.',
    source: 'recurrent_layer.cpp',
    ...recurrent,
    lower: (call) =>
      call.problem('`Recurrent` is no layer by itself: write LSTM or RNN', call.layer.typeSpan),
  },
];
