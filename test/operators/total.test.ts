/** Rules are total: whatever an operator is applied to, they answer, and no number they give is not a number. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Dimension, isUnknown, symbol, unknownDimension } from '../../server/src/model/dimension.ts';
import type { ElementType } from '../../server/src/model/elementType.ts';
import { isKnownShape, type TensorContent, type ValueType } from '../../server/src/model/graph.ts';
import {
  type AttributeShorthand,
  attributesOf,
  boundTensor,
  makeCostContext,
  makeInferenceContext,
} from '../../server/src/operators/context.ts';
import { knownOperators } from '../../server/src/operators/registry.ts';

const dimension: fc.Arbitrary<Dimension> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 9 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Dimension>(-1, 1_000_000_007, symbol('n'), unknownDimension('hidden')),
  },
);
const elementType = fc.constantFrom<ElementType>(
  'float32',
  'int64',
  'bool',
  'float16',
  'string',
  'undefined',
);
const tensorType: fc.Arbitrary<ValueType> = fc.record({
  kind: fc.constant('tensor' as const),
  elementType,
  shape: fc.oneof(
    { weight: 5, arbitrary: fc.array(dimension, { maxLength: 5 }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'unknown-shape' as const, reason: 'hidden' }) },
  ),
});
const valueType: fc.Arbitrary<ValueType> = fc.oneof(
  { weight: 12, arbitrary: tensorType },
  { weight: 1, arbitrary: tensorType.map((element): ValueType => ({ kind: 'sequence', element })) },
  { weight: 1, arbitrary: fc.constant<ValueType>({ kind: 'unknown', reason: 'hidden' }) },
);
const content: fc.Arbitrary<TensorContent | undefined> = fc.option(
  fc
    .array(fc.oneof(dimension, fc.integer({ min: -4, max: 4 })), { maxLength: 5 })
    .map((elements) => ({ shape: elements.length === 1 ? [] : [elements.length], elements })),
  { nil: undefined },
);
const names = [
  'axis',
  'axes',
  'perm',
  'kernel_shape',
  'strides',
  'pads',
  'dilations',
  'group',
  'split',
  'num_outputs',
  'k',
  'to',
  'equation',
  'blocksize',
  'keepdims',
  'start',
  'end',
  'hidden_size',
  'direction',
  'q_num_heads',
  'kv_num_heads',
  'batch_dims',
  'scales',
  'num_groups',
  'auto_pad',
  'ceil_mode',
  'allowzero',
  'reduction',
];
const attributes = fc.dictionary(
  fc.constantFrom(...names),
  fc.oneof(
    fc.integer({ min: -3, max: 9 }).map((value): AttributeShorthand => value),
    fc.array(fc.integer({ min: -2, max: 5 }), { maxLength: 5 }).map((value): AttributeShorthand => value),
    fc.constantFrom<AttributeShorthand>('bidirectional', 'SAME_UPPER', 'ij,jk->ik', '...i->i', '', 0.5),
  ),
  { maxKeys: 4 },
);
const operator = fc.constantFrom(...knownOperators());
const application = fc.record({
  inputs: fc.array(fc.option(valueType, { nil: undefined }), { maxLength: 6 }),
  contents: fc.array(content, { maxLength: 6 }),
  attributes,
  opset: fc.integer({ min: 1, max: 28 }),
  outputCount: fc.integer({ min: 1, max: 4 }),
});

test('shape rules answer everything', () => {
  fc.assert(
    fc.property(operator, application, (definition, facts) => {
      const inference = definition.infer(
        makeInferenceContext({
          ...facts,
          attributes: attributesOf(facts.attributes),
          inferSubgraph: (_, inputs) => inputs,
        }),
      );
      for (const type of inference.outputs) {
        if (type.kind !== 'tensor' || !isKnownShape(type.shape)) continue;
        for (const size of type.shape) {
          if (typeof size === 'number') expect(Number.isNaN(size), definition.type).toBe(false);
        }
      }
    }),
    { numRuns: 6000 },
  );
});

test('no input that is there is called missing', () => {
  fc.assert(
    fc.property(operator, application, (definition, facts) => {
      const { outputs } = definition.infer(
        makeInferenceContext({
          ...facts,
          attributes: attributesOf(facts.attributes),
          inferSubgraph: (_, inputs) => inputs,
        }),
      );
      for (const reason of outputs.flatMap(reasonsOf)) {
        const missing = /^input (\d+) is missing$/.exec(reason)?.[1];
        if (missing !== undefined) expect(facts.inputs[Number(missing)], definition.type).toBeUndefined();
      }
    }),
    { numRuns: 6000 },
  );
});

function reasonsOf(type: ValueType): readonly string[] {
  if (type.kind === 'unknown') return [type.reason];
  if (type.kind !== 'tensor') return reasonsOf(type.kind === 'map' ? type.value : type.element);
  return isKnownShape(type.shape)
    ? type.shape.flatMap((size) => (isUnknown(size) ? [size.reason] : []))
    : [type.shape.reason];
}

test('dimension maps answer everything, with places that exist', () => {
  fc.assert(
    fc.property(operator, application, (definition, facts) => {
      const map = definition.dimensions(
        makeInferenceContext({
          ...facts,
          attributes: attributesOf(facts.attributes),
          inferSubgraph: (_, inputs) => inputs,
        }),
      );
      if (map.kind === 'unknown') {
        expect(map.reason, definition.type).not.toBe('');
        return;
      }
      for (const factor of map.factors) {
        for (const { tensor, axis } of factor.inputs) {
          const type = facts.inputs[tensor];
          const rank = type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape.length : 0;
          expect(axis, definition.type).toBeLessThan(rank);
        }
        for (const { tensor } of factor.outputs)
          expect(tensor, definition.type).toBeLessThan(facts.outputCount);
        expect(factor.outputs.length + (factor.partial?.outputs.length ?? 0)).toBeGreaterThan(0);
      }
    }),
    { numRuns: 6000 },
  );
});

test('cost rules answer everything, with nothing negative', () => {
  const bound = fc.option(
    fc
      .tuple(elementType, fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 5 }))
      .map(([type, sizes]) => boundTensor(type, sizes)),
    { nil: undefined },
  );
  const facts = fc.record({
    opset: fc.integer({ min: 1, max: 28 }),
    inputs: fc.array(bound, { maxLength: 6 }),
    outputs: fc.array(bound, { minLength: 1, maxLength: 4 }),
    gradients: fc.array(fc.constantFrom('weight' as const, 'data' as const, 'none' as const), {
      maxLength: 6,
    }),
    attributes: fc
      .record({
        group: fc.integer({ min: 1, max: 4 }),
        kernel_shape: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 3 }),
      })
      .map(attributesOf),
  });
  fc.assert(
    fc.property(operator, facts, (definition, given) => {
      const cost = definition.cost(makeCostContext(given));
      if (cost.kind === 'unknown') {
        expect(cost.reason).not.toBe('');
        return;
      }
      for (const { flops, operations, traffic, kernels } of [
        cost.forward,
        cost.backwardData,
        cost.backwardWeight,
      ]) {
        for (const number of [flops, operations, traffic.float32Elements, traffic.fixedBytes, kernels]) {
          expect(number, definition.type).toBeGreaterThanOrEqual(0);
        }
      }
    }),
    { numRuns: 6000 },
  );
});

test('a list of sizes that claims a billion entries fills no memory', () => {
  const claimed: ValueType = { kind: 'tensor', elementType: 'int64', shape: [1_000_000_007] };
  const data: ValueType = { kind: 'tensor', elementType: 'float32', shape: [2, 3, 4] };
  for (const definition of knownOperators()) {
    const context = makeInferenceContext({
      inputs: [data, claimed, claimed, claimed],
      contents: [],
      attributes: attributesOf({}),
      opset: 28,
      outputCount: 1,
      inferSubgraph: (_, inputs) => inputs,
    });
    expect(['known', 'unknown'], definition.type).toContain(definition.dimensions(context).kind);
  }
});
