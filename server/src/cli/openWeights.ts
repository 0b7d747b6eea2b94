/** A file of weights as a model: what it computes is in the `config.json` beside it, which is opened in its place. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compareWeights, describeWeights } from '../analysis/compareWeights.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import type { Issue } from '../model/issue.ts';
import { readWeightFiles } from '../node/weightFiles.ts';

/** `open` opens the config; `undefined` after telling why there is no model. */
export async function openWeights<File extends { readonly opened: OpenedModel }>(
  path: string,
  open: (config: string) => Promise<File | undefined>,
  tell: (file: string, issues: readonly Issue[]) => void,
): Promise<File | undefined> {
  const read = readWeightFiles(path);
  if ('problem' in read) {
    tell(path, [{ code: 'file/corrupt', severity: 'error', message: read.problem }]);
    return undefined;
  }
  const config = join(dirname(path), 'config.json');
  if (!existsSync(config)) {
    const message = `The file has weights and no graph: ${describeWeights(read.tensors)}. Put the \`config.json\` of the model beside it, or export the model with \`layercost export\``;
    tell(path, [{ code: 'file/not-a-model', severity: 'error', message }]);
    return undefined;
  }
  const file = await open(config);
  const analysis = file?.opened.analysis;
  if (file === undefined || analysis === undefined) return file;
  const { opened } = file;
  return {
    ...file,
    opened: { ...opened, issues: [...opened.issues, compareWeights(read.tensors, analysis)] },
  };
}
