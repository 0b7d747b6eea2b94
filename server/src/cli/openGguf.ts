/** A GGUF file as a model: its metadata say what it computes, as the config of a model of transformers would. */

import { basename } from 'node:path';
import { compareWeights } from '../analysis/compareWeights.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import { type ByteSource, byteSourceOfBuffer } from '../formats/byteSource.ts';
import { readGguf } from '../formats/gguf/readGguf.ts';
import { configOfGguf } from '../lowering/hugging-face/configOfGguf.ts';
import type { Issue } from '../model/issue.ts';

export type GgufModel =
  | {
      /** The config, as text. */
      readonly config: ByteSource;
      /** The model that it describes, with what the weights say of it. */
      readonly compare: (opened: OpenedModel) => OpenedModel;
    }
  | { readonly issue: Issue };

export function openGguf(source: ByteSource, path: string): GgufModel {
  const header = readGguf(source);
  if ('problem' in header) {
    const message = `\`${basename(path)}\` is no whole GGUF file: ${header.problem}. Check that the download finished`;
    return { issue: { code: 'file/corrupt', severity: 'error', message } };
  }
  const described = configOfGguf(header, basename(path));
  if ('problem' in described) {
    const message = `The GGUF file describes no model that can be costed: ${described.problem}`;
    return { issue: { code: 'config/unknown-type', severity: 'error', message } };
  }
  return {
    config: byteSourceOfBuffer(new TextEncoder().encode(JSON.stringify(described.config))),
    compare: (opened) =>
      opened.analysis === undefined
        ? opened
        : { ...opened, issues: [...opened.issues, compareWeights(header.tensors, opened.analysis)] },
  };
}
