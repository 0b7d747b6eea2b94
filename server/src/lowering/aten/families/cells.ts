/**
 * One step of a recurrent layer, as `LSTMCell`, `GRUCell` and `RNNCell` call it: two products, then gates. On a GPU, PyTorch
 * has one kernel for the gates (`_thnn_fused_lstm_cell`); here they are the operators of its equations
 * (torch/nn/modules/rnn.py, PyTorch 2.13).
 */

import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { AtenCall, LowerAten } from '../atenCall.ts';

/** Both products of a step, with their biases. */
function products(call: AtenCall, hidden: Tensor): readonly (readonly [Tensor])[] | undefined {
  const [input, first, second] = ['input', 'w_ih', 'w_hh'].map((name) => call.tensor(name));
  if (input === undefined || first === undefined || second === undefined) return undefined;
  return [
    call.emit('Gemm', [input, first, call.tensor('b_ih')], { transB: int(1) }),
    call.emit('Gemm', [hidden, second, call.tensor('b_hh')], { transB: int(1) }),
  ];
}

/** Gates side by side, each as wide as the state. */
function gates(call: AtenCall, whole: Tensor, hidden: Tensor, count: number): readonly Tensor[] | undefined {
  const width = hidden.shape?.at(-1);
  if (typeof width !== 'number') return undefined;
  const widths = call.integers(Array.from({ length: count }, () => width));
  return call.emitMany('Split', [whole, widths], count, { axis: int(-1) });
}

const lstm: LowerAten = (call) => {
  const [hidden, state] = call.list('hx') ?? [];
  const [input, recurrent] = (hidden && products(call, hidden)) ?? [];
  if (hidden === undefined || state === undefined || input === undefined || recurrent === undefined)
    return undefined;
  const [whole] = call.emit('Add', [...input, ...recurrent]);
  const [taken, kept, added, given] = gates(call, whole, hidden, 4) ?? [];
  if (given === undefined) return undefined;
  const old = call.emit('Mul', [...call.emit('Sigmoid', [kept]), state]);
  const fresh = call.emit('Mul', [...call.emit('Sigmoid', [taken]), ...call.emit('Tanh', [added])]);
  const [next] = call.emit('Add', [...old, ...fresh]);
  const [output] = call.emit('Mul', [...call.emit('Sigmoid', [given]), ...call.emit('Tanh', [next])]);
  return [output, next];
};

const gru: LowerAten = (call) => {
  const hidden = call.tensor('hx');
  const [input, recurrent] = (hidden && products(call, hidden)) ?? [];
  if (hidden === undefined || input === undefined || recurrent === undefined) return undefined;
  const [resetOfInput, updateOfInput, newOfInput] = gates(call, input[0], hidden, 3) ?? [];
  const [resetOfState, updateOfState, newOfState] = gates(call, recurrent[0], hidden, 3) ?? [];
  if (newOfInput === undefined || newOfState === undefined) return undefined;
  const reset = call.emit('Sigmoid', call.emit('Add', [resetOfInput, resetOfState]));
  const update = call.emit('Sigmoid', call.emit('Add', [updateOfInput, updateOfState]));
  const added = call.emit('Mul', [...reset, newOfState]);
  const fresh = call.emit('Tanh', call.emit('Add', [newOfInput, ...added]));
  const difference = call.emit('Sub', [hidden, ...fresh]);
  return call.emit('Add', [...call.emit('Mul', [...difference, ...update]), ...fresh]);
};

const simple =
  (activation: 'Tanh' | 'Relu'): LowerAten =>
  (call) => {
    const hidden = call.tensor('hx');
    const [input, recurrent] = (hidden && products(call, hidden)) ?? [];
    if (input === undefined || recurrent === undefined) return undefined;
    return call.emit(activation, call.emit('Add', [...input, ...recurrent]));
  };

export const cellOperators: Readonly<Record<string, LowerAten>> = {
  'lstm_cell.default': lstm,
  'gru_cell.default': gru,
  'rnn_tanh_cell.default': simple('Tanh'),
  'rnn_relu_cell.default': simple('Relu'),
};
