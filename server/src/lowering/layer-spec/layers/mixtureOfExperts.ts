/** Mixtures of experts: a router sends every token to a few of many feed-forward networks. */

import {
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type Tensor,
  text,
} from '../layerDefinition.ts';
import { project } from './linear.ts';
import { choice, flag, followingSize, integer, number } from './parameters.ts';

/**
 * Names of the contrib operator's activations, and the operators of a written-out one. `swiglu` is that of gpt-oss: both
 * halves are bounded, and the gate goes through a sigmoid of its own.
 */
const activations = ['relu', 'relu2', 'gelu', 'silu', 'swiglu'] as const;

export const mixtureOfExperts: LayerDefinition = {
  name: 'MixtureOfExperts',
  kind: 'module',
  documentation:
    'A router and feed-forward networks of which every token runs through the best `top_k`. The router reads `routed_by` where a second tensor is given. Mixtral: top_k=2, gated=True; Switch: top_k=1, capacity_factor=1.25.',
  source: 'https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#commicrosoftmoe',
  inputs: { names: ['input', 'routed_by'], least: 1 },
  parameters: [
    followingSize('d_model', 'Size of the last axis.'),
    integer('dim_feedforward', 'Width of an expert.', { least: 1, beyond: true }),
    integer('num_experts', 'Experts there are.', { least: 1, beyond: true }),
    integer('top_k', 'Experts a token runs through.', { default: 2, least: 1, beyond: true }),
    choice('activation', activations, 'silu', 'Between the layers of an expert.'),
    flag('gated', false, 'Whether a third matrix gates the activation (SwiGLU).', { beyond: true }),
    flag('bias', false, 'Whether the layers of experts have biases.'),
    flag('router_bias', false, 'Whether the router adds a bias.', { beyond: true }),
    flag('expert_scale', false, 'Whether the share of each expert is multiplied by a trained number.', {
      beyond: true,
    }),
    number(
      'capacity_factor',
      'Tokens an expert has room for, in multiples of an equal share; all are computed, used or not. None: as many as the router sends.',
      { default: null, least: 0, beyond: true },
    ),
  ],
  work: 'Parameters of all experts, 2 or 3·d·ff each, and d·experts of the router; FLOPs of the experts a token runs through: 2·top_k·2 or 3·d·ff per token.',
  example: {
    inputs: { x: 'float32[8, 128, 512]' },
    call: 'MixtureOfExperts(512, 2048, num_experts=8, top_k=2, gated=True)',
  },
  lower: (call) => {
    const [input] = call.inputs;
    const width = call.size('d_model', input?.shape?.at(-1), 'the last axis of the input');
    if (input === undefined || width === undefined) return undefined;
    const experts = call.integer('num_experts');
    const chosen = call.integer('top_k');
    if (chosen > experts) {
      return call.problem(
        'spec/argument',
        `\`top_k\` is ${chosen}, but there are ${experts} experts`,
        'top_k',
      );
    }
    const flat = call.emit('Reshape', [input, call.integersConstant([-1, width])]);
    const bias = call.boolean('router_bias') ? call.parameter('router.bias', [experts]) : undefined;
    const routed = call.input('routed_by');
    const routedWidth = routed === undefined ? width : call.fixed(routed.shape?.at(-1));
    if (routedWidth === undefined) return undefined;
    const read =
      routed === undefined ? flat : call.emit('Reshape', [routed, call.integersConstant([-1, routedWidth])]);
    const scores = project(call, read, call.parameter('router.weight', [experts, routedWidth]), bias);
    const shares = call.emit('Softmax', [scores], { axis: int(-1) });
    const probabilities = call.boolean('expert_scale')
      ? call.emit('Mul', [shares, call.parameter('router.per_expert_scale', [experts])])
      : shares;
    const of = { width, experts, hidden: call.integer('dim_feedforward') };
    const output =
      call.value('capacity_factor') === null
        ? droplessExperts(call, flat, probabilities, chosen, of)
        : expertsWithRoom(call, flat, probabilities, chosen, of);
    return output && call.emit('Reshape', [output, call.sizes(input.shape ?? [])]);
  },
};

interface Experts {
  readonly width: number;
  readonly hidden: number;
  readonly experts: number;
}

/** Every token runs through its experts, however many of them choose the same (Gale et al. 2022, MegaBlocks). */
function droplessExperts(
  call: LayerLowering,
  tokens: Tensor,
  probabilities: Tensor,
  chosen: number,
  { width, hidden, experts }: Experts,
): Tensor {
  const layer = (name: string, from: number, to: number) => [
    call.parameter(`experts.${name}.weight`, [experts, to, from]),
    call.boolean('bias') ? call.parameter(`experts.${name}.bias`, [experts, to]) : undefined,
  ];
  const inputs = [
    tokens,
    probabilities,
    ...layer('w1', width, hidden),
    ...layer('w2', hidden, width),
    ...(call.boolean('gated') ? layer('w3', width, hidden) : []),
  ];
  while (inputs.at(-1) === undefined) inputs.pop();
  return call.emit('com.microsoft.MoE', inputs, {
    k: int(chosen),
    activation_type: text(call.string('activation')),
    normalize_routing_weights: int(1),
  });
}

/**
 * Every expert computes a fixed number of rows, ⌈tokens·k/experts·capacity⌉ (Fedus et al. 2021, eq. 3): tokens beyond
 * that are dropped, rows that no token takes are computed all the same. Gathered and scattered as expert choice does
 * (Zhou et al. 2022), whose shapes are the same.
 */
function expertsWithRoom(
  call: LayerLowering,
  tokens: Tensor,
  probabilities: Tensor,
  chosen: number,
  { width, hidden, experts }: Experts,
): Tensor | undefined {
  const factor = call.number('capacity_factor');
  if (factor === 0) {
    return call.problem('spec/argument', 'the experts have no room for a token', 'capacity_factor');
  }
  const shape = call.emit('Shape', [tokens]);
  const room = roomOf(call, tokens, chosen * factor, experts);
  const byExpert = call.emit('Transpose', [probabilities], { perm: ints([1, 0]) });
  const [weights, indices] = call.emitMany('TopK', [byExpert, room], 2, {
    axis: int(-1),
  });
  const rows = call.emit('Gather', [tokens, indices], { axis: int(0) });
  const layer = (name: string, input: Tensor, from: number, to: number) => {
    const product = call.emit('MatMul', [
      input,
      call.parameter(`experts.${name}.weight`, [experts, from, to]),
    ]);
    if (!call.boolean('bias')) return product;
    return call.emit('Add', [product, call.parameter(`experts.${name}.bias`, [experts, 1, to])]);
  };
  const up = layer('w1', rows, width, hidden);
  const active = activated(call, up);
  const gated = call.boolean('gated') ? call.emit('Mul', [active, layer('w3', rows, width, hidden)]) : active;
  const down = layer('w2', gated, hidden, width);
  const last = call.integersConstant([-1]);
  const weighted = call.emit('Mul', [down, call.emit('Unsqueeze', [weights, last])]);
  const nothing = call.emit('ConstantOfShape', [shape]);
  return call.emit('ScatterND', [nothing, call.emit('Unsqueeze', [indices, last]), weighted], {
    reduction: text('add'),
  });
}

/** ⌈tokens·share/experts⌉, and no more than there are tokens; worked out by operators, so that the batch stays open. */
function roomOf(call: LayerLowering, tokens: Tensor, share: number, experts: number): Tensor {
  const count = call.emit('Shape', [tokens], { start: int(0), end: int(1) });
  if (share >= experts) return count;
  // Capacity factors are written with few digits.
  const parts = Math.max(1, Math.round(share * 10_000));
  const whole = experts * 10_000;
  const scaled = call.emit('Mul', [count, call.integersConstant([parts])]);
  const rounded = call.emit('Add', [scaled, call.integersConstant([whole - 1])]);
  return call.emit('Div', [rounded, call.integersConstant([whole])]);
}

function activated(call: LayerLowering, input: Tensor): Tensor {
  const name = call.string('activation');
  if (name === 'relu' || name === 'relu2') {
    const positive = call.emit('Relu', [input]);
    return name === 'relu' ? positive : call.emit('Mul', [positive, positive]);
  }
  if (name === 'gelu') return call.emit('Gelu', [input]);
  return call.emit('Mul', [input, call.emit('Sigmoid', [input])]);
}
