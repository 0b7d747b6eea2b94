/**
 * Reads the `config.json` that stands beside a model of Hugging Face transformers: its type and its sizes.
 *
 * Nothing is known of a field here but that it is JSON; what a type of model needs is in `lowering/hugging-face/`.
 */

import type { Issue } from '../../model/issue.ts';
import { isObject, parseJson } from '../parseJson.ts';

export interface HuggingFaceConfig {
  /** `model_type`, which chooses the classes of transformers. */
  readonly type: string;
  /** The first of `architectures`: the class that was saved, such as `LlamaForCausalLM`. */
  readonly architecture: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ReadConfig {
  readonly config: HuggingFaceConfig | undefined;
  readonly issues: readonly Issue[];
}

/** Whether the head of a text is that of a config: an object that says its `model_type` or `architectures`. */
export const looksLikeConfig = (head: string): boolean =>
  /^\s*\{/.test(head) && /"(model_type|architectures)"\s*:/.test(head);

export function readConfig(text: string): ReadConfig {
  const parsed = parseJson(text);
  if ('problem' in parsed) {
    return failed(`The text is not valid JSON (${parsed.problem}): download the file again`);
  }
  const { value: fields } = parsed;
  if (!isObject(fields)) return failed('The JSON is not an object: download the file again');
  const type = fields.model_type;
  if (typeof type !== 'string' || type === '') {
    return failed('The config has no `model_type`: take the `config.json` of a model of transformers');
  }
  const [architecture]: readonly unknown[] = Array.isArray(fields.architectures) ? fields.architectures : [];
  return {
    config: { type, architecture: typeof architecture === 'string' ? architecture : undefined, fields },
    issues: [],
  };
}

const failed = (message: string): ReadConfig => ({
  config: undefined,
  issues: [{ code: 'config/unreadable', severity: 'error', message }],
});
