/**
 * How many tokens a token sees in each layer, itself included (transformers 5.18: `layer_types` of a config, else what its class
 * fills in, and the masks that its model asks for).
 */

import type { ConfigFields } from './configFields.ts';

/** The window of a layer; `undefined` where a token sees all before it. */
export type WindowOfLayer = (layer: number) => number | undefined;

export function windowsOf(fields: ConfigFields): WindowOfLayer {
  const rule = Object.hasOwn(rules, fields.type) ? rules[fields.type] : undefined;
  const window = rule === undefined ? undefined : fields.optionalSize('sliding_window');
  const isOff = fields.has('use_sliding_window') && !fields.flag('use_sliding_window');
  if (rule === undefined || window === undefined || isOff) return () => undefined;
  const types = fields.list('layer_types');
  const unknown = types?.find((type) => type !== 'sliding_attention' && type !== 'full_attention');
  if (unknown !== undefined)
    fields.problems.push(`\`layer_types\` has ${JSON.stringify(unknown)?.slice(0, 40)}, which is not known`);
  const isNear: (layer: number) => boolean =
    types === undefined ? rule(fields) : (layer) => types[layer] === 'sliding_attention';
  return (layer) => (isNear(layer) ? window : undefined);
}

/** Which layers have the window where the file does not list them. */
type Rule = (fields: ConfigFields) => (layer: number) => boolean;

const all: Rule = () => () => true;
const none: Rule = () => () => false;

/** Layers from `max_window_layers` on. */
const later: Rule = (fields) => {
  const first = fields.number('max_window_layers', 0);
  return (layer) => layer >= first;
};

/** All but the last of so many. */
const butEvery =
  (standard: number): Rule =>
  (fields) => {
    const period = fields.number('sliding_window_pattern', standard);
    return (layer) => (layer + 1) % period !== 0;
  };

/** The first of four layers sees all. */
const notEveryFourth: Rule = () => (layer) => layer % 4 !== 0;

const rules: Readonly<Record<string, Rule>> = {
  mistral: all,
  ministral: all,
  ministral3: all,
  mixtral: all,
  phi3: all,
  phimoe: all,
  starcoder2: all,
  qwen3_moe: all,
  qwen2: later,
  qwen2_moe: later,
  qwen2_vl_text: later,
  qwen2_5_vl_text: later,
  qwen3: later,
  dots1: later,
  gemma2: butEvery(2),
  vaultgemma: butEvery(2),
  gpt_oss: butEvery(2),
  gemma3_text: butEvery(6),
  cohere2: butEvery(4),
  exaone4: butEvery(4),
  olmo3: butEvery(4),
  exaone_moe: butEvery(4),
  cohere2_moe: (fields) => {
    const first = fields.number('first_k_dense_replace', 0);
    const [dense, sparse] = [
      fields.number('prefix_dense_sliding_window_pattern', 1),
      fields.number('sliding_window_pattern', 4),
    ];
    return (layer) => (layer < first ? (layer + 1) % dense : (layer - first + 1) % sparse) !== 0;
  },
  afmoe: (fields) => {
    const period = fields.number('global_attn_every_n_layers', 4);
    return (layer) => (layer + 1) % period !== 0;
  },
  cwm: notEveryFourth,
  granite_swa: notEveryFourth,
  granitemoe_swa: notEveryFourth,
  mellum: none,
  smollm3: none,
};
