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

/**
 * An operator whose schema the test registers in ONNX's own domain: with it the shapes of its outputs are asserted, and
 * without it the same model must be refused. Nothing but that test knows the schema, so here the model is refused.
 */
const registeredByTheTest = 'test_dummy_graph_schema_shape_inference';

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

/** Sizes that a number cannot hold, as text. */
const pastNumbers = /(?<=[[,]\s*)(\d{16,})(?=\s*[,\]])/g;

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
      JSON.parse(
        new TextDecoder().decode(readShared('onnx-shape-inference/cases.json')).replace(pastNumbers, '"$1"'),
      ),
    );

    test('no assertion is contradicted, and all but one are reached', () => {
      const unreached = new Set<string>();
      const contradictions: string[] = [];
      const refused: string[] = [];
      let reached = 0;
      for (const { test: path, model_b64: base64, expected } of cases) {
        const name = nameOf(path);
        const { values, errors } = analyze(base64);
        if (errors.length > 0) refused.push(name);
        const verdicts = Object.entries(expected).map(([value, raw]) =>
          compareTypes(values?.get(value)?.type, trueTypeOf(raw)),
        );
        if (verdicts.every((verdict) => verdict === 'equal')) reached += 1;
        else unreached.add(name);
        for (const verdict of verdicts)
          if (typeof verdict === 'object') contradictions.push(`${name}: ${verdict.contradiction}`);
      }
      expect(contradictions).toEqual([]);
      expect(refused).toEqual([registeredByTheTest]);
      expect([...unreached]).toEqual([registeredByTheTest]);
      expect(cases.length).toBe(706);
      expect(reached).toBe(705);
    });

    test('models that must be refused are', () => {
      const accepted = new Set<string>();
      let refused = 0;
      for (const { test: path, model_b64: base64 } of errorCases) {
        if (analyze(base64).errors.length > 0) refused += 1;
        else accepted.add(nameOf(path));
      }
      expect([...accepted]).toEqual([]);
      expect(errorCases.length).toBe(191);
      expect(refused).toBe(191);
    });
  });
}
