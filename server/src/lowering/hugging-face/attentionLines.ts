/** Attention as transformers computes it: projections, rotation by position and the kernel, one line each. */

export interface Attention {
  readonly heads: number;
  /** Heads of key and value. */
  readonly groups: number;
  readonly headSize: number;
  /** Whether the projections of query, key and value add a bias, and that of the output. */
  readonly bias: boolean;
  readonly keyBias?: boolean;
  readonly outputBias: boolean;
  /** Whether query, key and value come from one projection. */
  readonly packed?: boolean;
  /**
   * The call that normalizes queries and keys, and over what: a head, all heads together, or a head whose scale is its
   * own.
   */
  readonly queryNorm?: {
    readonly over: 'head' | 'each-head' | 'all';
    readonly call: (size: string) => string;
  };
  /** Elements of a head that are rotated by position; 0 for none. */
  readonly rotated: number;
  readonly causal: boolean;
  /** Scores are bounded by tanh, which no fused kernel of PyTorch does (Gemma 2). */
  readonly softcap?: boolean;
  /** Every head has a trained score that takes weight from the others (gpt-oss). */
  readonly sinks?: boolean;
  /** Share of weights that are zeroed in training. */
  readonly dropout?: number;
  /** Whether scores and weights are tensors of their own whatever the kernels of the machine. */
  readonly written?: boolean;
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
export interface AttentionPlace {
  readonly source: string;
  /** Where key and value come from; the source itself in self-attention. */
  readonly memory?: string;
  /** Lengths of query and key: names of dims. */
  readonly length: string;
  readonly memoryLength?: string;
  /** Begins the names of lines, so that a block can have two attentions. */
  readonly prefix?: string;
}

/** Lines of attention; the last is the output projection. */
export function attentionLines(of: Attention, place: AttentionPlace): readonly string[] {
  const { prefix = '', source, memory = source } = place;
  const names = of.names ?? usualNames;
  const size = { q: of.heads * of.headSize, k: of.groups * of.headSize, v: of.groups * of.headSize };
  const option = (bias: boolean): string => (bias ? '' : ', bias=False');
  const lines: string[] = [];
  const start = (part: 'q' | 'k' | 'v'): string => `${prefix}${names[`${part}_proj`]}`;
  if (of.packed === true) {
    const all = size.q + size.k + size.v;
    lines.push(
      `${prefix}${names.qkv_proj}: Linear(hidden_size, ${all}${option(of.bias)}) from ${source}`,
      `${prefix}q_part, ${prefix}k_part, ${prefix}v_part: split([${size.q}, ${size.k}, ${size.v}], dim=-1)`,
    );
  }
  const parts = ['q', 'k', 'v'] as const;
  for (const part of parts) {
    const from = part === 'q' ? source : memory;
    const length = part === 'q' ? place.length : (place.memoryLength ?? place.length);
    const count = part === 'q' ? of.heads : of.groups;
    let last = `${prefix}${part}_part`;
    if (of.packed !== true) {
      last = start(part);
      const bias = part === 'k' ? (of.keyBias ?? of.bias) : of.bias;
      lines.push(`${last}: Linear(${size[part]}${option(bias)}) from ${from}`);
    }
    const norm = part === 'v' ? undefined : of.queryNorm;
    if (norm?.over === 'all') {
      lines.push(`${prefix}${part}_norm: ${norm.call(String(size[part]))} from ${last}`);
      last = `${prefix}${part}_norm`;
    }
    lines.push(`${prefix}${part}_split: reshape(${last}, batch, ${length}, ${count}, ${of.headSize})`);
    if (norm !== undefined && norm.over !== 'all') {
      lines.push(`${prefix}${part}_norm: ${norm.call(String(of.headSize))}`);
    }
    if (norm?.over === 'each-head') {
      lines.push(
        `${prefix}${part}_scale: Parameter(${count}, ${of.headSize})`,
        `${prefix}${part}_scaled: mul(${prefix}${part}_norm, ${prefix}${part}_scale)`,
      );
    }
    if (part !== 'v' && of.rotated > 0) lines.push(...rotationLines(of, prefix, part));
    lines.push(`${prefix}${part}_heads: transpose(1, 2)`);
  }
  const written = of.written === true || of.softcap === true || of.sinks === true;
  const kernel = written ? writtenKernel(of, prefix, place) : fusedKernel(of, prefix);
  return [
    ...lines,
    ...kernel,
    `${prefix}joined: transpose(1, 2)`,
    `${prefix}merged: reshape(batch, ${place.length}, ${size.q})`,
    `${prefix}${names.o_proj}: Linear(hidden_size${option(of.outputBias)})`,
  ];
}

/** Rotates [batch, sequence, heads, head], or its first elements where the type rotates a part. */
function rotationLines(of: Attention, prefix: string, part: 'q' | 'k'): readonly string[] {
  if (of.rotated >= of.headSize) return [`${prefix}${part}_rotary: RotaryPositionalEmbeddings()`];
  const kept = of.headSize - of.rotated;
  return [
    `${prefix}${part}_turning, ${prefix}${part}_kept: split([${of.rotated}, ${kept}], dim=-1)`,
    `${prefix}${part}_rotary: RotaryPositionalEmbeddings() from ${prefix}${part}_turning`,
    `${prefix}${part}_both: cat((${prefix}${part}_rotary, ${prefix}${part}_kept), dim=-1)`,
  ];
}

function fusedKernel(of: Attention, prefix: string): readonly string[] {
  const options = [
    ...(of.causal ? ['is_causal=True'] : []),
    ...(of.groups === of.heads ? [] : ['enable_gqa=True']),
    ...(of.dropout === undefined || of.dropout === 0 ? [] : [`dropout_p=${of.dropout}`]),
  ];
  const operands = [`${prefix}q_heads`, `${prefix}k_heads`, `${prefix}v_heads`, ...options];
  return [`${prefix}attention: scaled_dot_product_attention(${operands.join(', ')})`];
}

/** Scores and weights as tensors of their own, as `eager_attention_forward` of transformers has them. */
function writtenKernel(of: Attention, prefix: string, place: AttentionPlace): readonly string[] {
  const keys = place.memoryLength ?? place.length;
  const repeated = (part: 'k' | 'v'): readonly string[] =>
    of.groups === of.heads
      ? []
      : [
          `${prefix}${part}_apart: unsqueeze(${prefix}${part}_heads, 2)`,
          `${prefix}${part}_groups: expand(batch, ${of.groups}, ${of.heads / of.groups}, ${keys}, ${of.headSize})`,
          `${prefix}${part}_repeated: reshape(batch, ${of.heads}, ${keys}, ${of.headSize})`,
        ];
  const dropped = of.dropout !== undefined && of.dropout > 0;
  const [k, v] = of.groups === of.heads ? ['k_heads', 'v_heads'] : ['k_repeated', 'v_repeated'];
  return [
    ...repeated('k'),
    ...repeated('v'),
    `${prefix}k_turned: transpose(${prefix}${k}, 2, 3)`,
    `${prefix}products: matmul(${prefix}q_heads, ${prefix}k_turned)`,
    ...(of.scale === 1 ? [] : [`${prefix}scores: mul(${of.scale ?? 1 / Math.sqrt(of.headSize)})`]),
    ...(of.scoreBias === undefined
      ? []
      : [`${prefix}placed: add(${prefix}${of.scale === 1 ? 'products' : 'scores'}, ${of.scoreBias})`]),
    ...(of.softcap === true
      ? [`${prefix}small: div(50)`, `${prefix}bounded: tanh()`, `${prefix}capped: mul(50)`]
      : []),
    ...(of.sinks === true
      ? [
          `${prefix}sinks: Parameter(1, ${of.heads}, 1, 1)`,
          `${prefix}sink_columns: expand(${prefix}sinks, batch, ${of.heads}, ${place.length}, 1)`,
          `${prefix}with_sinks: cat((${prefix}scores, ${prefix}sink_columns), dim=-1)`,
          `${prefix}weights_with_sinks: softmax(dim=-1)`,
          `${prefix}weights, ${prefix}sunk: split([${keys}, 1], dim=-1)`,
        ]
      : [`${prefix}weights: softmax(dim=-1)`]),
    ...(dropped ? [`${prefix}kept_weights: Dropout(${of.dropout})`] : []),
    `${prefix}attention: matmul(${prefix}${dropped ? 'kept_weights' : 'weights'}, ${prefix}${v})`,
  ];
}
