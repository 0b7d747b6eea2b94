import { expect, test } from 'vitest';
import { findOperator, knownOperators } from '../../server/src/operators/registry.ts';

test('the default domain has two names', () => {
  expect(findOperator('', 'Conv', 17)).toBeDefined();
  expect(findOperator('ai.onnx', 'Conv', 17)).toBe(findOperator('', 'Conv', 17));
});

test('other domains and unknown types have no definition', () => {
  expect(findOperator('com.example', 'Conv', 17)).toBeUndefined();
  expect(findOperator('', 'Convolution', 17)).toBeUndefined();
});

test('every operator that ONNX 1.23 defines and has not withdrawn is known', () => {
  const types = new Set(
    knownOperators()
      .filter((definition) => definition.domain === '')
      .map((d) => d.type),
  );
  expect(types.size).toBeGreaterThanOrEqual(203);
});

test.each([
  // ONNX docs/Operators-ml.md, all of them.
  [
    'ai.onnx.ml',
    'ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer Imputer LabelEncoder LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap',
  ],
  ['ai.onnx.preview.training', 'Adagrad Adam Gradient Momentum'],
  ['ai.onnx.preview', 'FlexAttention'],
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
