/**
 * Weights of recurrent layers as ONNX has them: both directions in one tensor, and both biases in one.
 *
 * ATen lists the tensors of `torch.nn.LSTM` and its siblings layer after layer and direction after direction: input, state,
 * their biases, and what projects the state, where there is such (`aten/src/ATen/native/RNN.cpp`, `gather_params`). They are one tensor each in the graph, so that nothing is
 * joined while the model runs, as cuDNN has them in one buffer.
 */

import type { AtenNode, ExportedProgram } from '../../formats/pt2/syntax.ts';

export interface RecurrentLayout {
  readonly layers: number;
  readonly directions: number;
  readonly hasBiases: boolean;
}

/** One tensor in the place of several. */
export interface PackedWeight {
  /** Names in the graph; the first one stands for all. */
  readonly members: readonly string[];
  readonly kind: 'input weight' | 'state weight' | 'bias' | 'projection';
}

const isRecurrent = (target: string): boolean =>
  /^torch\.ops\.aten\.(?:lstm|gru|rnn_tanh|rnn_relu)\.input$/.test(target);

/** What the call says of its layers. */
function recurrentLayout({ arguments: given }: AtenNode): RecurrentLayout {
  const flag = (name: string): boolean => {
    const value = given.get(name);
    return value?.kind === 'boolean' && value.value;
  };
  const layers = given.get('num_layers');
  return {
    layers: layers?.kind === 'number' ? layers.value : 1,
    directions: flag('bidirectional') ? 2 : 1,
    hasBiases: flag('has_biases'),
  };
}

/** The tensors of each layer; empty where the call has others than `layout` says. With projected states each direction has one more. */
export function packedWeights(
  parameters: readonly string[],
  { layers, directions, hasBiases }: RecurrentLayout,
): readonly (readonly PackedWeight[])[] {
  const plain = hasBiases ? 4 : 2;
  const each = parameters.length / (layers * directions);
  if (each !== plain && each !== plain + 1) return [];
  return Array.from({ length: layers }, (_, layer) => {
    const own = parameters.slice(layer * directions * each, (layer + 1) * directions * each);
    const at = (...places: readonly number[]) => own.filter((_, index) => places.includes(index % each));
    const weights: readonly PackedWeight[] = [
      { members: at(0), kind: 'input weight' },
      { members: at(1), kind: 'state weight' },
    ];
    return [
      ...weights,
      ...(hasBiases ? [{ members: at(2, 3), kind: 'bias' } as const] : []),
      ...(each > plain ? [{ members: at(plain), kind: 'projection' } as const] : []),
    ];
  });
}

/** Packed weights of all recurrent layers of a program, by the name of each member. */
export function recurrentPacks({ graph, inputs }: ExportedProgram): ReadonlyMap<string, PackedWeight> {
  const stored = new Set(inputs.flatMap(({ name, kind }) => (kind === 'input' ? [] : [name])));
  const packs = new Map<string, PackedWeight>();
  for (const node of graph.nodes) {
    const parameters = isRecurrent(node.target) ? node.arguments.get('params') : undefined;
    if (parameters?.kind !== 'tensors') continue;
    const names = parameters.names.flatMap((name) => name ?? []);
    for (const pack of packedWeights(names, recurrentLayout(node)).flat()) {
      if (pack.members.every((name) => stored.has(name))) {
        for (const name of pack.members) packs.set(name, pack);
      }
    }
  }
  return packs;
}
