/**
 * Operators against the 1,802 conformance models of ONNX: the types of outputs must be those that really came out,
 * wherever inference says anything about them. Also nine whole networks against the shapes ONNX itself infers.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { type ElementType, elementTypes } from '../../server/src/model/elementType.ts';
import { isKnownShape, type ValueType } from '../../server/src/model/graph.ts';
import { printType } from './check.ts';
import { costModel, replayModel } from './replay.ts';

const models = join(import.meta.dirname, '../../../shared/models');

interface Example {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

interface Tensor {
  readonly name: string;
  readonly dtype: string;
  /** Absent for sequences and optionals. */
  readonly dims?: readonly number[];
}

/** Rules that are right but cannot know everything: at least so many of the 1,802 leave nothing open. */
const mostlyKnown = 1430;

if (!existsSync(join(models, 'onnx-node'))) {
  test('conformance models are absent: ../shared/models/onnx-node is needed to compare with them', () => {
    expect(existsSync(join(models, 'onnx-node'))).toBe(false);
  });
} else {
  describe('conformance models', () => {
    // Python writes NaN and infinities, which JSON does not have; values are not compared here.
    const number = /([[,:]\s*)(-?Infinity|NaN)(?=\s*[,\]}])/g;
    const text = readFileSync(join(models, 'onnx-node/expected_io.json'), 'utf8');
    const examples: Readonly<Record<string, readonly Example[]>> = JSON.parse(
      text.replace(number, '$1null').replace(number, '$1null'),
    );

    test('no output type contradicts what came out, and no cost is negative', () => {
      const wrong: string[] = [];
      let complete = 0;
      for (const [name, [example]] of Object.entries(examples)) {
        const model = read(join(models, 'onnx-node', name, 'model.onnx'));
        if (model === undefined || example === undefined) continue;
        const replay = replayModel(model);
        wrong.push(...replay.problems.map((problem) => `${name}: ${problem}`));
        const verdicts = example.outputs.map((output) =>
          compare(replay.values.get(output.name)?.type, output),
        );
        wrong.push(
          ...verdicts
            .filter((verdict) => verdict !== 'open' && verdict !== 'equal')
            .map((verdict) => `${name}: ${verdict}`),
        );
        if (verdicts.every((verdict) => verdict === 'equal')) complete += 1;
        for (const [node, cost] of costModel(model, replay, 2)) {
          if (cost?.kind !== 'known') continue;
          const { flops, operations, traffic } = cost.forward;
          const least = Math.min(flops, operations, traffic.float32Elements, traffic.fixedBytes);
          if (!(least >= 0)) wrong.push(`${name}: ${node.type} costs ${least}`);
        }
      }
      expect(wrong).toEqual([]);
      expect(complete).toBeGreaterThanOrEqual(mostlyKnown);
    });
  });

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

function compare(type: ValueType | undefined, expected: Tensor): string {
  if (type?.kind !== 'tensor' || expected.dims === undefined) return 'open';
  const actual = `${printType(type)}, but ${expected.dtype} ${JSON.stringify(expected.dims)} came out`;
  if (type.elementType !== elementTypeOf(expected.dtype) && type.elementType !== 'undefined') return actual;
  if (!isKnownShape(type.shape)) return 'open';
  if (type.shape.length !== expected.dims.length) return actual;
  if (type.shape.some((size, axis) => typeof size === 'number' && size !== expected.dims?.[axis]))
    return actual;
  return type.shape.every((size) => typeof size === 'number') ? 'equal' : 'open';
}

function elementTypeOf(name: string): ElementType | undefined {
  const lower = name.toLowerCase();
  const long: Readonly<Record<string, ElementType>> = { float: 'float32', double: 'float64' };
  return long[lower] ?? elementTypes.find((type) => type === lower);
}
