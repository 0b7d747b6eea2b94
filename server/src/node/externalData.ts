/**
 * Looks whether the files that hold a model's weights are there. They are never opened: costs need only shapes.
 *
 * A path is resolved only under the model's folder, links included (ONNX docs/ExternalDataSecurity.md).
 */

import { realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { leavesFolder } from '../formats/onnx/readTensor.ts';
import type { OnnxModel } from '../formats/onnx/syntax.ts';
import type { Issue } from '../model/issue.ts';
import { readableIssues } from '../model/readableIssues.ts';

/** Files that are looked for; a model made to harm can name a hundred thousand. */
const mostFiles = 1_000;

/** One issue per external file that is missing, is no file or, through links, lies outside the folder of `modelPath`. */
export function checkExternalData(model: OnnxModel, modelPath: string): readonly Issue[] {
  const tensorsByPath = new Map<string, number>();
  for (const initializer of model.graph.initializers) {
    const path = initializer.external?.path;
    if (path === undefined) continue;
    const before = tensorsByPath.get(path);
    // The reader reports those that leave the folder from the file alone.
    if (before === undefined && (tensorsByPath.size >= mostFiles || leavesFolder(path))) continue;
    tensorsByPath.set(path, (before ?? 0) + 1);
  }
  if (tensorsByPath.size === 0) return [];
  const folder = dirname(modelPath);
  return readableIssues(
    [...tensorsByPath].flatMap(([path, tensors]) => checkFile(folder, path, tensors) ?? []),
  );
}

function checkFile(folder: string, path: string, tensors: number): Issue | undefined {
  const tensorsIn = `the weights of ${tensors} tensor${tensors === 1 ? '' : 's'} are in \`${path}\``;
  try {
    const target = realpathSync(join(folder, path));
    if (!isInside(relative(realpathSync(folder), target))) {
      return outside(`${tensorsIn}, a link out of the model's folder, which is not followed`);
    }
    return statSync(target).isFile()
      ? undefined
      : outside(`${tensorsIn}, which is not a file and is never opened`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ELOOP') return outside(`${tensorsIn}, a link that leads to itself`);
    return {
      code: 'onnx/external-data-missing',
      severity: 'information',
      message: `${tensorsIn}, which is not beside the model; costs are complete, but running the model needs the file`,
    };
  }
}

const outside = (what: string): Issue => ({
  code: 'onnx/external-data-outside',
  severity: 'warning',
  message: `${what}; put the file itself beside the model`,
});

const isInside = (path: string): boolean => !isAbsolute(path) && path.split(sep)[0] !== '..';
