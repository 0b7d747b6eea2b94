/** `layercost/configSpec`: a `config.json` of transformers as a layer spec. */

import { specOfConfig } from '../../lowering/hugging-face/specOfConfig.ts';
import { type ConfigSpecParams, type ConfigSpecResult, writeConfigSpec } from '../../protocol.ts';
import type { Request } from './request.ts';

export const configSpec: Request = {
  serve: ({ connection, handler }) => {
    connection.onRequest(writeConfigSpec, handler('configSpec', {}, specFor));
  },
};

function specFor({ text, name }: ConfigSpecParams): ConfigSpecResult {
  const { text: spec, issues } = specOfConfig(text, name);
  const problem = issues[0]?.message;
  return { ...(spec === undefined ? {} : { spec }), ...(problem === undefined ? {} : { problem }) };
}
