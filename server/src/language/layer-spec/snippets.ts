/** Pieces that people write again and again, with tab stops. */

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: tab stops are written so.

import type { CursorPlace } from './cursorPlace.ts';

export interface Snippet {
  readonly name: string;
  readonly documentation: string;
  readonly body: string;
}

/** The pieces that may begin at such a place. */
export function snippetsAt(place: CursorPlace['kind']): readonly Snippet[] {
  if (place === 'top-level-key') return wholeParts;
  return place === 'layer-start' ? layerParts : [];
}

const wholeParts: readonly Snippet[] = [
  {
    name: 'model',
    documentation: 'a complete layer spec to start from',
    body: [
      'name: ${1:model}',
      '',
      'dims: { batch: ${2:32}, d: ${3:768} }',
      '',
      'inputs:',
      '  ${4:x}: float32[batch, d]',
      '',
      'layers:',
      '  - ${5:fc}: Linear(d, ${6:4*d})$0',
      '',
    ].join('\n'),
  },
  {
    name: 'MLP',
    documentation: 'a classifier of fully connected layers, with its training',
    body: [
      'name: ${1:mlp}',
      'dims: { batch: ${2:256}, features: ${3:784}, d: ${4:1024}, classes: ${5:10} }',
      'inputs:',
      '  x: float32[batch, features]',
      'layers:',
      '  - fc1: Linear(features, d)',
      '  - act1: ReLU()',
      '  - fc2: Linear(d, d)',
      '  - act2: ReLU()',
      '  - head: Linear(d, classes)',
      'scenario: { cluster: ${6:a100-sxm-80gb}, precision: bf16, optimizer: adamw }$0',
      '',
    ].join('\n'),
  },
  {
    name: 'CNN',
    documentation: 'a convolutional image classifier, with its training',
    body: [
      'name: ${1:cnn}',
      'dims: { batch: ${2:64}, classes: ${3:1000} }',
      'inputs:',
      '  image: float32[batch, 3, 224, 224]',
      'blocks:',
      '  stage(channels):',
      '    - conv: Conv2d(channels, kernel_size=3, padding=1, bias=False)',
      '    - bn: BatchNorm2d()',
      '    - relu: ReLU()',
      '    - pool: MaxPool2d(2)',
      'layers:',
      '  - stage1: stage(${4:64})',
      '  - stage2: stage(128)',
      '  - stage3: stage(256)',
      '  - stage4: stage(512)',
      '  - avgpool: AdaptiveAvgPool2d(1)',
      '  - flatten: Flatten()',
      '  - fc: Linear(512, classes)',
      'scenario: { cluster: ${5:a100-sxm-80gb}, precision: bf16, optimizer: momentum }$0',
      '',
    ].join('\n'),
  },
  {
    name: 'transformer',
    documentation: 'a decoder-only language model, with its training on eight GPUs',
    body: [
      'name: ${1:transformer}',
      'dims: { batch: ${2:8}, seq: ${3:1024}, d: ${4:768}, heads: ${5:12}, vocab: ${6:50304} }',
      'inputs:',
      '  tokens: int64[batch, seq]',
      'blocks:',
      '  decoder:',
      '    - ln_1: LayerNorm(d)',
      '    - attn: MultiheadAttention(d, heads, causal=True)',
      '    - res_1: add(attn, input)',
      '    - ln_2: LayerNorm(d)',
      '    - fc: Linear(d, 4*d)',
      '    - act: GELU()',
      '    - proj: Linear(4*d, d)',
      '    - res_2: add(proj, res_1)',
      'layers:',
      '  - embed: Embedding(vocab, d)',
      '  - h: decoder() * ${7:12}',
      '  - norm: LayerNorm(d)',
      '  - head: Linear(d, vocab, bias=False)',
      'scenario: { cluster: ${8:dgx-h100}, gpus: 8, precision: bf16, optimizer: adamw, framework: pytorch-ddp }$0',
      '',
    ].join('\n'),
  },
  {
    name: 'scenario of a cluster',
    documentation: 'cluster and job of the training',
    body: 'scenario: { cluster: ${1:dgx-h100}, gpus: ${2:8}, precision: ${3:bf16}, optimizer: ${4:adamw} }$0',
  },
];

const layerParts: readonly Snippet[] = [
  { name: 'layer', documentation: 'one layer', body: '- ${1:fc}: ${2:Linear}($0)' },
  {
    name: 'residual',
    documentation: 'layers with a sum around them, in a block',
    body: [
      '- ${1:norm}: LayerNorm(${2:d})',
      '- ${3:fc}: Linear(${2:d}, ${2:d})',
      '- ${4:res}: add(${3:fc}, input)$0',
    ].join('\n'),
  },
  {
    name: 'attention',
    documentation: 'pre-norm self-attention with its residual, in a block',
    body: [
      '- ${1:ln_1}: LayerNorm(${2:d})',
      '- ${3:attn}: MultiheadAttention(${2:d}, ${4:heads}, causal=True)',
      '- ${5:res_1}: add(${3:attn}, input)$0',
    ].join('\n'),
  },
  {
    name: 'conv-bn-relu',
    documentation: 'convolution, batch normalisation, activation',
    body: [
      '- ${1:conv}: Conv2d(${2:64}, kernel_size=3, padding=1, bias=False)',
      '- ${3:bn}: BatchNorm2d()',
      '- ${4:relu}: ReLU()$0',
    ].join('\n'),
  },
];
