/** Language models of one stack of blocks, as lines of a layer spec. */

import { activationBlocks } from './activations.ts';
import { type Attention, attentionLines } from './attentionLines.ts';
import { dropoutLines } from './dropoutLines.ts';
import { type FeedForward, feedForwardLines } from './feedForwardLines.ts';
import { type LatentAttention, latentAttentionLines } from './latentAttentionLines.ts';
import { type Mixer, mixerLines, mixerNames } from './mixerLines.ts';
import type { SpecParts } from './specText.ts';

/** What makes tokens of images, and where they take the place of tokens of text. */
export interface ImagePart {
  readonly dims: Readonly<Record<string, number | string>>;
  readonly inputs: Readonly<Record<string, string>>;
  readonly blocks: Readonly<Record<string, readonly string[]>>;
  /** The last gives `image_embeds`, [batch, images*image_tokens, hidden_size]. */
  readonly lines: readonly string[];
  /** Tokens of one image. */
  readonly tokens: number;
  /** Tensors like `image_embeds` that are added to the results of the first blocks, one each (DeepStack). */
  readonly added?: readonly string[];
  /** What is computed and not read. */
  readonly unread?: readonly string[];
  /** Whether tokens of text are scaled before those of images join them (Gemma). */
  readonly joinsScaled?: boolean;
  /** Whether attention is always given a mask. */
  readonly masked?: boolean;
}

export interface Decoder {
  /** Images of a sequence. */
  readonly images?: ImagePart;
  readonly hidden: number;
  readonly vocabulary: number;
  /** Positions with a trained vector each; `undefined` where positions are rotated or biased. */
  readonly positions?: number;
  /** Longest sequence that the model was made for. */
  readonly longest: number;
  /** The call of a normalization over the last axis. */
  readonly norm: (size: string) => string;
  /** Blocks that calls above name. */
  readonly blocks?: Readonly<Record<string, readonly string[]>>;
  /** Runs of equal blocks, in their order. */
  readonly runs: readonly Run[];
  readonly order: BlockOrder;
  /** Width of embeddings where a projection follows (OPT). */
  readonly embedding?: number;
  readonly embeddingNorm?: boolean;
  /** Whether embeddings are multiplied (Gemma, Granite, …). */
  readonly embeddingScale?: boolean;
  readonly finalNorm: boolean;
  /**
   * Logits by the weights of embeddings or by own ones, scores of that many classes, or nothing. Scores of tokens come
   * behind dropout of that share and add a bias.
   */
  readonly head: 'tied' | 'own' | 'none' | { readonly classes: number; readonly tokenDropout?: number };
  readonly headBias?: boolean;
  /** Lines between the last normalization and logits. */
  readonly beforeHead?: readonly string[];
  /** Logits are bounded by tanh (Gemma 2). */
  readonly softcap?: number;
  /** Logits are multiplied (Cohere, Granite). */
  readonly logitScale?: number;
  /** What the head reads is multiplied (MiniCPM). */
  readonly hiddenScale?: number;
  /** What attention and the part behind it give is multiplied before it is added (Granite, MiniCPM). */
  readonly branchScale?: number;
  /** Shares that are zeroed in training: of what both parts of a block add, and of embeddings. */
  readonly dropout?: number;
  readonly embeddingDropout?: number;
}

export interface Run {
  readonly count: number;
  readonly attention: Attention | LatentAttention | Mixer;
  readonly feedForward: FeedForward;
  /** Where it is not that of the decoder. */
  readonly order?: BlockOrder;
  /** Whether attention reads what comes in as it is. */
  readonly readsInput?: boolean;
}

/**
 * Where normalizations stand in a block: before attention and the part behind it (`pre`), behind both (`post`), both
 * (`sandwich`). In a `parallel` block both parts read one normalization, or one each. A `single` block has one of both parts.
 */
export type BlockOrder = 'pre' | 'post' | 'sandwich' | 'parallel' | 'parallel-two-norms' | 'single';

/** `length`: tokens of a sequence, where somebody says so. */
export function decoderParts(of: Decoder, name: string, length?: number): SpecParts {
  const norm = of.norm('hidden_size');
  const { images } = of;
  const seq = length ?? lengthOf(of);
  const blocks: Record<string, readonly string[]> = {};
  const stack: string[] = [];
  const masks = new Map<string, readonly string[]>();
  const width = of.embedding ?? of.hidden;
  const added = images?.added ?? [];
  const runs = separated(of.runs, added.length);
  const names = runNames(runs);
  for (const [index, run] of runs.entries()) {
    const { count, attention } = run;
    const runName = names[index] ?? 'decoder';
    const mask = masksOfRun(attention, images, seq);
    for (const { name: maskName, lines } of mask) masks.set(maskName, lines);
    const [first, second] = mask.map(({ name: maskName }) => maskName);
    const masked =
      first === undefined
        ? attention
        : { ...attention, mask: first, ...(second === undefined ? {} : { addedMask: second }) };
    const read = mask.map(({ name: maskName }) => `, ${maskName}`).join('');
    blocks[read === '' ? runName : `${runName} from input${read}`] ??= blockLines(of, {
      ...run,
      attention: masked,
    });
    const before = index > 0 && index <= added.length ? `with_images_${index}` : `layers_${index}`;
    const previous = index === 0 ? embeddedName(of, width) : before;
    stack.push(
      `${runs.length === 1 ? 'layers' : `layers_${index + 1}`}: ${runName}() * ${count}${read === '' ? '' : ` from ${previous}${read}`}`,
      ...addedLines(`layers_${index + 1}`, added[index], index + 1),
    );
  }
  const isFirst = masks.size === 0 && images === undefined;
  const scale = of.embeddingScale === true ? [`scaled: mul(${Math.sqrt(of.hidden)})`] : [];
  const layers = [
    ...(images?.lines ?? []),
    ...[...masks.values()].flat(),
    `embed_tokens: Embedding(vocab_size, ${width === of.hidden ? 'hidden_size' : width})${isFirst ? '' : ' from tokens'}`,
    ...(width === of.hidden ? [] : ['project_in: Linear(hidden_size, bias=False)']),
    ...(images?.joinsScaled === true ? scale : []),
    ...(images === undefined ? [] : joiningLines),
    ...(images?.joinsScaled === true ? [] : scale),
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
    ...(hasLogits(of) ? scaleLines('small_hidden', of.hiddenScale) : []),
    ...(hasLogits(of) ? (of.beforeHead ?? []) : []),
    ...headLines(of),
    ...(hasLogits(of) ? softcapLines(of) : []),
    ...(hasLogits(of) ? scaleLines('logits', of.logitScale) : []),
  ];
  const lines = [...Object.values({ ...images?.blocks, ...blocks }).flat(), ...layers];
  return {
    name,
    comments: [],
    dims: {
      batch: 8,
      seq,
      ...(images === undefined ? {} : { images: 1, ...images.dims }),
      hidden_size: of.hidden,
      vocab_size: of.vocabulary,
    },
    inputs: {
      tokens: 'int64[batch, seq]',
      ...(of.positions === undefined ? {} : { positions: 'int64[1, seq]' }),
      ...images?.inputs,
    },
    blocks: { ...activationBlocks(lines), ...of.blocks, ...images?.blocks, ...blocks },
    layers,
    ...(images?.unread === undefined || images.unread.length === 0
      ? {}
      : { outputs: [...images.unread, layers.at(-1)?.split(':')[0] ?? ''] }),
    ...(images === undefined ? {} : { images: images.tokens }),
  };
}

function masksOfRun(
  attention: Run['attention'],
  images: ImagePart | undefined,
  seq: number,
): readonly Mask[] {
  if ('mixer' in attention) return [];
  if ('latent' in attention)
    return attention.indexer === undefined ? [] : [maskOf('causal_mask', undefined, false)];
  return masksOf(images?.masked === true ? { ...attention, masked: true } : attention, seq);
}

/** The first blocks as runs of their own. */
function separated(runs: readonly Run[], count: number): readonly Run[] {
  const [first, ...others] = runs;
  if (first === undefined || count === 0) return runs;
  const rest = separated(
    first.count > 1 ? [{ ...first, count: first.count - 1 }, ...others] : others,
    count - 1,
  );
  return [{ ...first, count: 1 }, ...rest];
}

/** What a tensor adds to the tokens of images behind a block (`_deepstack_process` of modeling_qwen3_vl.py). */
const addedLines = (block: string, tensor: string | undefined, count: number): readonly string[] =>
  tensor === undefined
    ? []
    : [
        `of_images_${count}: narrow(${block}, 1, 0, images*image_tokens)`,
        `added_${count}: add(of_images_${count}, ${tensor})`,
        `of_text_${count}: narrow(${block}, 1, images*image_tokens, seq - images*image_tokens)`,
        `with_images_${count}: cat((added_${count}, of_text_${count}), dim=1)`,
      ];

/** Tokens of a sequence where nobody says so: with an image in it, no fewer of text than a quarter of the usual ones. */
function lengthOf({ longest, images }: Decoder): number {
  const usual = Math.min(longest, 2048);
  return images === undefined ? usual : Math.max(usual, images.tokens + Math.ceil(usual / 4));
}

/** Tokens of images in the place of the first ones of a sequence: `masked_scatter` copies as many elements. */
const joiningLines = [
  'text_embeds: narrow(1, images*image_tokens, seq - images*image_tokens)',
  'merged: cat((image_embeds, text_embeds), dim=1)',
];

/**
 * The masks that an attention is given: written scores always have one, the kernel of `scaled_dot_product_attention` where a window
 * is shorter than the sequence. Else that kernel hides later tokens by itself (transformers 5.18, masking_utils.py,
 * `allow_is_causal_skip`).
 */
export function masksOf(of: Attention, seq: number): readonly Mask[] {
  const { window, masking = 'add' } = of;
  const isWritten = of.written === true || of.sinks !== undefined;
  const near = window !== undefined && (isWritten || window <= seq) ? window : undefined;
  if (!isWritten && near === undefined && of.masked !== true) return [];
  if (of.distances === true) return [distanceMask(of.heads)];
  const first = maskOf(
    near === undefined ? 'causal_mask' : 'window_mask',
    near,
    isWritten && masking === 'add',
  );
  return masking === 'fill-and-add' ? [first, maskOf('added_mask', undefined, true)] : [first];
}

/** A mask of numbers for every head, which all layers share (modeling_falcon.py, `FalconModel.forward`). */
function distanceMask(heads: number): Mask {
  const causal = maskOf('causal_mask', undefined, true);
  return {
    name: 'distance_mask',
    lines: [
      ...causal.lines,
      `slopes: Buffer(1, ${heads}, 1, 1)`,
      `distance_mask: add(${causal.name}, slopes)`,
    ],
  };
}

export interface Mask {
  readonly name: string;
  readonly lines: readonly string[];
}

function maskOf(name: string, window: number | undefined, isAdded: boolean): Mask {
  const options = [
    'seq',
    ...(window === undefined ? [] : [`window=${window}`]),
    ...(isAdded ? [] : ["dtype='bool'"]),
  ];
  return {
    name,
    lines: [
      `${name}_tokens: AttentionMask(${options.join(', ')})`,
      // transformers makes a mask for each sequence.
      `${name}: expand(${name}_tokens, batch, 1, seq, seq)`,
    ],
  };
}

/** What the first block reads. */
function embeddedName(of: Decoder, width: number): string {
  if (of.embeddingDropout !== undefined && of.embeddingDropout > 0) return 'embedding_dropout';
  if (of.embeddingNorm === true) return 'embedding_norm';
  return of.positions === undefined ? scaledName(of, width) : 'embedded';
}

export const softcapLines = ({ softcap }: Pick<Decoder, 'softcap'>): readonly string[] =>
  softcap === undefined ? [] : [`small: div(${softcap})`, 'bounded: tanh()', `logits: mul(${softcap})`];

export function headLines({ head, headBias }: Pick<Decoder, 'head' | 'headBias'>): readonly string[] {
  if (head === 'none') return [];
  if (typeof head === 'object') {
    return head.tokenDropout === undefined
      ? [`score: Linear(${head.classes}, bias=False)`]
      : [...dropoutLines('head_dropout', head.tokenDropout), `score: Linear(${head.classes})`];
  }
  const options = `${headBias === true ? '' : ', bias=False'}${head === 'tied' ? ', weight=embed_tokens' : ''}`;
  return [`lm_head: Linear(vocab_size${options})`];
}

/** Whether there is a score for every word. */
const hasLogits = ({ head }: Decoder): boolean => head === 'tied' || head === 'own';

const scaledName = (of: Decoder, width: number): string =>
  of.images !== undefined && (of.images.joinsScaled === true || of.embeddingScale !== true)
    ? 'merged'
    : of.embeddingScale === true
      ? 'scaled'
      : width === of.hidden
        ? 'embed_tokens'
        : 'project_in';

/** A name for every run; runs of equal blocks share one. What they differ in is in the name. */
function runNames(runs: readonly Run[]): readonly string[] {
  const keys = runs.map(({ attention, feedForward, order, readsInput }) =>
    JSON.stringify([attention, feedForward, order, readsInput]),
  );
  const kinds = [...new Set(keys)];
  const windows = new Set(runs.map(({ attention }) => 'window' in attention));
  const mixtures = new Set(runs.map(({ feedForward }) => feedForward.kind === 'mixture'));
  const described = runs.map(({ attention, feedForward }) =>
    [
      ...(windows.size > 1 ? ['window' in attention ? 'sliding' : 'full'] : []),
      ...('mixer' in attention ? [mixerNames[attention.mixer]] : []),
      ...(mixtures.size > 1 ? [feedForward.kind === 'mixture' ? 'sparse' : 'dense'] : []),
      'decoder',
    ].join('_'),
  );
  return described.map((name, index) => {
    const isShared = described.some((other, at) => other === name && keys[at] !== keys[index]);
    return isShared ? `${name}_${kinds.indexOf(keys[index] ?? '') + 1}` : name;
  });
}

const scaleLines = (name: string, factor: number | undefined): readonly string[] =>
  factor === undefined ? [] : [`${name}: mul(${factor})`];

function blockLines(of: Decoder, run: Run): readonly string[] {
  const { attention, feedForward, order = of.order } = run;
  const norm = of.norm('hidden_size');
  const sandwiched = order === 'sandwich';
  const attend = (source: string): readonly string[] => [
    ...('mixer' in attention
      ? mixerLines(attention, source, of.hidden)
      : 'latent' in attention
        ? latentAttentionLines(attention, source)
        : attentionLines(attention, { source, length: 'seq' })),
    ...dropoutLines('attention_dropout', of.dropout),
    ...(sandwiched ? [`post_attention_layernorm: ${norm}`] : []),
    ...scaleLines('attention_scaled', of.branchScale),
  ];
  const feed = (source: string): readonly string[] => [
    ...feedForwardLines(feedForward, source),
    ...dropoutLines('feed_forward_dropout', of.dropout),
    ...(sandwiched ? [`post_feedforward_layernorm: ${norm}`] : []),
    ...scaleLines('feed_forward_scaled', of.branchScale),
  ];
  const nameOf = (line: string | undefined): string => line?.split(':')[0] ?? 'input';
  switch (order) {
    case 'pre':
    case 'sandwich': {
      const second = sandwiched ? 'pre_feedforward_layernorm' : 'post_attention_layernorm';
      const attended = attend(run.readsInput === true ? 'input' : 'input_layernorm');
      const fed = feed(second);
      return [
        ...(run.readsInput === true ? [] : [`input_layernorm: ${norm}`]),
        ...attended,
        `residual: add(${nameOf(attended.at(-1))}, input)`,
        `${second}: ${norm}`,
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
    case 'single': {
      const part = [...attend('input_norm'), ...feed('input_norm')];
      return [`input_norm: ${norm}`, ...part, `output: add(${nameOf(part.at(-1))}, input)`];
    }
    case 'parallel':
    case 'parallel-two-norms': {
      const second = order === 'parallel' ? 'input_layernorm' : 'post_attention_layernorm';
      const attended = attend('input_layernorm');
      const fed = feed(second);
      return [
        `input_layernorm: ${norm}`,
        ...attended,
        ...(order === 'parallel' ? [] : [`post_attention_layernorm: ${norm} from input`]),
        ...fed,
        `both: add(${nameOf(fed.at(-1))}, ${nameOf(attended.at(-1))})`,
        'output: add(both, input)',
      ];
    }
  }
}
