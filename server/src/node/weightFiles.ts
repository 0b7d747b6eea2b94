/** The tensors of a safetensors file, with those of the other files where weights are split over several. */

import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isObject, parseJson } from '../formats/parseJson.ts';
import { readSafetensors } from '../formats/safetensors/readSafetensors.ts';
import type { StoredTensor, StoredWeights } from '../formats/storedTensor.ts';
import { openFileSource } from './fileSource.ts';
import { readTextFile } from './readTextFile.ts';

export function readWeightFiles(path: string): StoredWeights {
  const tensors: StoredTensor[] = [];
  for (const file of filesOf(path)) {
    const opened = openFileSource(file);
    if (opened.kind === 'failed') return { problem: opened.issue.message };
    try {
      const read = readSafetensors(opened.file.source);
      if ('problem' in read)
        return { problem: `\`${basename(file)}\` is no safetensors file: ${read.problem}` };
      tensors.push(...read.tensors);
    } finally {
      opened.file.close();
    }
  }
  return { tensors };
}

/** Source: huggingface/transformers, `*.safetensors.index.json`: `weight_map`, from tensors to the files beside it. */
function filesOf(path: string): readonly string[] {
  const folder = dirname(path);
  if (!existsSync(path)) return [path];
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.safetensors.index.json'))) {
    const read = readTextFile(join(folder, name));
    const index = 'text' in read ? parseJson(read.text) : undefined;
    const map =
      index !== undefined && 'value' in index && isObject(index.value) ? index.value.weight_map : undefined;
    const files = isObject(map) ? [...new Set(Object.values(map))] : [];
    // A name with a folder would lead out of this one.
    const own = files.filter((file): file is string => typeof file === 'string' && basename(file) === file);
    if (own.includes(basename(path))) return own.map((file) => join(folder, file));
  }
  return [path];
}
