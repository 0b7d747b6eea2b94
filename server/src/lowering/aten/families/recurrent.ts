/** Recurrent layers over sequences, one operator of ONNX a layer, as layer specs lower `LSTM`, `GRU` and `RNN`. */

import { ownDomain } from '../../../operators/vocabulary/define.ts';
import { int, ints, type NodeAttributes, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import type { AtenCall, LowerAten } from '../atenCall.ts';
import { packedWeights } from '../recurrentWeights.ts';

const sequence =
  (type: 'LSTM' | 'GRU' | 'RNN', nonlinearity?: 'Relu'): LowerAten =>
  (call) => {
    const input = call.tensor('input');
    const layers = call.numberOr('num_layers', 1);
    const directions = call.flag('bidirectional', false) ? 2 : 1;
    const hasBiases = call.flag('has_biases', false);
    const packs = packedWeights(call.names('params'), { layers, directions, hasBiases });
    const states = type === 'LSTM' ? call.list('hx') : [call.tensor('hx')].flatMap((state) => state ?? []);
    if (input?.shape?.length !== 3 || packs.length !== layers || states === undefined) return undefined;
    const isBatchFirst = call.flag('batch_first', false);
    return layersOf(call, { type, nonlinearity, input, packs, states, directions, isBatchFirst });
  };

interface Sequence {
  readonly type: 'LSTM' | 'GRU' | 'RNN';
  readonly nonlinearity: 'Relu' | undefined;
  readonly input: Tensor;
  readonly packs: ReturnType<typeof packedWeights>;
  readonly states: readonly Tensor[];
  readonly directions: number;
  readonly isBatchFirst: boolean;
}

function layersOf(call: AtenCall, of: Sequence): ReturnType<LowerAten> {
  const { type, nonlinearity, packs, directions, isBatchFirst } = of;
  const turned = (state: Tensor | undefined) =>
    isBatchFirst && state !== undefined
      ? call.emit('Transpose', [state], { perm: ints([1, 0, 2]) })[0]
      : state;
  const starts = of.states.map((state) => initialStates(call, state, packs.length, directions));
  const lasts: Tensor[][] = of.states.map(() => []);
  let output = of.input;
  for (const [layer, pack] of packs.entries()) {
    const weights = new Map(pack.map(({ members, kind }) => [kind, call.stored(members[0] ?? '')]));
    const [recurrent, projection] = [weights.get('state weight'), weights.get('projection')];
    const width = recurrent?.shape?.[2];
    const hidden = weights.has('projection') ? projection?.shape?.[2] : width;
    if ([...weights.values()].includes(undefined)) return undefined;
    if (typeof width !== 'number' || typeof hidden !== 'number') return undefined;
    const dropped = layer === 0 ? [output] : between(call, output);
    const inputs = [
      ...dropped,
      weights.get('input weight'),
      recurrent,
      weights.get('bias'),
      undefined,
      ...starts.map((parts) => turned(parts[layer])),
      ...(projection === undefined ? [] : [projection]),
    ];
    const [cell, domain] = projection === undefined ? [type, ''] : ['ProjectedLSTM', ownDomain];
    const attributes: NodeAttributes = {
      hidden_size: int(hidden),
      direction: text(directions === 2 ? 'bidirectional' : 'forward'),
      ...(nonlinearity === undefined
        ? {}
        : {
            activations: { kind: 'strings', value: Array.from({ length: directions }, () => nonlinearity) },
          }),
      // PyTorch's GRU multiplies by the reset gate after the matrix product.
      ...(type === 'GRU' ? { linear_before_reset: int(1) } : {}),
      layout: int(isBatchFirst ? 1 : 0),
    };
    const [every, ...last] = call.emitMany(cell, inputs, of.states.length + 1, attributes, domain);
    const all = isBatchFirst ? every : call.emit('Transpose', [every], { perm: ints([0, 2, 1, 3]) })[0];
    [output] = call.emit('Reshape', [all, call.integers([0, 0, directions * width])]);
    for (const [index, state] of last.entries()) lasts[index]?.push(turned(state) ?? state);
  }
  return [output, ...lasts.flatMap((parts) => joined(call, parts))];
}

const joined = (call: AtenCall, parts: readonly Tensor[]): readonly Tensor[] =>
  parts.length === 1 ? parts : call.emit('Concat', parts, { axis: int(0) });

/** Dropout between layers, in training. */
function between(call: AtenCall, output: Tensor): readonly [Tensor] {
  const rate = call.numberOr('dropout', 0);
  if (rate === 0 || !call.flag('train', false)) return [output];
  return call.emit('Dropout', [output, call.scalar(rate, 'float32'), call.scalar(1, 'bool')]);
}

/** The first states of every layer, cut from one tensor [layers·directions, batch, hidden]. */
function initialStates(
  call: AtenCall,
  states: Tensor,
  layers: number,
  directions: number,
): readonly (Tensor | undefined)[] {
  if (layers === 1) return [states];
  const parts = call.integers(Array.from({ length: layers }, () => directions));
  return call.emitMany('Split', [states, parts], layers, { axis: int(0) });
}

export const recurrentOperators: Readonly<Record<string, LowerAten>> = {
  'lstm.input': sequence('LSTM'),
  'gru.input': sequence('GRU'),
  'rnn_tanh.input': sequence('RNN'),
  'rnn_relu.input': sequence('RNN', 'Relu'),
};
