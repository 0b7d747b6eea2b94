/** Operators alone, without analysis, on nine whole networks: the shapes that ONNX itself infers. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { replayModel } from './replay.ts';

const models = join(import.meta.dirname, '../../../shared/models');

if (!existsSync(join(models, 'onnx-light'))) {
  test('networks are absent: ../shared/models/onnx-light is needed to compare with them', () => {
    expect(existsSync(join(models, 'onnx-light'))).toBe(false);
  });
} else {
  describe('networks without weights', () => {
    const folder = join(models, 'onnx-light');
    const references: Readonly<
      Record<string, Readonly<Record<string, readonly (number | string)[] | null>>>
    > = JSON.parse(readFileSync(join(folder, 'onnx_inferred_shapes.json'), 'utf8'));
    test.each(readdirSync(folder).filter((file) => file.endsWith('.onnx')))('%s', (file) => {
      const model = read(join(folder, file));
      if (model === undefined) throw new Error(`${file} cannot be read`);
      const replay = replayModel(model);
      expect(replay.problems).toEqual([]);
      for (const [name, shape] of Object.entries(references[file] ?? {})) {
        const type = replay.values.get(name)?.type;
        if (type?.kind !== 'tensor' || shape === null) continue;
        expect(type.shape, name).toEqual(shape);
      }
    });
  });
}

function read(path: string): OnnxModel | undefined {
  return existsSync(path) ? readOnnx(byteSourceOfBuffer(readFileSync(path))).model : undefined;
}
