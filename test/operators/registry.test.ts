import { describe, expect, test } from 'vitest';
import type { ValueType } from '../../server/src/model/graph.ts';
import { makeInferenceContext } from '../../server/src/operators/context.ts';
import { findOperator, knownOperators } from '../../server/src/operators/registry.ts';
import { onnxSchemas } from './onnxSchemas.ts';

test('the default domain has two names', () => {
  expect(findOperator('', 'Conv', 17)).toBeDefined();
  expect(findOperator('ai.onnx', 'Conv', 17)).toBe(findOperator('', 'Conv', 17));
});

test('other domains and unknown types have no definition', () => {
  expect(findOperator('com.example', 'Conv', 17)).toBeUndefined();
  expect(findOperator('', 'Convolution', 17)).toBeUndefined();
});

describe.each(Object.entries(onnxSchemas))('operators of `%s` as ONNX 1.23.1 has them', (domain, schemas) => {
  test('every version of each has a definition that holds for it', () => {
    const missing = Object.entries(schemas).flatMap(([type, versions]) =>
      versions
        .filter(
          (version) => (findOperator(domain, type, Math.abs(version))?.since ?? Infinity) > Math.abs(version),
        )
        .map((version) => `${type}-${version}`),
    );
    expect(missing).toEqual([]);
  });

  test('the newest definition names the newest version', () => {
    const outdated = Object.entries(schemas).flatMap(([type, versions]) => {
      const newest = versions.findLast((version) => version > 0);
      const documentation = findOperator(domain, type, 99)?.documentation ?? '';
      return documentation.endsWith(`${type}-${newest})`) ? [] : [`${type}-${newest}: ${documentation}`];
    });
    expect(outdated).toEqual([]);
  });

  test('what was withdrawn is refused', () => {
    for (const [type, versions] of Object.entries(schemas)) {
      // GroupNormalization-18 was replaced by one of the same name.
      const withdrawn = versions.at(-1);
      if (withdrawn === undefined || withdrawn > 0) continue;
      const inputs = Array.from(
        { length: 3 },
        (): ValueType => ({ kind: 'tensor', elementType: 'float32', shape: [2] }),
      );
      const inference = findOperator(domain, type, -withdrawn)?.infer(
        makeInferenceContext({ opset: -withdrawn, inputs }),
      );
      expect(inference?.problem?.message, type).toMatch(/withdrawn/);
    }
  });
});

test.each([
  // ONNX Runtime docs/ContribOperators.md, those that exported transformers and quantized models use.
  [
    'com.microsoft',
    'Attention BiasGelu CausalConvWithState DecoderMaskedMultiHeadAttention DynamicQuantizeMatMul EmbedLayerNormalization FastGelu FusedConv FusedGemm FusedMatMul Gelu GemmFastGelu GroupQueryAttention LinearAttention MatMulIntegerToFloat MatMulNBits MoE MultiHeadAttention PagedAttention QAttention QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearConv QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearSoftmax QLinearWhere QMoE QuickGelu RotaryEmbedding SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization',
  ],
])('%s is known', (domain, types) => {
  expect(types.split(' ').filter((type) => findOperator(domain, type, 1) === undefined)).toEqual([]);
});

test('definitions are unique and documented with their source', () => {
  const names = new Set<string>();
  for (const { domain, type, since, documentation } of knownOperators()) {
    const name = `${domain}:${type}:${since}`;
    expect(names.has(name), name).toBe(false);
    names.add(name);
    expect(documentation, name).toMatch(new RegExp(`\\(.*${type}-\\d+\\)$`));
    expect(documentation.length, name).toBeLessThan(120);
  }
});
