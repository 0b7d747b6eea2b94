/** `layercost/configSpec`: a `config.json` of transformers, or what a GGUF file says of its model, as a layer spec. */

import { readGguf } from '../../formats/gguf/readGguf.ts';
import { configOfGguf } from '../../lowering/hugging-face/configOfGguf.ts';
import { specOfConfig } from '../../lowering/hugging-face/specOfConfig.ts';
import { type ConfigSpecParams, type ConfigSpecResult, writeConfigSpec } from '../../protocol.ts';
import type { ReadFile } from '../readFile.ts';
import type { Request } from './request.ts';

export const configSpec: Request = {
  serve: ({ connection, handler, read }) => {
    connection.onRequest<ConfigSpecResult, void>(
      writeConfigSpec,
      handler<ConfigSpecParams, ConfigSpecResult>('configSpec', {}, (params) =>
        'text' in params
          ? specFor(params.text, params.name)
          : specOfWeights(params.weights, params.name, read),
      ),
    );
  },
};

function specFor(text: string, name: string): ConfigSpecResult {
  const { text: spec, issues } = specOfConfig(text, name);
  const problem = issues[0]?.message;
  return { ...(spec === undefined ? {} : { spec }), ...(problem === undefined ? {} : { problem }) };
}

async function specOfWeights(uri: string, name: string, read: ReadFile): Promise<ConfigSpecResult> {
  const opened = await read(uri);
  if (opened.kind === 'failed') return { problem: opened.issue.message };
  try {
    const header = readGguf(opened.source);
    if ('problem' in header)
      return {
        problem: `\`${name}\` is no whole GGUF file: ${header.problem}. Check that the download finished`,
      };
    const described = configOfGguf(header, name);
    return 'problem' in described
      ? { problem: `The GGUF file describes no model that can be costed: ${described.problem}` }
      : specFor(JSON.stringify(described.config), name);
  } finally {
    opened.close();
  }
}
