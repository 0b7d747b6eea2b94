/**
 * Analysis against models whose outputs were recorded: the 1,802 conformance models of the ONNX project, its small
 * graphs, and layers that PyTorch exported.
 *
 * What a file declares about its outputs is taken away first, so that nothing but inference can know it. Integers
 * that were fed in (shapes, axes, counts) are given as constants in a second run: what is still open then depends on
 * data, or has its reason in the table.
 */

import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxGraph, OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import type { TensorLiteral } from '../../server/src/model/attribute.ts';
import type { KnownCost } from '../../server/src/operators/definition.ts';
import { hasSharedModels, readShared, sharedModels } from '../support/sharedModels.ts';
import { compareTypes, elementTypeNamed, type TrueType } from '../support/trueTypes.ts';

/** Why an output of these operators stays open though the integers fed in are known. */
const open: readonly (readonly [name: RegExp, models: number, reason: string])[] = [
  [/^test_unique_/, 7, 'how many different entries there are depends on the data'],
  [/^test_nonmaxsuppression_/, 10, 'how many boxes are kept depends on the data'],
  [/^test_image_decoder_/, 9, 'the size of an image is in its bytes'],
  [/^test_string_split_/, 6, 'how many parts a string has depends on the data'],
  [/^test_strnorm/, 10, 'how many words are stop words depends on the data'],
  [/^test_range_b?float16_type_/, 4, 'the recording has no values of 16-bit floating point'],
  [/^test_(identity_sequence$|sequence_map_)/, 5, 'the file leaves the elements of its input sequence open'],
];

interface RawValue {
  readonly name: string;
  readonly dtype?: string | undefined;
  readonly dims?: readonly number[] | undefined;
  readonly values?: readonly unknown[] | undefined;
  readonly sequence?: readonly RawValue[] | undefined;
  readonly optional?: boolean | undefined;
}

const rawValue: z.ZodType<RawValue> = z.lazy(() =>
  z.object({
    name: z.string(),
    dtype: z.string().optional(),
    dims: z.array(z.number()).optional(),
    values: z.array(z.unknown()).optional(),
    sequence: z.array(rawValue).optional(),
    optional: z.boolean().optional(),
  }),
);

const examplesSchema = z.record(
  z.string(),
  z.array(z.object({ inputs: z.array(rawValue), outputs: z.array(rawValue) })),
);

/** Python writes NaN and infinities, which JSON does not have; values of floating point are not compared. */
const notJson = /([[,:]\s*)(-?Infinity|NaN)(?=\s*[,\]}])/g;

const decode = (path: string): string => new TextDecoder().decode(readShared(path));

const read = (path: string): OnnxModel => {
  const { model } = readOnnx(byteSourceOfBuffer(readShared(path)));
  if (model === undefined) throw new Error(`${path} cannot be read`);
  return model;
};

/** The model without a word on what its values are, and with these tensors known. */
function blind(model: OnnxModel, literals: readonly TensorLiteral[]): OnnxModel {
  const graph: OnnxGraph = {
    ...model.graph,
    valueInfos: [],
    outputs: model.graph.outputs.map(({ name }) => ({ name, type: undefined })),
    initializers: [...model.graph.initializers, ...literals],
  };
  return { ...model, graph };
}

function literalOf(input: RawValue): readonly TensorLiteral[] {
  const elementType = input.dtype === undefined ? undefined : elementTypeNamed(input.dtype);
  const elements = input.values?.flat(9).map(Number);
  if (elementType === undefined || input.dims === undefined || elements?.some(Number.isNaN) !== false)
    return [];
  return [{ name: input.name, elementType, dimensions: input.dims, elements, storedBytes: 1 }];
}

function trueTypeOf(value: RawValue): TrueType | undefined {
  if (value.sequence !== undefined) {
    // Elements of one sequence may differ in shape: what all have in common is not recorded.
    const [first] = value.sequence;
    const alike = value.sequence.every(
      (element) => JSON.stringify(element.dims) === JSON.stringify(first?.dims),
    );
    return { kind: 'sequence', element: alike && first !== undefined ? trueTypeOf(first) : undefined };
  }
  if (value.dims === undefined || value.dtype === undefined) return undefined;
  return { kind: 'tensor', elementType: elementTypeNamed(value.dtype), sizes: value.dims };
}

/** Every number of a cost. */
const partsOf = ({ forward, backwardData, backwardWeight }: KnownCost): readonly number[] =>
  [forward, backwardData, backwardWeight].flatMap(({ flops, operations, traffic, kernels }) => [
    flops,
    operations,
    traffic.float32Elements,
    traffic.fixedBytes,
    kernels,
  ]);

/** Contradictions of one model, among them costs below 0, and whether every output is known. */
function check(model: OnnxModel, outputs: readonly RawValue[]) {
  const analysis = analyzeOnnx(model);
  const contradictions = analysis.issues
    .filter(({ severity }) => severity === 'error')
    .map(({ message }) => message);
  let isComplete = true;
  for (const output of outputs) {
    const truth = trueTypeOf(output);
    if (truth === undefined) continue;
    const verdict = compareTypes(analysis.graph.values.get(output.name)?.type, truth);
    if (typeof verdict === 'object') contradictions.push(`${output.name}: ${verdict.contradiction}`);
    if (verdict !== 'equal') isComplete = false;
  }
  const bindings = new Map(analysis.symbols.map(({ name }) => [name, 2]));
  for (const [index, cost] of bindTrainingGraph(analysis, bindings, 'training').costs.entries()) {
    const name = analysis.graph.operators[index]?.type;
    if (cost.kind === 'known' && !partsOf(cost).every((part) => part >= 0))
      contradictions.push(`${name} costs ${partsOf(cost).join(', ')}`);
  }
  return { contradictions, isComplete };
}

if (!hasSharedModels) {
  test('nothing is compared: ../shared/models is absent', () => {
    expect(hasSharedModels).toBe(false);
  });
} else {
  describe.each([
    ['onnx-node', 1802],
    ['onnx-simple', 23],
  ] as const)('%s', (folder, count) => {
    const examples = Object.entries(
      examplesSchema.parse(
        JSON.parse(
          decode(`${folder}/expected_io.json`).replace(notJson, '$1null').replace(notJson, '$1null'),
        ),
      ),
    );

    test('every output is what came out, or open for a reason', () => {
      const contradictions: string[] = [];
      const incomplete: string[] = [];
      for (const [name, [example]] of examples) {
        const model = read(`${folder}/${name}/model.onnx`);
        const outputs = example?.outputs ?? [];
        const literals = example?.inputs.flatMap(literalOf) ?? [];
        const bare = check(blind(model, []), outputs);
        const full = literals.length === 0 ? bare : check(blind(model, literals), outputs);
        for (const text of [...bare.contradictions, ...full.contradictions])
          contradictions.push(`${name}: ${text}`);
        if (!full.isComplete) incomplete.push(name);
      }
      expect(contradictions).toEqual([]);
      expect(examples.length).toBe(count);
      expect(incomplete.filter((name) => !open.some(([pattern]) => pattern.test(name)))).toEqual([]);
      for (const [pattern, models, reason] of open) {
        expect(incomplete.filter((name) => pattern.test(name)).length, reason).toBeLessThanOrEqual(models);
      }
    });
  });

  test('layers that PyTorch exported have the shapes it declares', () => {
    const paths = sharedModels('onnx-pytorch-converted', 'onnx-pytorch-operator');
    const wrong: string[] = [];
    for (const path of paths) {
      const model = read(path);
      const outputs = model.graph.outputs.map(({ name, type }): RawValue => {
        const sizes = type?.kind === 'tensor' ? type.shape : undefined;
        const dims = sizes?.filter((size) => typeof size === 'number');
        return {
          name,
          ...(type?.kind === 'tensor' && { dtype: type.elementType.replace('float32', 'float') }),
          ...(dims?.length === sizes?.length && dims !== undefined && { dims }),
        };
      });
      const { contradictions, isComplete } = check(blind(model, []), outputs);
      if (!isComplete || contradictions.length > 0) wrong.push(`${path}: ${contradictions.join('; ')}`);
    }
    expect(wrong).toEqual([]);
    expect(paths.length).toBe(117);
  });

  test.each(['onnxruntime-genai', 'onnxruntime-extensions'])('%s has no unexplained unknown', (folder) => {
    const unexplained = new Set<string>();
    for (const path of sharedModels(folder)) {
      const analysis = analyzeOnnx(read(path));
      const bindings = new Map(analysis.symbols.map(({ name }) => [name, 4]));
      for (const cost of bindTrainingGraph(analysis, bindings, 'inference').costs) {
        if (cost.kind === 'known' || cost.reason.includes('custom operator of onnxruntime-extensions'))
          continue;
        unexplained.add(`${path}: ${cost.reason}`);
      }
      for (const { message } of analysis.issues)
        if (!message.includes('custom operator of onnxruntime-extensions'))
          unexplained.add(`${path}: ${message}`);
    }
    expect([...unexplained]).toEqual([]);
    expect(existsSync(new URL(`../../../shared/models/${folder}`, import.meta.url))).toBe(true);
  });
}
