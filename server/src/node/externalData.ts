/**
 * Looks whether the files that hold a model's weights are there. They are never opened: costs need only shapes.
 *
 * A path is resolved only under the model's folder, links included (ONNX docs/ExternalDataSecurity.md).
 */

import { lstatSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import type { OnnxModel } from '../formats/onnx/syntax.ts';
import type { Issue } from '../model/issue.ts';

/** One issue per external file that is missing or, through links, lies outside the folder of `modelPath`. */
export function checkExternalData(model: OnnxModel, modelPath: string): readonly Issue[] {
  const tensorsByPath = new Map<string, number>();
  for (const initializer of model.graph.initializers) {
    const path = initializer.external?.path;
    if (path === undefined || !staysInside(path)) continue;
    tensorsByPath.set(path, (tensorsByPath.get(path) ?? 0) + 1);
  }
  const folder = dirname(modelPath);
  return [...tensorsByPath].flatMap(([path, tensors]) => checkFile(folder, path, tensors));
}

function checkFile(folder: string, path: string, tensors: number): readonly Issue[] {
  const target = join(folder, path);
  try {
    lstatSync(target);
    if (staysInside(relative(realpathSync(folder), realpathSync(target)))) return [];
    return [
      {
        code: 'onnx/external-data-outside',
        severity: 'warning',
        message: `external data ${path} is a link that leaves the model's folder and is ignored; put the file itself beside the model`,
      },
    ];
  } catch {
    return [
      {
        code: 'onnx/external-data-missing',
        severity: 'information',
        message: `the weights of ${tensors} tensor${tensors === 1 ? '' : 's'} are in ${path}, which is not beside the model; costs are complete without them, running the model needs the file`,
      },
    ];
  }
}

/** Paths that climb out are reported by the reader, from the file alone. */
const staysInside = (path: string): boolean => !isAbsolute(path) && path.split(/[\\/]/)[0] !== '..';
