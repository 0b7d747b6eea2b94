/** The part of a block that works on every token alone: two or three products, or a mixture of experts. */

import { activationCall } from './activations.ts';
import { dropoutLines } from './dropoutLines.ts';

export type FeedForward =
  | {
      readonly kind: 'gated' | 'plain';
      readonly hidden: number;
      readonly activation: string;
      readonly bias: boolean;
      /** Whether gate and up are one projection. */
      readonly packed?: boolean;
      /** Names of up and down where they are not `up_proj` and `down_proj`. */
      readonly names?: readonly [up: string, down: string];
      /** Share of what the last product reads that is zeroed in training. */
      readonly dropout?: number;
      /** The call that normalizes what the last of gated products reads (BitNet). */
      readonly norm?: (size: string) => string;
      /** What the gate and the result of gated products are multiplied (Falcon-H1). */
      readonly scales?: readonly [gate: number, down: number];
    }
  /** Of a block that has attention alone, or a state. */
  | { readonly kind: 'none' }
  | AllExperts
  | Mixture;

/** Experts that each compute every token, of which all but the chosen ones are given zeros (Llama 4), beside one for all. */
export interface AllExperts {
  readonly kind: 'all-experts';
  readonly experts: number;
  readonly hidden: number;
  readonly activation: string;
}

export interface Mixture {
  readonly kind: 'mixture';
  readonly experts: number;
  readonly chosen: number;
  readonly hidden: number;
  /** Of the experts that every token runs through. */
  readonly activation: string;
  /** Of the others, by the name that their layer has for it. */
  readonly activationOfExperts: string;
  readonly bias?: boolean;
  readonly routerBias?: boolean;
  /** Whether experts, and the one for all tokens, have three products; they do where it is left out. */
  readonly gated?: boolean;
  /** Narrower tokens that experts read in the place of those that the router reads (Nemotron-H). */
  readonly latent?: { readonly size: number; readonly bias: boolean };
  /** The call that normalizes the sum of all (A.X K1). */
  readonly norm?: (size: string) => string;
  /** An expert that every token runs through, and whether its result is weighed by a gate of its own. */
  readonly shared?: {
    readonly hidden: number;
    readonly gate: boolean;
    readonly bias?: boolean;
    /** Whether its gate and up are one projection. */
    readonly packed?: boolean;
    /** Whether the mean of both is taken, not their sum (Command A with experts). */
    readonly averaged?: boolean;
  };
}

/** Lines that begin at `source`; the last is the output. */
export function feedForwardLines(of: FeedForward, source: string): readonly string[] {
  switch (of.kind) {
    case 'gated':
      return gatedLines(of, source, '');
    case 'plain':
      return plainLines(of, source, '');
    case 'mixture':
      return [
        ...mixtureLines(of, source),
        ...(of.norm === undefined ? [] : [`post_mlp_layernorm: ${of.norm('hidden_size')}`]),
      ];
    case 'all-experts':
      return allExpertsLines(of, source);
    case 'none':
      return [];
  }
}

function plainLines(
  of: {
    readonly hidden: number;
    readonly activation: string;
    readonly bias: boolean;
    readonly names?: readonly [up: string, down: string];
    readonly dropout?: number;
  },
  source: string,
  prefix: string,
): readonly string[] {
  const [up, down] = of.names ?? ['up_proj', 'down_proj'];
  const bias = of.bias ? '' : ', bias=False';
  return [
    `${prefix}${up}: Linear(${of.hidden}${bias}) from ${source}`,
    `${prefix}act_fn: ${activationCall(of.activation)}`,
    ...dropoutLines('kept', of.dropout),
    `${prefix}${down}: Linear(hidden_size${bias})`,
  ];
}

function gatedLines(
  of: {
    readonly hidden: number;
    readonly activation: string;
    readonly bias: boolean;
    readonly packed?: boolean;
    readonly dropout?: number;
    readonly norm?: (size: string) => string;
    readonly scales?: readonly [gate: number, down: number];
  },
  source: string,
  prefix: string,
): readonly string[] {
  const bias = of.bias ? '' : ', bias=False';
  const act = `${prefix}act_fn: ${activationCall(of.activation)}`;
  const tail = [
    `${prefix}gated: mul(${prefix}act_fn, ${prefix}up_proj)`,
    ...dropoutLines('kept', of.dropout),
    ...(of.norm === undefined ? [] : [`${prefix}ffn_sub_norm: ${of.norm(String(of.hidden))}`]),
    `${prefix}down_proj: Linear(hidden_size${bias})`,
    ...(of.scales === undefined ? [] : [`${prefix}down_scaled: mul(${of.scales[1]})`]),
  ];
  if (of.packed === true) {
    return [
      `${prefix}gate_up_proj: Linear(${2 * of.hidden}${bias}) from ${source}`,
      `${prefix}gate_proj, ${prefix}up_proj: chunk(2, dim=-1)`,
      `${act} from ${prefix}gate_proj`,
      ...tail,
    ];
  }
  return [
    `${prefix}gate_proj: Linear(${of.hidden}${bias}) from ${source}`,
    ...(of.scales === undefined ? [] : [`${prefix}gate_scaled: mul(${of.scales[0]})`]),
    act,
    `${prefix}up_proj: Linear(${of.hidden}${bias}) from ${source}`,
    ...tail,
  ];
}

function mixtureLines(of: Mixture, source: string): readonly string[] {
  const options = [
    `num_experts=${of.experts}`,
    `top_k=${of.chosen}`,
    ...(of.gated === false ? [] : ['gated=True']),
    ...(of.activationOfExperts === 'silu' ? [] : [`activation='${of.activationOfExperts}'`]),
    ...(of.bias === true ? ['bias=True'] : []),
    ...(of.routerBias === true ? ['router_bias=True'] : []),
  ];
  const { latent } = of;
  const call = (width: string | number, from: string): string =>
    `experts: MixtureOfExperts(${width}, ${of.hidden}, ${options.join(', ')}) from ${from}`;
  const latentBias = latent?.bias === true ? '' : ', bias=False';
  const experts =
    latent === undefined
      ? [call('hidden_size', source)]
      : [
          `fc1_latent_proj: Linear(${latent.size}${latentBias}) from ${source}`,
          call(latent.size, `fc1_latent_proj, ${source}`),
          `fc2_latent_proj: Linear(hidden_size${latentBias})`,
        ];
  const given = latent === undefined ? 'experts' : 'fc2_latent_proj';
  if (of.shared === undefined) return experts;
  const sharedOf = { bias: false, ...of.shared, activation: of.activation };
  const shared = (of.gated === false ? plainLines : gatedLines)(sharedOf, source, 'shared_');
  if (!of.shared.gate) {
    const mean = of.shared.averaged === true ? ['averaged: div(2)'] : [];
    return [...experts, ...shared, `mixed: add(shared_down_proj, ${given})`, ...mean];
  }
  return [
    ...experts,
    ...shared,
    `shared_expert_gate: Linear(1, bias=False) from ${source}`,
    'shared_share: Sigmoid()',
    'shared_weighed: mul(shared_share, shared_down_proj)',
    `mixed: add(shared_weighed, ${given})`,
  ];
}

/** Every expert reads all tokens, weighed by its score (modeling_llama4.py, `Llama4TextMoe`). */
function allExpertsLines(of: AllExperts, source: string): readonly string[] {
  const { experts, hidden } = of;
  return [
    `flat: reshape(${source}, batch*seq, hidden_size)`,
    `router: Linear(${experts}, bias=False)`,
    'scores: Sigmoid()',
    'scores_of_experts: transpose(0, 1)',
    'shares: unsqueeze(-1)',
    'apart: unsqueeze(flat, 0)',
    `copies: repeat(${experts}, 1, 1)`,
    'routed: mul(copies, shares)',
    `gate_up_proj: Parameter(${experts}, hidden_size, ${2 * hidden})`,
    'gate_up: bmm(routed, gate_up_proj)',
    'gate, up: chunk(2, dim=-1)',
    `act_fn: ${activationCall(of.activation)} from gate`,
    'gated: mul(up, act_fn)',
    `down_proj: Parameter(${experts}, ${hidden}, hidden_size)`,
    'given: bmm(gated, down_proj)',
    'summed: sum(dim=0)',
    ...gatedLines({ hidden, activation: of.activation, bias: false }, 'flat', 'shared_'),
    'both: add(shared_down_proj, summed)',
    'mixed: reshape(batch, seq, hidden_size)',
  ];
}
