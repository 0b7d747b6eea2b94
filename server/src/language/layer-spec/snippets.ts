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
