/** The language model inside a config that has several networks (transformers 5.18, `text_config`). */

import type { HuggingFaceConfig } from '../../formats/hugging-face/readConfig.ts';
import { isObject } from '../../formats/parseJson.ts';

/**
 * The config of the text's part, with the class of the whole. Files from before transformers 4.52 have the fields of some types
 * (Qwen2-VL) beside those of the images.
 */
export function textPartOf(config: HuggingFaceConfig): HuggingFaceConfig | undefined {
  const { type, architecture, fields } = config;
  const given = fields.text_config;
  const whole = Object.hasOwn(wholes, type) ? wholes[type] : undefined;
  if (!isObject(given)) {
    if (!isObject(fields.vision_config) || typeof fields.hidden_size !== 'number') return undefined;
    return { type: whole?.text ?? `${type}_text`, architecture, fields };
  }
  const own = typeof given.model_type === 'string' ? given.model_type : (whole?.text ?? `${type}_text`);
  if (whole === undefined) return { type: own, architecture, fields: given };
  const ofWhole = fields.tie_word_embeddings;
  const isTied =
    (typeof ofWhole === 'boolean' ? ofWhole : whole.tied === true) ||
    (whole.tied === 'as-text' && given.tie_word_embeddings === true);
  return { type: own, architecture, fields: { ...given, tie_word_embeddings: isTied } };
}

interface Whole {
  /** `model_type` of the part where the file has none. */
  readonly text: string;
  /** Whether logits share the weights of embeddings where the whole does not say; `as-text`: where the part says so. */
  readonly tied: boolean | 'as-text';
}

const whole = (text: string, tied: Whole['tied']): Whole => ({ text, tied });

const wholes: Readonly<Record<string, Whole>> = {
  aya_vision: whole('cohere2', true),
  cohere2_vision: whole('cohere2', true),
  deepseek_vl: whole('llama', true),
  exaone4_5: whole('exaone4', false),
  fast_vlm: whole('qwen2', false),
  fuyu: whole('persimmon', false),
  gemma3: whole('gemma3_text', true),
  gemma4: whole('gemma4_text', true),
  glm46v: whole('glm4v_text', false),
  glm4v: whole('glm4v_text', false),
  glm4v_moe: whole('glm4v_moe_text', false),
  glm_ocr: whole('glm_ocr_text', false),
  got_ocr2: whole('qwen2', true),
  granite_speech: whole('granite', true),
  hyperclovax_vision_v2: whole('hyperclovax', true),
  idefics2: whole('mistral', false),
  idefics3: whole('llama', false),
  internvl: whole('qwen2', true),
  janus: whole('llama', true),
  kimi_k25: whole('deepseek_v3', true),
  lfm2_vl: whole('lfm2', true),
  lighton_ocr: whole('qwen3', true),
  llama4: whole('llama4_text', false),
  llava: whole('llama', 'as-text'),
  llava_next: whole('llama', false),
  llava_next_video: whole('llama', false),
  llava_onevision: whole('qwen2', 'as-text'),
  mistral3: whole('mistral', true),
  ovis2: whole('qwen2', true),
  paddleocr_vl: whole('paddleocr_vl_text', true),
  paligemma: whole('gemma', true),
  qianfan_ocr: whole('qwen3', false),
  qwen2_5_vl: whole('qwen2_5_vl_text', 'as-text'),
  qwen2_vl: whole('qwen2_vl_text', 'as-text'),
  qwen3_5: whole('qwen3_5_text', false),
  qwen3_5_moe: whole('qwen3_5_moe_text', false),
  qwen3_vl: whole('qwen3_vl_text', false),
  qwen3_vl_moe: whole('qwen3_vl_moe_text', false),
  smolvlm: whole('llama', false),
  video_llama_3: whole('qwen2', false),
  video_llava: whole('llama', false),
  vipllava: whole('llama', false),
};
