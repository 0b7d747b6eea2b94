/**
 * Analysis against the shape-inference tests of the ONNX project (tests/python/shape_inference_test.py and
 * symbolic_shape_test.py at f7546912): 706 models with the types they assert, 191 that must be refused.
 */

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import { hasSharedModels, readShared } from '../support/sharedModels.ts';
import { compareTypes, elementTypeNamed, type TrueType } from '../support/trueTypes.ts';

/** Assertions that stay out of reach, each with its reason. */
const notReached: Readonly<Record<string, string>> = {
  test_constant_sparse: 'the reader keeps sparse constants by name only, so their shape is not known',
  test_dummy_graph_schema_shape_inference: 'a schema that the test itself registers computes these shapes',
  test_optional_construct_empty_sequence: 'the type attribute of an empty optional is kept as text',
  test_optional_construct_empty_tensor: 'the type attribute of an empty optional is kept as text',
  'test_pad_legacy_total_padding_cancellation[2]': 'sizes saturate at 2⁵³ − 1; the file has 2⁶³ − 1',
  'test_pad_legacy_total_padding_cancellation[11]': 'sizes saturate at 2⁵³ − 1; the file has 2⁶³ − 1',
  'test_pad_legacy_total_padding_cancellation[13]': 'sizes saturate at 2⁵³ − 1; the file has 2⁶³ − 1',
};

/** Models that ONNX refuses and Layercost costs nevertheless, each with its reason. */
const notRefused: Readonly<Record<string, string>> = {
  test_causal_conv_with_state_kernel_zero_fails:
    'a size of 0 that an input declares is read as open: exporters write it for dynamic sizes',
  test_concat_missing_shape: 'the model has a value without element type; its shape is unknown, not wrong',
  test_custom_schema_shape_inference: 'a schema that the test itself registers refuses; here a warning',
  test_dummy_graph_schema_shape_inference: 'a schema that the test itself registers refuses; here a warning',
  test_empty_graph: 'the model has a value without element type; its shape is unknown, not wrong',
  test_range_initializer_invalid: 'a tensor without payload is a model without weights, which is costed',
  test_range_initializer_invalid_rawdata:
    'a tensor without payload is a model without weights, which is costed',
  test_transpose_preexisting_incorrect_shape: 'a wrong declaration is a warning: the computed shape is used',
  test_transpose_preexisting_incorrect_type: 'a wrong declaration is a warning: the computed type is used',
};

interface RawType {
  readonly kind: string;
  readonly elem?: string | undefined;
  readonly dims?: string | readonly (number | string | null)[] | null | undefined;
  readonly of?: RawType | undefined;
}

const rawType: z.ZodType<RawType> = z.lazy(() =>
  z.object({
    kind: z.string(),
    elem: z.string().optional(),
    dims: z.union([z.string(), z.array(z.union([z.number(), z.string(), z.null()]))]).nullish(),
    of: rawType.optional(),
  }),
);

const casesSchema = z.object({
  cases: z.array(
    z.object({ test: z.string(), model_b64: z.string(), expected: z.record(z.string(), rawType) }),
  ),
  error_cases: z.array(z.object({ test: z.string(), model_b64: z.string() })),
});

function trueTypeOf(raw: RawType): TrueType {
  if (raw.kind === 'sequence' || raw.kind === 'optional' || raw.kind === 'map')
    return { kind: raw.kind, element: raw.of && trueTypeOf(raw.of) };
  return {
    kind: 'tensor',
    elementType: raw.elem === undefined ? undefined : elementTypeNamed(raw.elem),
    // Names that the reference made up say only that the size is open.
    sizes: Array.isArray(raw.dims)
      ? raw.dims.map((size) => (typeof size === 'string' && size.startsWith('unk__') ? null : size))
      : undefined,
  };
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('::') + 2);

function analyze(base64: string) {
  const { model, issues } = readOnnx(byteSourceOfBuffer(Buffer.from(base64, 'base64')));
  const analysis = model === undefined ? undefined : analyzeOnnx(model);
  return {
    values: analysis?.graph.values,
    errors: [...issues, ...(analysis?.issues ?? [])].filter(({ severity }) => severity === 'error'),
  };
}

if (!hasSharedModels) {
  test('nothing is compared: ../shared/models is absent', () => {
    expect(hasSharedModels).toBe(false);
  });
} else {
  describe('shape-inference tests of ONNX', () => {
    const { cases, error_cases: errorCases } = casesSchema.parse(
      JSON.parse(new TextDecoder().decode(readShared('onnx-shape-inference/cases.json'))),
    );

    test('no assertion is contradicted, and nearly all are reached', () => {
      const unreached = new Set<string>();
      const contradictions: string[] = [];
      const refused: string[] = [];
      let reached = 0;
      for (const { test: path, model_b64: base64, expected } of cases) {
        const name = nameOf(path);
        const { values, errors } = analyze(base64);
        refused.push(...errors.map(({ message }) => `${name}: ${message}`));
        const verdicts = Object.entries(expected).map(([value, raw]) =>
          compareTypes(values?.get(value)?.type, trueTypeOf(raw)),
        );
        if (verdicts.every((verdict) => verdict === 'equal')) reached += 1;
        else unreached.add(name);
        for (const verdict of verdicts)
          if (typeof verdict === 'object' && !(name in notReached))
            contradictions.push(`${name}: ${verdict.contradiction}`);
      }
      expect(contradictions).toEqual([]);
      expect(refused).toEqual([]);
      expect([...unreached].sort()).toEqual(Object.keys(notReached).sort());
      expect(cases.length).toBe(706);
      expect(reached).toBe(699);
    });

    test('models that must be refused are', () => {
      const accepted = new Set<string>();
      let refused = 0;
      for (const { test: path, model_b64: base64 } of errorCases) {
        if (analyze(base64).errors.length > 0) refused += 1;
        else accepted.add(nameOf(path));
      }
      expect([...accepted].sort()).toEqual(Object.keys(notRefused).sort());
      expect(errorCases.length).toBe(191);
      expect(refused).toBe(182);
    });
  });
}
