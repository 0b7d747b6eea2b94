/**
 * One step of a recurrent layer behind its two products. On a GPU, `LSTMCell` and `GRUCell` launch one kernel for the gates; exporters
 * write its equations out, and so do models that have cells of their own.
 *
 * The kernel keeps both products, the state that it reads, and the gates (PyTorch 2.13 tools/autograd/derivatives.yaml,
 * `_thnn_fused_lstm_cell` and `_thnn_fused_gru_cell`; aten/src/ATen/native/cuda/RNN.cu has the sizes of what it calls workspace).
 */

import type { Graph, Operator } from '../model/graph.ts';
import type { CompositeMatch, CompositePattern } from './composite.ts';
import { matchOf, otherOperand, producerOf, readersOf, soleReader } from './flow.ts';

/** c′ = σ(f)·c + σ(i)·tanh(g), h′ = σ(o)·tanh(c′): torch/nn/modules/rnn.py, `LSTMCell`. */
export const lstmCell: CompositePattern = {
  kind: 'recurrent-cell',
  name: 'LSTMCell',
  anchors: ['Split'],
  modules: ['LSTMCell'],
  autocast: 'half',
  match: matchLstm,
};

/** h′ = (h − n)·σ(z) + n, n = tanh(nₓ + σ(r)·nₕ): torch/nn/modules/rnn.py, `GRUCell`. */
export const gruCell: CompositePattern = {
  kind: 'recurrent-cell',
  name: 'GRUCell',
  anchors: ['Tanh'],
  modules: ['GRUCell'],
  autocast: 'half',
  match: matchGru,
};

function matchLstm(graph: Graph, split: Operator): CompositeMatch | undefined {
  const sum = producerOf(graph, split.inputs[0]);
  if (split.outputs.length !== 4 || sum?.type !== 'Add' || soleReader(graph, sum.outputs[0]) !== split)
    return undefined;
  const parts = split.outputs.map((name) => passed(graph, name));
  const gates = parts.map(({ name }) => soleReader(graph, name));
  const [taken, kept, added, given] = gates;
  if (taken?.type !== 'Sigmoid' || kept?.type !== 'Sigmoid' || given?.type !== 'Sigmoid') return undefined;
  if (added?.type !== 'Tanh') return undefined;
  const fresh = soleReader(graph, taken.outputs[0]);
  const old = soleReader(graph, kept.outputs[0]);
  const next = soleReader(graph, fresh?.outputs[0]);
  const result = soleReader(graph, given.outputs[0]);
  if (fresh?.type !== 'Mul' || soleReader(graph, added.outputs[0]) !== fresh) return undefined;
  if (old?.type !== 'Mul' || next?.type !== 'Add' || soleReader(graph, old.outputs[0]) !== next)
    return undefined;
  const shown = producerOf(graph, otherOperand(result ?? next, given.outputs[0] ?? ''));
  if (result?.type !== 'Mul' || shown?.type !== 'Tanh' || shown.inputs[0] !== next.outputs[0])
    return undefined;
  if (soleReader(graph, shown.outputs[0]) !== result) return undefined;
  const state = otherOperand(old, kept.outputs[0] ?? '') ?? '';
  const passes = parts.flatMap(({ operators }) => operators);
  return matchOf(
    [sum, split, ...passes, taken, kept, added, given, fresh, old, next, shown, result],
    { state, next: next.outputs[0] ?? '', result: result.outputs[0] ?? '' },
    'several',
  );
}

function matchGru(graph: Graph, fresh: Operator): CompositeMatch | undefined {
  const sum = producerOf(graph, fresh.inputs[0]);
  if (sum?.type !== 'Add' || soleReader(graph, sum.outputs[0]) !== fresh) return undefined;
  const product = sum.inputs.map((name) => producerOf(graph, name)).find((each) => each?.type === 'Mul');
  const reset = product?.inputs
    .map((name) => producerOf(graph, name))
    .find((each) => each?.type === 'Sigmoid');
  if (product === undefined || reset === undefined) return undefined;
  const newOfInput = partOf(graph, otherOperand(sum, product.outputs[0] ?? ''));
  const newOfState = partOf(graph, otherOperand(product, reset.outputs[0] ?? ''));
  if (newOfInput?.at !== 2 || newOfState?.at !== 2 || newOfInput.split === newOfState.split) return undefined;
  const splits = [newOfInput.split, newOfState.split];
  const [ofReset, resets] = gateOf(graph, reset, splits, 0) ?? [];
  const readers = readersOf(graph, fresh.outputs[0]);
  const difference = readers.find(({ type }) => type === 'Sub');
  const result = readers.find(({ type }) => type === 'Add');
  const changed = soleReader(graph, difference?.outputs[0]);
  if (difference === undefined || difference.inputs[1] !== fresh.outputs[0]) return undefined;
  if (readers.length !== 2 || changed?.type !== 'Mul') return undefined;
  if (result === undefined || soleReader(graph, changed.outputs[0]) !== result) return undefined;
  const update = producerOf(graph, otherOperand(changed, difference.outputs[0] ?? ''));
  const [ofUpdate, updates] = update?.type === 'Sigmoid' ? (gateOf(graph, update, splits, 1) ?? []) : [];
  if (update === undefined || resets === undefined || updates === undefined) return undefined;
  if (ofReset === undefined || ofUpdate === undefined) return undefined;
  const passes = [...newOfInput.operators, ...newOfState.operators, ...resets, ...updates];
  const steps = [ofReset, reset, ofUpdate, update, product, sum, fresh, difference, changed, result];
  return matchOf(
    [...splits, ...passes, ...steps],
    { state: difference.inputs[0] ?? '', result: result.outputs[0] ?? '' },
    'several',
  );
}

interface Part {
  readonly split: Operator;
  readonly at: number;
  /** What hands it through. */
  readonly operators: readonly Operator[];
}

/** The part of three that a value is. */
function partOf(graph: Graph, name: string | undefined): Part | undefined {
  const producer = producerOf(graph, name);
  if (producer?.type === 'Identity') {
    const part = partOf(graph, producer.inputs[0]);
    return part && { ...part, operators: [...part.operators, producer] };
  }
  if (producer?.type !== 'Split' || producer.outputs.length !== 3) return undefined;
  return { split: producer, at: producer.outputs.indexOf(name ?? ''), operators: [] };
}

/** The sum before a gate, of the parts of both products at one place, with what hands these through. */
function gateOf(
  graph: Graph,
  gate: Operator,
  splits: readonly Operator[],
  at: number,
): readonly [Operator, readonly Operator[]] | undefined {
  const sum = producerOf(graph, gate.inputs[0]);
  if (sum?.type !== 'Add' || soleReader(graph, gate.outputs[0]) === undefined) return undefined;
  const parts = sum.inputs.map((name) => partOf(graph, name));
  const isOfBoth = splits.every((split) => parts.some((part) => part?.split === split && part.at === at));
  return isOfBoth ? [sum, parts.flatMap((part) => part?.operators ?? [])] : undefined;
}

/** A value behind what hands it through to its one reader. */
function passed(
  graph: Graph,
  name: string,
): { readonly name: string; readonly operators: readonly Operator[] } {
  const reader = soleReader(graph, name);
  if (reader?.type !== 'Identity') return { name, operators: [] };
  const behind = passed(graph, reader.outputs[0] ?? '');
  return { name: behind.name, operators: [reader, ...behind.operators] };
}
