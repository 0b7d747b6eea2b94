/** The layers of "Attention Is All You Need" (Vaswani et al. 2017) as torch.nn has them. */

import {
  type LayerDefinition,
  type LayerLowering,
  type ParameterDefinition,
  type Tensor,
  text,
} from '../layerDefinition.ts';
import { attend, causalFlag, fusedFlag, turned } from './attention.ts';
import { dropped } from './dropout.ts';
import { hasRank } from './inputRank.ts';
import { project } from './linear.ts';
import { normalizeLast } from './normalization.ts';
import { anything, choice, flag, followingSize, integer, number } from './parameters.ts';

const heads = (standard?: number) =>
  integer('nhead', 'Heads of attention.', {
    least: 1,
    ...(standard === undefined ? {} : { default: standard }),
  });
const hiddenSize = integer('dim_feedforward', 'Width between the two Linear layers.', {
  default: 2048,
  least: 1,
});
const dropout = number('dropout', 'Probability of an element to be zeroed.', {
  default: 0.1,
  least: 0,
  most: 1,
});
const activation = choice('activation', ['relu', 'gelu'], 'relu', 'Between the two Linear layers.');
const options: readonly ParameterDefinition[] = [
  number('layer_norm_eps', 'Added to the variance.', { default: 1e-5 }),
  flag('batch_first', false, 'Whether the first axis is the batch, and the second the sequence.'),
  flag('norm_first', false, 'Whether normalisation comes before attention and feed-forward.'),
  flag('bias', true, 'Whether Linear and LayerNorm layers have biases.'),
];
const layerParameters: readonly ParameterDefinition[] = [
  followingSize('d_model', 'Size of the last axis.'),
  heads(),
  hiddenSize,
  dropout,
  activation,
  ...options,
  causalFlag,
  fusedFlag,
];

const encoderLayer: LayerDefinition = {
  name: 'TransformerEncoderLayer',
  kind: 'module',
  documentation: 'Self-attention and a feed-forward network, each with a residual and a normalisation.',
  source: 'torch.nn.TransformerEncoderLayer.html',
  inputs: { names: ['src'], least: 1 },
  parameters: layerParameters,
  work: '4·d² + 2·d·ff parameters and biases; 8·d² + 4·d·ff FLOPs per token, and 4·d per pair of tokens.',
  example: {
    inputs: { x: 'float32[8, 128, 512]' },
    call: 'TransformerEncoderLayer(512, 8, batch_first=True)',
  },
  lower: (call) => {
    const [source] = batchFirst(call);
    const width = source && widthOf(call, source);
    if (source === undefined || width === undefined) return undefined;
    return restored(call, encode(call, '', source, width));
  },
};

const decoderLayer: LayerDefinition = {
  name: 'TransformerDecoderLayer',
  kind: 'module',
  documentation:
    'Self-attention, attention to a memory, and a feed-forward network, each with a residual and a normalisation; from two sources: target, memory.',
  source: 'torch.nn.TransformerDecoderLayer.html',
  inputs: { names: ['tgt', 'memory'], least: 2 },
  parameters: layerParameters,
  work: '8·d² + 2·d·ff parameters and biases.',
  example: {
    inputs: { target: 'float32[8, 64, 512]', memory: 'float32[8, 128, 512]' },
    call: 'TransformerDecoderLayer(512, 8, batch_first=True) from target, memory',
  },
  lower: (call) => {
    const [target, memory] = batchFirst(call);
    const width = target && widthOf(call, target);
    if (target === undefined || memory === undefined || width === undefined) return undefined;
    return restored(call, decode(call, '', target, memory, width));
  },
};

const transformer: LayerDefinition = {
  name: 'Transformer',
  kind: 'module',
  documentation: 'Encoder and decoder with a normalisation after each; from two sources: source, target.',
  source: 'torch.nn.Transformer.html',
  inputs: { names: ['src', 'tgt'], least: 2 },
  parameters: [
    { ...followingSize('d_model', 'Size of the last axis.'), default: 512 },
    heads(8),
    integer('num_encoder_layers', 'Layers of the encoder.', { default: 6, least: 1, most: 100 }),
    integer('num_decoder_layers', 'Layers of the decoder.', { default: 6, least: 1, most: 100 }),
    hiddenSize,
    dropout,
    activation,
    anything('custom_encoder', 'Not read.', { default: null }),
    anything('custom_decoder', 'Not read.', { default: null }),
    ...options,
    causalFlag,
    fusedFlag,
  ],
  work: 'The sum of its layers.',
  example: {
    inputs: { source: 'float32[8, 128, 512]', target: 'float32[8, 64, 512]' },
    call: 'Transformer(batch_first=True) from source, target',
  },
  lower: (call) => {
    const [source, target] = batchFirst(call);
    const width = source && widthOf(call, source);
    if (source === undefined || target === undefined || width === undefined) return undefined;
    let memory = source;
    for (let layer = 0; layer < call.integer('num_encoder_layers'); layer += 1) {
      memory = encode(call, `encoder.layers.${layer}.`, memory, width);
    }
    memory = norm(call, 'encoder.norm.', memory, width);
    let output = target;
    for (let layer = 0; layer < call.integer('num_decoder_layers'); layer += 1) {
      output = decode(call, `decoder.layers.${layer}.`, output, memory, width);
    }
    return restored(call, norm(call, 'decoder.norm.', output, width));
  },
};

function batchFirst(call: LayerLowering): readonly Tensor[] {
  const first = call.boolean('batch_first');
  if (!hasRank(call, [3], first ? '[batch, sequence, d_model]' : '[sequence, batch, d_model]')) return [];
  const [input] = call.inputs;
  if (input !== undefined) call.checkBatchFirst(input);
  return first ? call.inputs : call.inputs.map((tensor) => turned(call, tensor));
}

const restored = (call: LayerLowering, output: Tensor): Tensor =>
  call.boolean('batch_first') ? output : turned(call, output);

function widthOf(call: LayerLowering, input: Tensor): number | undefined {
  const width = call.size('d_model', input.shape?.at(-1), 'the last axis of the input');
  const count = call.integer('nhead');
  if (width !== undefined && width % count !== 0) {
    return call.problem('shape/mismatch', `${width} does not divide into ${count} heads`, 'nhead');
  }
  return width;
}

type Part = (input: Tensor) => Tensor;

function encode(call: LayerLowering, prefix: string, source: Tensor, width: number): Tensor {
  const attended = residual(call, `${prefix}norm1.`, source, width, (input) =>
    attention(call, `${prefix}self_attn.`, input, input, width, call.boolean('causal')),
  );
  return residual(call, `${prefix}norm2.`, attended, width, (input) =>
    feedForward(call, prefix, input, width),
  );
}

function decode(call: LayerLowering, prefix: string, target: Tensor, memory: Tensor, width: number): Tensor {
  const attended = residual(call, `${prefix}norm1.`, target, width, (input) =>
    attention(call, `${prefix}self_attn.`, input, input, width, call.boolean('causal')),
  );
  const crossed = residual(call, `${prefix}norm2.`, attended, width, (input) =>
    attention(call, `${prefix}multihead_attn.`, input, memory, width, false),
  );
  return residual(call, `${prefix}norm3.`, crossed, width, (input) =>
    feedForward(call, prefix, input, width),
  );
}

/** x + dropout(part(norm(x))), or norm(x + dropout(part(x))): before or after, as `norm_first` says. */
function residual(call: LayerLowering, prefix: string, input: Tensor, width: number, part: Part): Tensor {
  const first = call.boolean('norm_first');
  const branch = withDropout(call, part(first ? norm(call, prefix, input, width) : input));
  const sum = call.emit('Add', [input, branch]);
  return first ? sum : norm(call, prefix, sum, width);
}

const norm = (call: LayerLowering, prefix: string, input: Tensor, width: number): Tensor =>
  normalizeLast(call, input, prefix, [width], {
    eps: call.number('layer_norm_eps'),
    trained: true,
    shift: call.boolean('bias'),
  });

function attention(
  call: LayerLowering,
  prefix: string,
  query: Tensor,
  memory: Tensor,
  width: number,
  causal: boolean,
): Tensor {
  const count = call.integer('nhead');
  return attend(call, {
    prefix,
    query,
    key: memory,
    value: memory,
    mask: undefined,
    width,
    heads: count,
    groups: count,
    headSize: width / count,
    bias: call.boolean('bias'),
    causal,
    fused: call.boolean('fused'),
    rotary: false,
    dropout: call.number('dropout'),
  });
}

function feedForward(call: LayerLowering, prefix: string, input: Tensor, width: number): Tensor {
  const hidden = call.integer('dim_feedforward');
  const bias = (name: string, size: number) =>
    call.boolean('bias') ? call.parameter(`${prefix}${name}.bias`, [size]) : undefined;
  const up = project(
    call,
    input,
    call.parameter(`${prefix}linear1.weight`, [hidden, width]),
    bias('linear1', hidden),
  );
  const gelu = call.string('activation') === 'gelu';
  const active = gelu ? call.emit('Gelu', [up], { approximate: text('none') }) : call.emit('Relu', [up]);
  return project(
    call,
    withDropout(call, active),
    call.parameter(`${prefix}linear2.weight`, [width, hidden]),
    bias('linear2', width),
  );
}

function withDropout(call: LayerLowering, input: Tensor): Tensor {
  const p = call.number('dropout');
  return p === 0 ? input : dropped(call, input, p);
}

export const transformerLayers = [encoderLayer, decoderLayer, transformer];
