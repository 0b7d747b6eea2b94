/** Recurrent layers over a sequence, and their cells for one step. */

import { ownDomain } from '../../../operators/vocabulary/define.ts';
import {
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type NodeAttributes,
  type ParameterDefinition,
  type Tensor,
  text,
} from '../layerDefinition.ts';
import { dropped } from './dropout.ts';
import { hasRank } from './inputRank.ts';
import { choice, flag, followingSize, integer, number } from './parameters.ts';

interface Cell {
  readonly name: 'LSTM' | 'GRU' | 'RNN';
  readonly gates: number;
  readonly documentation: string;
}

const cells: readonly Cell[] = [
  { name: 'RNN', gates: 1, documentation: 'Simple recurrent units' },
  { name: 'LSTM', gates: 4, documentation: 'Long short-term memory' },
  { name: 'GRU', gates: 3, documentation: 'Gated recurrent units' },
];

const sizes: readonly ParameterDefinition[] = [
  followingSize('input_size', 'Size of the last axis of the input.'),
  integer('hidden_size', 'Size of the state.', { least: 1 }),
];
const bias = flag('bias', true, 'Whether biases are added.');
const nonlinearity = choice('nonlinearity', ['tanh', 'relu'], 'tanh', 'What closes a step.');

const gatesInWords = ({ gates }: Cell): string => (gates === 1 ? '' : `${gates}·`);

const sequence = (cell: Cell): LayerDefinition => ({
  name: cell.name,
  kind: 'module',
  documentation: `${cell.documentation} over a sequence, in one or several layers and directions.`,
  source: `torch.nn.${cell.name}.html`,
  inputs: { names: cell.name === 'LSTM' ? ['input', 'h_0', 'c_0'] : ['input', 'h_0'], least: 1 },
  parameters: [
    ...sizes,
    integer('num_layers', 'Layers, each fed by the one before.', { default: 1, least: 1, most: 100 }),
    ...(cell.name === 'RNN' ? [nonlinearity] : []),
    bias,
    flag('batch_first', false, 'Whether the first axis is the batch, and the second the sequence.'),
    number('dropout', 'Probability of an element between layers to be zeroed.', {
      default: 0,
      least: 0,
      most: 1,
    }),
    flag('bidirectional', false, 'Whether the sequence is read from both ends.'),
    ...(cell.name === 'LSTM'
      ? [
          integer('proj_size', 'Size to which states are projected, below hidden_size; 0 for none.', {
            default: 0,
            least: 0,
          }),
        ]
      : []),
  ],
  outputs: cell.name === 'LSTM' ? ['output', 'h_n', 'c_n'] : ['output', 'h_n'],
  work: `Per layer and direction ${gatesInWords(cell)}hidden·(input + hidden + 2) parameters, and ${2 * cell.gates}·hidden·(input + hidden) FLOPs per step.${cell.name === 'LSTM' ? ' With projections 4·hidden·(input + proj + 2) + proj·hidden parameters, and 8·hidden·(input + proj) + 2·proj·hidden FLOPs.' : ''}`,
  example: { inputs: { x: 'float32[8, 128, 256]' }, call: `${cell.name}(256, 512, batch_first=True)` },
  lower: (call) => lowerSequence(call, cell),
});

function lowerSequence(call: LayerLowering, cell: Cell): readonly Tensor[] | undefined {
  const [input] = call.inputs;
  const batchFirst = call.boolean('batch_first');
  const form = batchFirst ? '[batch, sequence, size]' : '[sequence, batch, size]';
  if (input === undefined || !hasRank(call, [3], form)) return undefined;
  call.checkBatchFirst(input);
  const inputSize = call.size('input_size', input.shape?.at(-1), 'the last axis of the input');
  if (inputSize === undefined) return undefined;
  const hidden = call.integer('hidden_size');
  const projected = cell.name === 'LSTM' ? call.integer('proj_size') : 0;
  if (projected >= hidden) {
    const message = `\`proj_size\` is smaller than \`hidden_size\`, ${hidden}, not ${projected}; leave it out for states that are not projected`;
    return call.problem('spec/argument', message, 'proj_size');
  }
  /** Size of what a layer gives, per direction. */
  const width = projected === 0 ? hidden : projected;
  const layers = call.integer('num_layers');
  const directions = call.boolean('bidirectional') ? 2 : 1;
  const starts = ['h_0', 'c_0'].map((name) => initialStates(call, call.input(name), layers, directions));
  const states: Tensor[][] = [[], []];
  const joined = call.integersConstant([0, 0, directions * width]);
  let output = input;
  /** All states of the layer before: [batch, sequence, directions, width], or its two first axes swapped. */
  let all: Tensor | undefined;
  for (let layer = 0; layer < layers; layer += 1) {
    if (all !== undefined) {
      const states = call.emit('Reshape', [all, joined]);
      output = call.number('dropout') > 0 ? dropped(call, states, call.number('dropout')) : states;
    }
    const turn = (state: Tensor | undefined) => (batchFirst ? swapped(call, state) : state);
    const initial = starts.map((parts) => turn(parts[layer]));
    const [every, ...last] = steps(call, cell, output, initial, {
      suffix: `_l${layer}`,
      from: layer === 0 ? inputSize : directions * width,
      hidden,
      projected,
      directions,
      attributes: { layout: int(batchFirst ? 1 : 0) },
    });
    if (every === undefined) return undefined;
    all = batchFirst ? every : call.emit('Transpose', [every], { perm: ints([0, 2, 1, 3]) });
    for (const [index, state] of last.entries()) {
      const turned = turn(state);
      if (turned !== undefined) states[index]?.push(turned);
    }
  }
  const lastStates = states.flatMap((parts) => {
    const [first] = parts;
    if (first === undefined) return [];
    return [parts.length === 1 ? first : call.emit('Concat', parts, { axis: int(0) })];
  });
  // Last, so that the line shows its shape.
  return all && [call.emit('Reshape', [all, joined]), ...lastStates];
}

const swapped = (call: LayerLowering, state: Tensor | undefined): Tensor | undefined =>
  state && call.emit('Transpose', [state], { perm: ints([1, 0, 2]) });

/** The first states of every layer, cut from one tensor [layers·directions, batch, hidden]. */
function initialStates(
  call: LayerLowering,
  states: Tensor | undefined,
  layers: number,
  directions: number,
): readonly (Tensor | undefined)[] {
  if (states === undefined || layers === 1) return [states];
  const parts = call.integersConstant(Array.from({ length: layers }, () => directions));
  return call.emitMany('Split', [states, parts], layers, { axis: int(0) });
}

interface Steps {
  /** Ends the names of weights: `_l0`. */
  readonly suffix: string;
  readonly from: number;
  readonly hidden: number;
  /** Size to which states are projected, or 0. */
  readonly projected: number;
  readonly directions: number;
  readonly attributes: NodeAttributes;
}

/** One layer over all steps, with the weights of both directions in one tensor as ONNX has them. */
function steps(
  call: LayerLowering,
  cell: Cell,
  input: Tensor,
  [hidden, state]: readonly (Tensor | undefined)[],
  of: Steps,
): readonly Tensor[] {
  const gates = cell.gates * of.hidden;
  const biases = call.boolean('bias')
    ? call.parameter(`bias${of.suffix}`, [of.directions, 2 * gates])
    : undefined;
  const inputs = [
    input,
    call.parameter(`weight_ih${of.suffix}`, [of.directions, gates, of.from]),
    call.parameter(`weight_hh${of.suffix}`, [of.directions, gates, of.projected || of.hidden]),
    biases,
    undefined,
    hidden,
    state,
    of.projected === 0
      ? undefined
      : call.parameter(`weight_hr${of.suffix}`, [of.directions, of.projected, of.hidden]),
  ];
  while (inputs.at(-1) === undefined) inputs.pop();
  const relu = cell.name === 'RNN' && call.string('nonlinearity') === 'relu';
  const type = of.projected === 0 ? cell.name : `${ownDomain}.ProjectedLSTM`;
  return call.emitMany(type, inputs, cell.name === 'LSTM' ? 3 : 2, {
    hidden_size: int(of.hidden),
    direction: text(of.directions === 2 ? 'bidirectional' : 'forward'),
    ...(relu
      ? { activations: { kind: 'strings', value: Array.from({ length: of.directions }, () => 'Relu') } }
      : {}),
    // PyTorch's GRU multiplies by the reset gate after the matrix product.
    ...(cell.name === 'GRU' ? { linear_before_reset: int(1) } : {}),
    ...of.attributes,
  });
}

const oneStep = (cell: Cell): LayerDefinition => ({
  name: `${cell.name}Cell`,
  kind: 'module',
  documentation: `One step of ${cell.name}, on [batch, size].`,
  source: `torch.nn.${cell.name}Cell.html`,
  inputs: { names: cell.name === 'LSTM' ? ['input', 'h', 'c'] : ['input', 'hx'], least: 1 },
  parameters: [...sizes, bias, ...(cell.name === 'RNN' ? [nonlinearity] : [])],
  outputs: cell.name === 'LSTM' ? ['h', 'c'] : ['h'],
  work: `${gatesInWords(cell)}hidden·(input + hidden + 2) parameters, and ${2 * cell.gates}·hidden·(input + hidden) FLOPs per sample.`,
  example: { inputs: { x: 'float32[8, 256]' }, call: `${cell.name}Cell(256, 512)` },
  lower: (call) => {
    const [input] = call.inputs;
    if (input === undefined || !hasRank(call, [2], '[batch, size]')) return undefined;
    const from = call.size('input_size', input.shape?.at(-1), 'the last axis of the input');
    if (from === undefined) return undefined;
    const first = call.integersConstant([0]);
    const [one, ...states] = call.inputs.map((tensor) => call.emit('Unsqueeze', [tensor, first]));
    if (one === undefined) return undefined;
    const of = {
      suffix: '',
      from,
      hidden: call.integer('hidden_size'),
      projected: 0,
      directions: 1,
      attributes: {},
    };
    const [, ...last] = steps(call, cell, one, states, of);
    return last.map((state) => call.emit('Squeeze', [state, first]));
  },
});

export const recurrentLayers = [...cells.map(sequence), ...cells.map(oneStep)];
