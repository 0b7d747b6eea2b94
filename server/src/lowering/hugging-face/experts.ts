/** Experts as the types after Mixtral have them, and which layers have them. */

import { activationOf } from './activations.ts';
import type { ConfigFields } from './configFields.ts';
import type { FeedForward, Mixture } from './feedForwardLines.ts';
import { gated } from './llamaLike.ts';

/** Experts as the types after Mixtral have them. */
export function mixture(fields: ConfigFields, changes: Partial<Mixture> = {}): Mixture {
  const activation = changes.activation ?? activationOf(fields);
  const ofExperts = Object.hasOwn(activations, activation) ? activations[activation] : undefined;
  if (ofExperts === undefined) fields.problems.push(`the activation "${activation}" of experts is not known`);
  return {
    kind: 'mixture',
    experts: changes.experts ?? fields.size('num_local_experts'),
    chosen: changes.chosen ?? fields.size('num_experts_per_tok'),
    hidden: changes.hidden ?? fields.size('intermediate_size'),
    ...changes,
    activation,
    activationOfExperts: ofExperts ?? activation,
  };
}

/** What the layer of experts calls an activation; both forms of GELU launch and keep the same. */
const activations: Readonly<Record<string, string>> = {
  silu: 'silu',
  swish: 'silu',
  swiglu: 'swiglu',
  gelu: 'gelu',
  gelu_python: 'gelu',
  gelu_pytorch_tanh: 'gelu',
  relu: 'relu',
  relu2: 'relu2',
};

/** Experts of the layers between two, every so many (ERNIE 4.5, `Ernie4_5_MoeDecoderLayer`). */
export function sparseBetween(
  fields: ConfigFields,
  experts: FeedForward,
  dense: FeedForward,
): (layer: number) => FeedForward {
  const first = fields.number('moe_layer_start_index', 0);
  const last = fields.number('moe_layer_end_index', -1);
  const step = fields.size('moe_layer_interval');
  return (layer) =>
    layer >= first && (last === -1 || layer <= last) && (layer + 1) % step === 0 ? experts : dense;
}

/** Experts in every layer but those that `mlp_only_layers` and `decoder_sparse_step` take out (Qwen). */
export function sparseBySteps(fields: ConfigFields, experts: Mixture): (layer: number) => FeedForward {
  const step = fields.number('decoder_sparse_step', 1);
  const dense = new Set(fields.list('mlp_only_layers') ?? []);
  const plainLayer = gated(fields);
  return (layer) => (!dense.has(layer) && step > 0 && (layer + 1) % step === 0 ? experts : plainLayer);
}

/** Dense layers first, then experts (DeepSeek). */
export function sparseAfterDense(fields: ConfigFields): (layer: number) => FeedForward {
  const dense = fields.number('first_k_dense_replace', 0);
  const experts = deepSeekExperts(fields);
  const plainLayer = dense > 0 ? gated(fields) : experts;
  return (layer) => (layer < dense ? plainLayer : experts);
}

/** With shared ones beside them (DeepSeek). */
export function deepSeekExperts(fields: ConfigFields): Mixture {
  const hidden = fields.size('moe_intermediate_size');
  const shared = fields.optionalSize('n_shared_experts');
  return mixture(fields, {
    experts: fields.size(fields.has('n_routed_experts') ? 'n_routed_experts' : 'num_local_experts'),
    hidden,
    ...(shared === undefined ? {} : { shared: { hidden: hidden * shared, gate: false } }),
  });
}

/**
 * Experts in the layers that `mlp_layer_types` lists, else behind so many dense ones, with so many beside them that all tokens run
 * through.
 */
export function sparseByTypes(
  fields: ConfigFields,
  dense: number,
  sharedExperts: number | undefined,
  { sharedBias = false }: { readonly sharedBias?: boolean } = {},
): (layer: number) => FeedForward {
  const isDense = denseByTypes(fields, dense);
  const hidden = fields.size('moe_intermediate_size');
  const experts = mixture(fields, {
    experts: fields.size('num_experts'),
    hidden,
    ...(sharedExperts === undefined
      ? {}
      : { shared: { hidden: hidden * sharedExperts, gate: false, bias: sharedBias } }),
  });
  const plainLayer = gated(fields);
  return (layer) => (isDense(layer) ? plainLayer : experts);
}

/** Whether a layer is dense: as `mlp_layer_types` says, else one of the first so many. */
export function denseByTypes(fields: ConfigFields, first: number): (layer: number) => boolean {
  const types = fields.list('mlp_layer_types');
  return (layer) => (types === undefined ? layer < first : types[layer] !== 'sparse');
}
