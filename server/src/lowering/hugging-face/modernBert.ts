/**
 * ModernBERT (arXiv 2412.13663; modeling_modernbert.py of transformers 5.18): pre-norm blocks with rotated positions and
 * gated products. Local attention masks what is far, and computes it.
 */

import { activationBlocks, activationCall, activationOf, knownActivation } from './activations.ts';
import { attentionLines } from './attentionLines.ts';
import { type ConfigFields, labelsOf } from './configFields.ts';
import { layerNorm } from './normalizations.ts';
import type { SpecParts } from './specText.ts';
import { textDims } from './textDims.ts';

/** `length`: tokens of a sequence, where somebody says so. */
export function modernBert(fields: ConfigFields, name: string, length?: number): SpecParts {
  const norm = layerNorm(
    fields.number('norm_eps', 1e-5),
    fields.flag('norm_bias') ? '' : ', bias=False',
  )('hidden_size');
  const layers = fields.size('num_hidden_layers');
  // The first block has no normalization before its attention (`ModernBertEncoderLayer`, `attn_norm`).
  const first = blockLines(fields, norm, false);
  const block = blockLines(fields, norm, true);
  const embeddingDropout = fields.number('embedding_dropout', 0);
  const seq = length ?? Math.min(fields.size('max_position_embeddings'), 512);
  const runs = localRuns(fields, layers);
  const isLocal = runs.some(({ local }) => local);
  const localBlock = blockLines(fields, norm, true, 'window_mask');
  let last = embeddingDropout > 0 ? 'embeddings_dropout' : 'embeddings_norm';
  const stack: string[] = [];
  for (const [index, { count, local, isFirst }] of runs.entries()) {
    const line = isFirst ? 'first' : `layers_${index}`;
    const block = isFirst ? 'first_layer' : local ? 'local_layer' : 'encoder_layer';
    stack.push(
      `${line}: ${block}()${count > 1 ? ` * ${count}` : ''} from ${last}${local ? ', window_mask' : ''}`,
    );
    last = line;
  }
  return {
    name,
    comments: [],
    dims: textDims(fields, seq),
    inputs: { tokens: 'int64[batch, seq]' },
    blocks: {
      ...activationBlocks(block),
      first_layer: first,
      ...(runs.some(({ local, isFirst }) => !local && !isFirst) ? { encoder_layer: block } : {}),
      ...(isLocal ? { 'local_layer from input, window_mask': localBlock } : {}),
    },
    layers: [
      ...(isLocal
        ? [
            // Both sides and the token itself (`sliding_window_bidirectional_overlay`).
            `near_tokens: AttentionMask(seq, causal=False, window=${localOf(fields) + 1}, dtype='bool')`,
            'window_mask: expand(near_tokens, batch, 1, seq, seq)',
          ]
        : []),
      'tok_embeddings: Embedding(vocab_size, hidden_size) from tokens',
      `embeddings_norm: ${norm}`,
      ...(embeddingDropout > 0 ? [`embeddings_dropout: Dropout(${embeddingDropout})`] : []),
      ...stack,
      `final_norm: ${norm}`,
      ...headLines(fields, norm),
    ],
  };
}

/** Tokens that one sees to each side in a local layer (`sliding_window`). */
const localOf = (fields: ConfigFields): number => Math.floor(fields.size('local_attention') / 2);

/** Layers alike, the first by itself; every third is global where the file does not list them. */
function localRuns(fields: ConfigFields, layers: number) {
  const types = fields.list('layer_types');
  const period = fields.number('global_attn_every_n_layers', 3);
  const isLocal = (layer: number): boolean =>
    types === undefined ? layer % period !== 0 : types[layer] === 'sliding_attention';
  const runs = [{ count: 1, local: false, isFirst: true }];
  for (let layer = 1; layer < Math.min(layers, 10_000); layer += 1) {
    const before = runs.at(-1);
    if (before !== undefined && !before.isFirst && before.local === isLocal(layer)) before.count += 1;
    else runs.push({ count: 1, local: isLocal(layer), isFirst: false });
  }
  return runs;
}

function blockLines(
  fields: ConfigFields,
  norm: string,
  normalized: boolean,
  mask?: string,
): readonly string[] {
  const heads = fields.size('num_attention_heads');
  const headSize = Math.floor(fields.size('hidden_size') / heads);
  const bias = fields.flag('attention_bias');
  const share = fields.number('attention_dropout', 0);
  const productBias = fields.flag('mlp_bias') ? '' : ', bias=False';
  const productDropout = fields.number('mlp_dropout', 0);
  const hidden = fields.size('intermediate_size');
  return [
    ...(normalized ? [`attn_norm: ${norm}`] : []),
    ...attentionLines(
      {
        heads,
        groups: heads,
        headSize,
        bias,
        outputBias: bias,
        packed: true,
        rotated: headSize,
        rotationCast: 'operands',
        causal: false,
        ...(mask === undefined ? {} : { mask }),
        dropout: share,
        names: { q_proj: 'q', k_proj: 'k', v_proj: 'v', qkv_proj: 'Wqkv', o_proj: 'Wo' },
      },
      { source: normalized ? 'attn_norm' : 'input', length: 'seq' },
    ),
    ...(share > 0 ? [`out_drop: Dropout(${share})`] : []),
    `attended: add(input, ${share > 0 ? 'out_drop' : 'Wo'})`,
    `mlp_norm: ${norm}`,
    `Wi: Linear(${2 * hidden}${productBias})`,
    'value, gate: chunk(2, dim=-1)',
    `act: ${activationCall(activationOf(fields, 'gelu'))} from value`,
    'gated: mul(act, gate)',
    ...(productDropout > 0 ? [`drop: Dropout(${productDropout})`] : []),
    `mlp_Wo: Linear(hidden_size${productBias})`,
    'output: add(attended, mlp_Wo)',
  ];
}

/** By the end of the class's name; a model alone has no pooler. */
function headLines(fields: ConfigFields, norm: string): readonly string[] {
  const architecture = fields.architecture ?? '';
  const activation = knownActivation(fields, fields.text('classifier_activation', 'gelu'));
  const share = fields.number('classifier_dropout', 0);
  const drop = share > 0 ? [`head_dropout: Dropout(${share})`] : [];
  const head = [
    `head_dense: Linear(hidden_size${fields.flag('classifier_bias') ? '' : ', bias=False'})`,
    `head_act: ${activationCall(activation)}`,
    `head_norm: ${norm}`,
  ];
  if (/ForMaskedLM$/.test(architecture)) {
    const tied = fields.flag('tie_word_embeddings', true) ? ', weight=tok_embeddings' : '';
    return [
      ...head,
      `decoder: Linear(vocab_size${fields.flag('decoder_bias', true) ? '' : ', bias=False'}${tied})`,
    ];
  }
  if (/ForSequenceClassification$/.test(architecture)) {
    const pooled =
      fields.text('classifier_pooling', 'cls') === 'mean'
        ? 'pooled: mean(dim=1)'
        : 'pooled: select(final_norm, 1, 0)';
    return [pooled, ...head, ...drop, `classifier: Linear(${labelsOf(fields)})`];
  }
  if (/ForTokenClassification$/.test(architecture))
    return [...head, ...drop, `classifier: Linear(${labelsOf(fields)})`];
  if (/ForQuestionAnswering$/.test(architecture))
    return [...head, ...drop, `classifier: Linear(${labelsOf(fields)})`];
  return [];
}
