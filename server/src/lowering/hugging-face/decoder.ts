/** Language models of one stack of blocks, as lines of a layer spec. */

import { activationBlocks } from './activations.ts';
import { type Attention, attentionLines } from './attentionLines.ts';
import { type FeedForward, feedForwardLines } from './feedForwardLines.ts';
import { type LatentAttention, latentAttentionLines } from './latentAttentionLines.ts';
import type { SpecParts } from './specText.ts';

export interface Decoder {
  readonly hidden: number;
  readonly vocabulary: number;
  /** Positions with a trained vector each; `undefined` where positions are rotated or biased. */
  readonly positions?: number;
  /** Longest sequence that the model was made for. */
  readonly longest: number;
  /** The call of a normalization over the last axis. */
  readonly norm: (size: string) => string;
  /** Runs of equal blocks, in their order. */
  readonly runs: readonly Run[];
  readonly order: BlockOrder;
  /** Width of embeddings where a projection follows (OPT). */
  readonly embedding?: number;
  readonly embeddingNorm?: boolean;
  /** Whether embeddings are multiplied (Gemma, Granite, …). */
  readonly embeddingScale?: boolean;
  readonly finalNorm: boolean;
  /** Logits by the weights of embeddings or by own ones, scores of that many classes, or nothing. */
  readonly head: 'tied' | 'own' | 'none' | { readonly classes: number };
  readonly headBias?: boolean;
  /** Logits are bounded by tanh (Gemma 2). */
  readonly softcap?: boolean;
  /** Shares that are zeroed in training: of what both parts of a block add, and of embeddings. */
  readonly dropout?: number;
  readonly embeddingDropout?: number;
}

export interface Run {
  readonly count: number;
  readonly attention: Attention | LatentAttention;
  readonly feedForward: FeedForward;
}

/**
 * Where normalizations stand in a block: before attention and the part behind it (`pre`), behind both (`post`), both
 * (`sandwich`). In a `parallel` block both parts read one normalization, or one each.
 */
export type BlockOrder = 'pre' | 'post' | 'sandwich' | 'parallel' | 'parallel-two-norms';

export function decoderParts(of: Decoder, name: string): SpecParts {
  const norm = of.norm('hidden_size');
  const blocks: Record<string, readonly string[]> = {};
  const stack: string[] = [];
  const names = runNames(of.runs);
  for (const [index, { count, attention, feedForward }] of of.runs.entries()) {
    const runName = names[index] ?? 'decoder';
    blocks[runName] ??= blockLines(of, attention, feedForward);
    stack.push(`${of.runs.length === 1 ? 'layers' : `layers_${index + 1}`}: ${runName}() * ${count}`);
  }
  const width = of.embedding ?? of.hidden;
  const layers = [
    `embed_tokens: Embedding(vocab_size, ${width === of.hidden ? 'hidden_size' : width})`,
    ...(width === of.hidden ? [] : ['project_in: Linear(hidden_size, bias=False)']),
    ...(of.embeddingScale === true ? [`scaled: mul(${Math.sqrt(of.hidden)})`] : []),
    ...(of.positions === undefined
      ? []
      : [
          `embed_positions: Embedding(${of.positions}, hidden_size) from positions`,
          `embedded: add(${scaledName(of, width)}, embed_positions)`,
        ]),
    ...(of.embeddingNorm === true ? [`embedding_norm: ${norm}`] : []),
    ...dropoutLines('embedding_dropout', of.embeddingDropout),
    ...stack,
    ...(of.finalNorm ? [`norm: ${norm}`] : []),
    ...(width === of.hidden ? [] : [`project_out: Linear(${width}, bias=False)`]),
    ...headLines(of),
    ...(of.softcap === true ? ['small: div(30)', 'bounded: tanh()', 'logits: mul(30)'] : []),
  ];
  const lines = [...Object.values(blocks).flat(), ...layers];
  return {
    name,
    comments: [],
    dims: {
      batch: 8,
      seq: Math.min(of.longest, 2048),
      hidden_size: of.hidden,
      vocab_size: of.vocabulary,
    },
    inputs: {
      tokens: 'int64[batch, seq]',
      ...(of.positions === undefined ? {} : { positions: 'int64[1, seq]' }),
    },
    blocks: { ...activationBlocks(lines), ...blocks },
    layers,
  };
}

function headLines({ head, headBias }: Decoder): readonly string[] {
  if (head === 'none') return [];
  if (typeof head === 'object') return [`score: Linear(${head.classes}, bias=False)`];
  const options = `${headBias === true ? '' : ', bias=False'}${head === 'tied' ? ', weight=embed_tokens' : ''}`;
  return [`lm_head: Linear(vocab_size${options})`];
}

const scaledName = (of: Decoder, width: number): string =>
  of.embeddingScale === true ? 'scaled' : width === of.hidden ? 'embed_tokens' : 'project_in';

/** A name for every run; runs of equal blocks share one. */
function runNames(runs: readonly Run[]): readonly string[] {
  const kinds: string[] = [];
  const numbers = runs.map(({ attention, feedForward }) => {
    const kind = JSON.stringify([attention, feedForward]);
    if (!kinds.includes(kind)) kinds.push(kind);
    return kinds.indexOf(kind);
  });
  if (kinds.length === 1) return runs.map(() => 'decoder');
  return numbers.map((number, index) => {
    const { kind } = runs[index]?.feedForward ?? { kind: 'plain' };
    const plain = kind === 'mixture' ? 'sparse_decoder' : 'dense_decoder';
    const alike = runs.some(
      (run, other) =>
        numbers[other] !== number && (run.feedForward.kind === 'mixture') === (kind === 'mixture'),
    );
    return alike ? `${plain}_${number + 1}` : plain;
  });
}

const dropoutLines = (name: string, share: number | undefined): readonly string[] =>
  share === undefined || share <= 0 ? [] : [`${name}: Dropout(${share})`];

function blockLines(
  of: Decoder,
  attention: Attention | LatentAttention,
  feedForward: FeedForward,
): readonly string[] {
  const norm = of.norm('hidden_size');
  const attend = (source: string): readonly string[] => [
    ...('latent' in attention
      ? latentAttentionLines(attention, source)
      : attentionLines(attention, { source, length: 'seq' })),
    ...dropoutLines('attention_dropout', of.dropout),
  ];
  const feed = (source: string): readonly string[] => [
    ...feedForwardLines(feedForward, source),
    ...dropoutLines('feed_forward_dropout', of.dropout),
  ];
  const nameOf = (line: string | undefined): string => line?.split(':')[0] ?? 'input';
  switch (of.order) {
    case 'pre': {
      const attended = attend('input_layernorm');
      const fed = feed('post_attention_layernorm');
      return [
        `input_layernorm: ${norm}`,
        ...attended,
        `residual: add(${nameOf(attended.at(-1))}, input)`,
        `post_attention_layernorm: ${norm}`,
        ...fed,
        `output: add(${nameOf(fed.at(-1))}, residual)`,
      ];
    }
    case 'post': {
      const attended = attend('input');
      const fed = feed('residual');
      return [
        ...attended,
        `post_attention_layernorm: ${norm}`,
        'residual: add(post_attention_layernorm, input)',
        ...fed,
        `post_feedforward_layernorm: ${norm}`,
        'output: add(post_feedforward_layernorm, residual)',
      ];
    }
    case 'sandwich': {
      const attended = attend('input_layernorm');
      const fed = feed('pre_feedforward_layernorm');
      return [
        `input_layernorm: ${norm}`,
        ...attended,
        `post_attention_layernorm: ${norm}`,
        'residual: add(post_attention_layernorm, input)',
        `pre_feedforward_layernorm: ${norm}`,
        ...fed,
        `post_feedforward_layernorm: ${norm}`,
        'output: add(post_feedforward_layernorm, residual)',
      ];
    }
    case 'parallel':
    case 'parallel-two-norms': {
      const second = of.order === 'parallel' ? 'input_layernorm' : 'post_attention_layernorm';
      const attended = attend('input_layernorm');
      const fed = feed(second);
      return [
        `input_layernorm: ${norm}`,
        ...attended,
        ...(of.order === 'parallel' ? [] : [`post_attention_layernorm: ${norm} from input`]),
        ...fed,
        `both: add(${nameOf(fed.at(-1))}, ${nameOf(attended.at(-1))})`,
        'output: add(both, input)',
      ];
    }
  }
}
