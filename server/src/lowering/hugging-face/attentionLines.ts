/** Attention as transformers computes it: projections, rotation by position and the kernel, one line each. */

import { dropoutLines } from './dropoutLines.ts';

export interface Attention {
  readonly heads: number;
  /** Heads of key and value. */
  readonly groups: number;
  readonly headSize: number;
  /** Whether the projections of query, key and value add a bias, and that of the output. */
  readonly bias: boolean;
  readonly keyBias?: boolean;
  readonly valueBias?: boolean;
  readonly outputBias: boolean;
  /** Whether query, key and value come from one projection. */
  readonly packed?: boolean;
  /**
   * The call that normalizes queries and keys, and over what: a head, all heads together, a head whose scale is its
   * own, or one head after the other, each by a layer of its own.
   */
  readonly queryNorm?: {
    readonly over: 'head' | 'each-head' | 'head-by-head' | 'all';
    readonly call: (size: string) => string;
    /** Whether heads are rotated first, whole (HunYuan, nanochat). */
    readonly rotatedFirst?: true;
  };
  /**
   * How one projection is taken apart where queries, keys and values have it together: by one split where it is left out, by ranges
   * (Phi-3), by lists of one place, which copy keys and values (Falcon), or by places of an axis that stands within each head
   * (BLOOM). The gradients of all but the split are added one by one.
   */
  readonly packedBy?: 'ranges' | 'lists' | 'places';
  /** Elements of a head that are rotated by position; 0 for none. */
  readonly rotated: number;
  /** What the rotation casts to fp32, to cast its result back: heads once, or what each product reads. */
  readonly rotationCast?: 'input' | 'operands';
  /** Tokens before the others that have no position (DINOv3). */
  readonly unrotatedTokens?: number;
  /** Whether queries are scaled by themselves, and scores are not (ESM). */
  readonly scaledQuery?: boolean;
  /** Share of what the output projection gives that is zeroed in training. */
  readonly outputDropout?: number;
  /** What keys are multiplied (Falcon-H1). */
  readonly keyScale?: number;
  /** The call that normalizes what the kernel gives, before the output projection (BitNet). */
  readonly outputNorm?: (size: string) => string;
  /**
   * What weighs, behind a sigmoid, what the kernel gives: a projection of the input (AFMoE), or a part of that of the queries
   * (Qwen3-Next).
   */
  readonly gate?: 'own' | 'of-query';
  /** Whether rotated elements are joined with the others even where there are none: a range of no elements, whose gradient is zeros. */
  readonly rejoined?: boolean;
  /** Whether what the kernel gives is copied, as results of several calls are joined. */
  readonly copied?: boolean;
  /** Whether queries, keys and values are copied behind their transposition (`contiguous()`). */
  readonly contiguous?: boolean;
  readonly causal: boolean;
  /**
   * Every head has a trained score that takes weight from the others: `joined` to their scores (gpt-oss), or by how much it
   * `scales` what the head gives (Granite with windows).
   */
  readonly sinks?: 'joined' | 'scales';
  /** Share of weights that are zeroed in training. */
  readonly dropout?: number;
  /** Tokens that one token sees, itself included; all before it where it is left out. */
  readonly window?: number;
  /** The name of a tensor that hides tokens, where the kernel is not told to do so itself. */
  readonly mask?: string;
  /** Whether scores and weights are tensors of their own whatever the kernels of the machine. */
  readonly written?: boolean;
  /**
   * Whether `scaled_dot_product_attention` is given a mask whose last axis does not lie in order, which no kernel of a GPU takes: it then
   * computes in steps, in fp32 (PyTorch 2.13, ATen/native/transformers/sdp_utils_cpp.h, `check_last_dim_stride_equals_1_dense`;
   * attention.cpp, `_scaled_dot_product_attention_math`).
   */
  readonly inSteps?: boolean;
  /** Whether the kernel is given a mask even where it could hide later tokens by itself. */
  readonly masked?: boolean;
  /** How a mask comes to written scores: its numbers are added, or they take their place, or one after the other. */
  readonly masking?: 'add' | 'fill' | 'fill-and-add';
  /** Whether the mask says how far tokens are too, otherwise for every head (ALiBi). */
  readonly distances?: boolean;
  /** What is added behind the mask, where masking does both. */
  readonly addedMask?: string;
  /** Factor of scores; 1/√head where it is left out. */
  readonly scale?: number;
  /** A tensor added to scores: relative positions (T5). */
  readonly scoreBias?: string;
  /** Names of the projections where they are not `q_proj`, `k_proj`, `v_proj` and `o_proj`. */
  readonly names?: Readonly<Record<'q_proj' | 'k_proj' | 'v_proj' | 'o_proj' | 'qkv_proj', string>>;
}

const usualNames = {
  q_proj: 'q_proj',
  k_proj: 'k_proj',
  v_proj: 'v_proj',
  o_proj: 'o_proj',
  qkv_proj: 'qkv_proj',
};

/** Where the lines of one attention take their input, and the names of the sequences it joins. */
/** Heads that divide what is as wide as `width` among them, each with keys and values of its own; all projections add a bias. */
export const evenHeads = (heads: number, width: number): Attention => ({
  heads,
  groups: heads,
  headSize: Math.floor(width / heads),
  bias: true,
  outputBias: true,
  rotated: 0,
  causal: false,
});

export interface AttentionPlace {
  readonly source: string;
  /** Where key and value come from; the source itself in self-attention. */
  readonly memory?: string;
  /** Where values come from, where it is not where keys do (DETR). */
  readonly values?: string;
  /** Lengths of query and key: names of dims. */
  readonly length: string;
  readonly memoryLength?: string;
  /** Begins the names of lines, so that a block can have two attentions. */
  readonly prefix?: string;
  /** The size of a token's vector: a number, or the name of a dim; `hidden_size` where it is left out. */
  readonly width?: string;
  /** Sequences that attend, each by itself; `batch` where it is left out. */
  readonly rows?: string;
}

/** Lines of attention; the last is the output projection. */
export function attentionLines(of: Attention, place: AttentionPlace): readonly string[] {
  const { prefix = '', source, memory = source, width = 'hidden_size' } = place;
  const names = of.names ?? usualNames;
  const size = { q: of.heads * of.headSize, k: of.groups * of.headSize, v: of.groups * of.headSize };
  const option = (bias: boolean): string => (bias ? '' : ', bias=False');
  const lines: string[] = [];
  const start = (part: 'q' | 'k' | 'v'): string => `${prefix}${names[`${part}_proj`]}`;
  if (of.packed === true) {
    const all = size.q + size.k + size.v;
    lines.push(
      `${prefix}${names.qkv_proj}: Linear(${width}, ${all}${option(of.bias)}) from ${source}`,
      ...partsOfPacked(of, place, `${prefix}${names.qkv_proj}`),
    );
  }
  const parts = ['q', 'k', 'v'] as const;
  for (const part of parts) {
    const from = part === 'q' ? source : part === 'v' ? (place.values ?? memory) : memory;
    const length = part === 'q' ? place.length : (place.memoryLength ?? place.length);
    const count = part === 'q' ? of.heads : of.groups;
    let last = `${prefix}${part}_part`;
    if (of.packed !== true) {
      last = start(part);
      const own = { q: undefined, k: of.keyBias, v: of.valueBias }[part];
      const bias = own ?? of.bias;
      const gateSize = part === 'q' && of.gate === 'of-query' ? size.q : 0;
      lines.push(`${last}: Linear(${size[part] + gateSize}${option(bias)}) from ${from}`);
    }
    const norm = part === 'v' ? undefined : of.queryNorm;
    if (norm?.over === 'all') {
      lines.push(`${prefix}${part}_norm: ${norm.call(String(size[part]))} from ${last}`);
      last = `${prefix}${part}_norm`;
    }
    if (of.scaledQuery === true && part === 'q') {
      lines.push(`${prefix}q_scaled: mul(${last}, ${1 / Math.sqrt(of.headSize)})`);
      last = `${prefix}q_scaled`;
    }
    const split = (name: string, width: number): string =>
      `${prefix}${name}: reshape(${last}, ${place.rows ?? 'batch'}, ${length}, ${count}, ${width})`;
    if (of.gate === 'of-query' && part === 'q')
      lines.push(
        split('q_and_gate', 2 * of.headSize),
        `${prefix}q_split, ${prefix}gate_split: chunk(2, dim=-1)`,
      );
    else if (of.packed === true && of.packedBy === 'places')
      lines.push(`${prefix}${part}_split: select(${prefix}places, 3, ${parts.indexOf(part)})`);
    else lines.push(split(`${part}_split`, of.headSize));
    if (norm?.over === 'head-by-head')
      lines.push(...headByHead(`${prefix}${part}`, count, norm.call(String(of.headSize))));
    else if (norm !== undefined && norm.over !== 'all' && norm.rotatedFirst !== true) {
      lines.push(`${prefix}${part}_norm: ${norm.call(String(of.headSize))}`);
    }
    if (norm?.over === 'each-head') {
      lines.push(
        `${prefix}${part}_scale: Parameter(${count}, ${of.headSize})`,
        `${prefix}${part}_scaled: mul(${prefix}${part}_norm, ${prefix}${part}_scale)`,
      );
    }
    if (part === 'k' && of.keyScale !== undefined) lines.push(`${prefix}k_multiplied: mul(${of.keyScale})`);
    const before = lines.at(-1)?.split(':')[0] ?? '';
    lines.push(...headLines(of, prefix, part, length, before));
  }
  return [
    ...lines,
    ...kernelLines(of, prefix, place),
    ...(of.gate === undefined
      ? []
      : [
          of.gate === 'own'
            ? `${prefix}attn_gate_proj: Linear(${size.q}, bias=False) from ${source}`
            : `${prefix}gate_flat: reshape(${prefix}gate_split, ${place.rows ?? 'batch'}, ${place.length}, ${size.q})`,
          `${prefix}attn_gate: sigmoid()`,
          `${prefix}weighed: mul(${prefix}merged, ${prefix}attn_gate)`,
        ]),
    ...(of.outputNorm === undefined ? [] : [`${prefix}attn_sub_norm: ${of.outputNorm(String(size.q))}`]),
    `${prefix}${names.o_proj}: Linear(${width}${option(of.outputBias)})`,
    ...dropoutLines(`${prefix}out_drop`, of.outputDropout),
  ];
}

/** Queries, keys and values of what one projection gives, before heads are told apart; of places nothing but their axis. */
function partsOfPacked(
  { heads, groups, headSize, packedBy }: Attention,
  { prefix = '', rows = 'batch', length }: AttentionPlace,
  packed: string,
): readonly string[] {
  const [queries, others] = [heads * headSize, groups * headSize];
  if (packedBy === 'places')
    return [`${prefix}places: reshape(${packed}, ${rows}, ${length}, ${heads}, 3, ${headSize})`];
  if (packedBy !== 'ranges' && packedBy !== 'lists')
    return [
      `${prefix}q_part, ${prefix}k_part, ${prefix}v_part: split([${queries}, ${others}, ${others}], dim=-1)`,
    ];
  const taken = (part: 'k' | 'v', start: number): readonly string[] => {
    const range = `slice(${packed}, -1, ${start}, ${start + others})`;
    return packedBy === 'ranges'
      ? [`${prefix}${part}_part: ${range}`]
      : [`${prefix}${part}_range: ${range}`, `${prefix}${part}_part: cat((${prefix}${part}_range), dim=-1)`];
  };
  return [
    `${prefix}q_part: slice(${packed}, -1, 0, ${queries})`,
    ...taken('k', queries),
    ...taken('v', queries + others),
  ];
}

/** From `q_heads`, `k_heads` and `v_heads` to `merged`: the kernel, and its heads beside each other. */
export function kernelLines(of: Attention, prefix: string, place: AttentionPlace): readonly string[] {
  const written = of.written === true || of.sinks !== undefined;
  return [
    ...(of.inSteps === true
      ? steppedKernel(of, prefix)
      : written
        ? writtenKernel(of, prefix, place)
        : fusedKernel(of, prefix, place)),
    `${prefix}joined: transpose(1, 2)`,
    ...(of.copied === true ? [`${prefix}together: repeat(1, 1, 1, 1)`] : []),
    `${prefix}merged: reshape(${place.rows ?? 'batch'}, ${place.length}, ${of.heads * of.headSize})`,
  ];
}

/** Every head is taken out, normalized by a layer of its own and put back (StableLM). */
function headByHead(part: string, count: number, call: string): readonly string[] {
  const heads = Array.from({ length: Math.min(count, mostHeads) }, (_, head) => head + 1);
  return [
    `${heads.map((head) => `${part}_head_${head}`).join(', ')}: split(1, dim=2)`,
    ...heads.map((head) => `${part}_norm_${head}: ${call} from ${part}_head_${head}`),
    `${part}_norm: cat((${heads.map((head) => `${part}_norm_${head}`).join(', ')}), dim=2)`,
  ];
}

/** More heads than any model normalizes one by one. */
const mostHeads = 512;

/**
 * From [batch, sequence, heads, head] to [batch, heads, sequence, head], behind the rotation. Where a type rotates a part of each
 * head, both parts are joined behind the transposition, so that they lie as their axes say (`apply_rotary_pos_emb`).
 */
function headLines(
  of: Attention,
  prefix: string,
  part: 'q' | 'k' | 'v',
  length: string,
  source: string,
): readonly string[] {
  const heads = `${prefix}${part}_heads`;
  if (of.contiguous === true) {
    const turned = `${prefix}${part}_turned_heads`;
    return [`${turned}: transpose(1, 2)`, `${heads}: cat((${turned}), dim=-1)`];
  }
  if (part === 'v' || of.rotated === 0) return [`${heads}: transpose(1, 2)`];
  const option = of.rotationCast === undefined ? '' : `cast='${of.rotationCast}'`;
  const rotation = `RotaryPositionalEmbeddings(${option})`;
  const { unrotatedTokens: first } = of;
  if (first !== undefined) {
    const [plain, turning] = [`${prefix}${part}_first`, `${prefix}${part}_others`];
    return [
      `${plain}, ${turning}: split([${first}, ${length}-${first}], dim=1)`,
      `${prefix}${part}_rotary: ${rotation} from ${turning}`,
      `${prefix}${part}_rotary_heads: transpose(1, 2)`,
      `${plain}_heads: transpose(${plain}, 1, 2)`,
      `${heads}: cat((${plain}_heads, ${prefix}${part}_rotary_heads), dim=2)`,
    ];
  }
  if (of.rotated >= of.headSize) {
    const rotary = `${prefix}${part}_rotary: ${rotation}`;
    const norm =
      of.queryNorm?.rotatedFirst === true
        ? [`${prefix}${part}_norm: ${of.queryNorm.call(String(of.headSize))}`]
        : [];
    if (of.rejoined !== true) return [rotary, ...norm, `${heads}: transpose(1, 2)`];
    const [turned, rest] = [`${prefix}${part}_rotary_heads`, `${prefix}${part}_rest`];
    return [
      rotary,
      `${turned}: transpose(1, 2)`,
      `${rest}: slice(${source}, -1, ${of.headSize}, ${of.headSize})`,
      `${rest}_heads: transpose(1, 2)`,
      `${heads}: cat((${turned}, ${rest}_heads), dim=-1)`,
    ];
  }
  return [
    `${prefix}${part}_turning: slice(${source}, -1, 0, ${of.rotated})`,
    `${prefix}${part}_kept: slice(${source}, -1, ${of.rotated}, ${of.headSize})`,
    `${prefix}${part}_rotary: ${rotation} from ${prefix}${part}_turning`,
    `${prefix}${part}_rotary_heads: transpose(1, 2)`,
    `${prefix}${part}_kept_heads: transpose(${prefix}${part}_kept, 1, 2)`,
    `${heads}: cat((${prefix}${part}_rotary_heads, ${prefix}${part}_kept_heads), dim=-1)`,
  ];
}

/**
 * `scaled_dot_product_attention`. Beside a mask it is given keys and values repeated for every head
 * (transformers 5.18, integrations/sdpa_attention.py, `use_gqa_in_sdpa`).
 */
function fusedKernel(of: Attention, prefix: string, place: AttentionPlace): readonly string[] {
  const mask = of.mask ?? of.scoreBias;
  const isRepeated = mask !== undefined && of.groups !== of.heads;
  const options = [
    ...(mask === undefined ? [] : [mask]),
    ...(of.causal && mask === undefined ? ['is_causal=True'] : []),
    ...(of.window === undefined || mask !== undefined ? [] : [`window=${of.window}`]),
    ...(of.scale === undefined ? [] : [`scale=${of.scale}`]),
    ...(of.groups === of.heads || isRepeated ? [] : ['enable_gqa=True']),
    ...(of.dropout === undefined || of.dropout === 0 ? [] : [`dropout_p=${of.dropout}`]),
  ];
  const [k, v] = isRepeated ? ['k_repeated', 'v_repeated'] : ['k_heads', 'v_heads'];
  const operands = [`${prefix}q_heads`, `${prefix}${k}`, `${prefix}${v}`, ...options];
  return [
    ...(isRepeated ? repeatedLines(of, prefix, place) : []),
    `${prefix}attention: scaled_dot_product_attention(${operands.join(', ')})`,
  ];
}

/** Keys and values repeated for every head of queries that shares them (`repeat_kv`). */
function repeatedLines(of: Attention, prefix: string, place: AttentionPlace): readonly string[] {
  const keys = place.memoryLength ?? place.length;
  return ['k', 'v'].flatMap((part) => [
    `${prefix}${part}_apart: unsqueeze(${prefix}${part}_heads, 2)`,
    `${prefix}${part}_groups: expand(batch, ${of.groups}, ${of.heads / of.groups}, ${keys}, ${of.headSize})`,
    `${prefix}${part}_repeated: reshape(batch, ${of.heads}, ${keys}, ${of.headSize})`,
  ]);
}

/** Scores and weights as tensors of their own, as `eager_attention_forward` of transformers has them. */
function writtenKernel(of: Attention, prefix: string, place: AttentionPlace): readonly string[] {
  const dropped = of.dropout !== undefined && of.dropout > 0;
  const [k, v] = of.groups === of.heads ? ['k_heads', 'v_heads'] : ['k_repeated', 'v_repeated'];
  const scores = `${prefix}${of.scale === 1 ? 'products' : 'scores'}`;
  return [
    ...(of.groups === of.heads ? [] : repeatedLines(of, prefix, place)),
    `${prefix}k_turned: transpose(${prefix}${k}, 2, 3)`,
    `${prefix}products: matmul(${prefix}q_heads, ${prefix}k_turned)`,
    ...(of.scale === 1 ? [] : [`${prefix}scores: mul(${of.scale ?? 1 / Math.sqrt(of.headSize)})`]),
    ...(of.mask === undefined
      ? []
      : [
          of.masking === 'fill' || of.masking === 'fill-and-add'
            ? `${prefix}masked: masked_fill(${scores}, ${of.mask}, -1e30)`
            : `${prefix}masked: add(${scores}, ${of.mask})`,
        ]),
    ...(of.scoreBias === undefined ? [] : [`${prefix}biased: add(${scores}, ${of.scoreBias})`]),
    ...(of.addedMask === undefined ? [] : [`${prefix}masked_twice: add(${of.addedMask})`]),
    ...(of.sinks === 'joined'
      ? [
          `${prefix}sinks: Parameter(1, ${of.heads}, 1, 1)`,
          `${prefix}sink_columns: expand(${prefix}sinks, batch, ${of.heads}, ${place.length}, 1)`,
          `${prefix}with_sinks: cat((${of.mask === undefined ? scores : `${prefix}masked`}, ${prefix}sink_columns), dim=-1)`,
          `${prefix}weights_with_sinks: softmax(dim=-1)`,
          `${prefix}weights: slice(-1, 0, -1)`,
        ]
      : [`${prefix}weights: softmax(dim=-1)`]),
    ...(dropped ? [`${prefix}kept_weights: Dropout(${of.dropout})`] : []),
    `${prefix}attention: matmul(${prefix}${dropped ? 'kept_weights' : 'weights'}, ${prefix}${v})`,
    ...(of.sinks === 'scales' ? sinkScaleLines(of, prefix, scores) : []),
  ];
}

/** Of scores that are not scaled, with as many heads of keys as of queries. */
function steppedKernel(of: Attention, prefix: string): readonly string[] {
  const dropped = of.dropout !== undefined && of.dropout > 0;
  return [
    `${prefix}k_turned: transpose(${prefix}k_heads, 2, 3)`,
    `${prefix}products: matmul(${prefix}q_heads, ${prefix}k_turned) precision=fp32`,
    `${prefix}biased: add(${prefix}products, ${of.scoreBias}) precision=fp32`,
    `${prefix}weights: softmax(dim=-1) precision=fp32`,
    ...(dropped ? [`${prefix}kept_weights: Dropout(${of.dropout})`] : []),
    `${prefix}attention: matmul(${prefix}${dropped ? 'kept_weights' : 'weights'}, ${prefix}v_heads) precision=fp32`,
  ];
}

/** modeling_granite_swa.py, `eager_attention_forward`. */
const sinkScaleLines = (of: Attention, prefix: string, scores: string): readonly string[] => [
  `${prefix}lse: logsumexp(${of.mask === undefined ? scores : `${prefix}masked`}, dim=-1)`,
  `${prefix}sinks: Parameter(1, ${of.heads}, 1)`,
  `${prefix}over_sinks: sub(${prefix}lse, ${prefix}sinks)`,
  `${prefix}shares: sigmoid()`,
  `${prefix}sink_scale: unsqueeze(-1)`,
  `${prefix}scaled_attention: mul(${prefix}attention, ${prefix}sink_scale)`,
];
