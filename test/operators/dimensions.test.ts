/**
 * Dimension maps against execution, and by shape.
 *
 * `dimensions.jsonl` holds cases whose factors were each divided into two parts, executed and put together by
 * `scripts/dimensions/execute.py`: maps are still those that were proved. By shape, where a factor has more indices, exactly
 * the output dimensions that it is in are larger, by as much.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mapOfRecord } from '../../scripts/dimensions/recordedCase.ts';
import { isUnknown } from '../../server/src/model/dimension.ts';
import { isKnownShape } from '../../server/src/model/graph.ts';
import type { OperatorDefinition } from '../../server/src/operators/definition.ts';
import { type Factor, roleOf } from '../../server/src/operators/dimensionMap.ts';
import { knownOperators } from '../../server/src/operators/registry.ts';
import { casesOf, proofs } from './casesOfOperators.ts';
import { type DimensionCase, grown, grownShape, inferenceOf, mapOf } from './dimensionCases.ts';

/** Operators that nothing at hand executes, or that have no dimensions. */
const notExecuted: Readonly<Record<string, readonly string[]>> = {
  'a subgraph decides': [
    ...[':If', ':Loop', ':Scan', ':SequenceMap', 'ai.onnx.preview.training:Gradient'],
    ...['BeamSearch', 'GreedySearch', 'Sampling', 'WhisperBeamSearch'].map((type) => `com.microsoft:${type}`),
  ],
  'lists, optionals and maps have no dimensions': [
    ...['ConcatFromSequence', 'SequenceAt', 'SequenceConstruct', 'SequenceEmpty', 'SequenceErase'],
    ...['SequenceInsert', 'SequenceLength', 'SplitToSequence'],
    ...['Optional', 'OptionalGetElement', 'OptionalHasElement'],
  ]
    .map((type) => `:${type}`)
    .concat(['CastMap', 'DictVectorizer', 'ZipMap'].map((type) => `ai.onnx.ml:${type}`)),
  'neither the reference nor ONNX Runtime on a CPU has it': [
    ...[
      ':ConstantFill',
      ':Scale',
      'ai.onnx.contrib:FastGelu',
      ...[
        'Bilinear',
        'ComplexAbs',
        'ComplexView',
        'FourierTransform',
        'GroupedMatMul',
        'PairwiseDistance',
      ].map((type) => `layercost:${type}`),
      'layercost:FakeQuantize',
      'layercost:ProjectedLSTM',
      'layercost:MaskedScatter',
      'layercost:ScatterReduce',
      ...['GatedDeltaRule', 'SelectiveScan', 'StateSpaceScan'].map((type) => `layercost:${type}`),
    ],
    ...['AveragePool', 'Conv', 'GlobalAveragePool', 'GlobalMaxPool', 'MaxPool', 'ReorderInput']
      .concat(['ReorderOutput', 'Upsample'])
      .map((type) => `com.microsoft.nchwc:${type}`),
    ...['BiasAdd', 'BiasDropout', 'BiasSoftmax', 'BiasSplitGelu', 'ComplexMul', 'ComplexMulConj']
      .concat(['DecoderMaskedMultiHeadAttention', 'FusedMatMulActivation', 'GemmFastGelu', 'GemmFloat8'])
      .concat(['GroupNorm', 'IsAllFinite', 'MatMulBnb4', 'MatMulInteger16', 'MulInteger', 'NhwcConv'])
      .concat(['NhwcFusedConv', 'PagedAttention', 'QMoE', 'QOrderedGelu', 'QOrderedLayerNormalization'])
      .concat(['QOrderedMatMul', 'RelativePositionBias', 'RemovePadding', 'RestorePadding'])
      .concat(['SimplifiedLayerNormalization', 'SkipGroupNorm', 'SparseAttention', 'TorchEmbedding'])
      .map((type) => `com.microsoft:${type}`),
    ...['qonnx.custom_op.general', 'onnx.brevitas', 'finn.custom_op.general'].flatMap((domain) =>
      ['BipolarQuant', 'FloatQuant', 'Im2Col', 'IntQuant', 'MultiThreshold', 'Quant', 'QuantAvgPool2d']
        .concat(['Trunc', 'XnorPopcountMatMul'])
        .map((type) => `${domain}:${type}`),
    ),
    ...['mmcv', 'mmdeploy'].flatMap((domain) =>
      ['MMCVDeformConv2d', 'MMCVModulatedDeformConv2d', 'MMCVRoiAlign', 'grid_sampler'].map(
        (type) => `${domain}:${type}`,
      ),
    ),
  ],
};

test('every operator was executed in parts, or says why not', () => {
  const executed = new Set(proofs.map(({ domain, type }) => `${domain}:${type}`));
  const names = new Set(knownOperators().map(({ domain, type }) => `${domain}:${type}`));
  const missing = [...names].filter((name) => !executed.has(name)).sort();
  expect(missing).toEqual(Object.values(notExecuted).flat().sort());
});

describe('parts put together are the whole', () => {
  test.each(proofs.map((proof) => [proof.name, proof] as const))('%s', (_, proof) => {
    expect(mapOfRecord(proof)).toEqual({ kind: 'known', factors: proof.factors });
    expect(proof.results.length).toBe(proof.factors.length);
    for (const [index, result] of proof.results.entries()) {
      if (result === 'single') continue;
      if (proof.factors[index]?.coupled === undefined) expect(result).toBe('equal');
    }
  });
});

describe('a factor that grows makes exactly its dimensions larger', () => {
  test.each(knownOperators().map((definition) => [nameOf(definition), definition] as const))(
    '%s',
    (_, definition) => {
      for (const given of casesOf(definition)) {
        fc.assert(
          fc.property(fc.array(fc.tuple(fc.nat(), fc.constantFrom(2, 3)), { maxLength: 4 }), (steps) => {
            let current = given;
            for (const [choice, times] of steps) {
              const map = mapOf(current);
              if (map.kind === 'unknown') {
                expect(map.reason).not.toBe('');
                return;
              }
              const factor = map.factors[choice % Math.max(1, map.factors.length)];
              if (factor === undefined) return;
              const next = grown(current, factor, times);
              expectGrown(current, next, factor, times);
              current = next;
            }
          }),
          { numRuns: 20 },
        );
      }
    },
  );
});

function nameOf({ domain, type, since }: OperatorDefinition): string {
  return `${domain}:${type}-${since}`;
}

function expectGrown(before: DimensionCase, after: DimensionCase, factor: Factor, times: number): void {
  const label = JSON.stringify({ inputs: before.inputs, factor });
  const [small, large] = [inferenceOf(before), inferenceOf(after)];
  expect(large.problem, label).toBeUndefined();
  for (const [tensor, type] of small.outputs.slice(0, before.outputCount).entries()) {
    const other = large.outputs[tensor];
    if (type.kind !== 'tensor' || !isKnownShape(type.shape)) continue;
    if (other?.kind !== 'tensor' || !isKnownShape(other.shape))
      throw new Error(`output ${tensor} of ${label}`);
    const expected = grownShape(type.shape, factor.outputs, tensor, times);
    for (const [axis, size] of expected.entries()) {
      if (isUnknown(size)) continue;
      expect(other.shape[axis], `output ${tensor}, axis ${axis}: ${label}`).toEqual(size);
    }
  }
}

test('a dimension is kept, contracted or private', () => {
  const product = casesOf(definitionOf('MatMul'))
    .map(mapOf)
    .find((map) => map.kind === 'known' && map.factors.length === 3);
  if (product?.kind !== 'known') throw new Error('no map of a product of matrices');
  expect([0, 1].map((axis) => roleOf(product, 0, axis))).toEqual(['kept', 'contracted']);
  expect([0, 1].map((axis) => roleOf(product, 1, axis))).toEqual(['contracted', 'kept']);
  const [softmax] = casesOf(definitionOf('Softmax'))
    .map(mapOf)
    .filter((map) => map.kind === 'known');
  if (softmax?.kind !== 'known') throw new Error('no map of a softmax');
  expect(roleOf(softmax, 0, 0)).toBe('kept');
  expect(roleOf(softmax, 0, 1)).toBe('private');
});

function definitionOf(type: string): OperatorDefinition {
  const found = knownOperators().find((definition) => definition.type === type && definition.domain === '');
  if (found === undefined) throw new Error(`${type} is not defined`);
  return found;
}
