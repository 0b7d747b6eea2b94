/** Normalizations of ONNX Runtime: of a sum with a residual, of embeddings, and without a mean. */

import { countElements } from '../../model/countElements.ts';
import type { Dimension } from '../../model/dimension.ts';
import type { ValueType } from '../../model/graph.ts';
import type { Inference, InferenceContext, OperatorDefinition } from '../definition.ts';
import { contribGroupNormalizationMap, embeddingSumMap } from '../dimensions/fused.ts';
import { layerNormalizationMap } from '../dimensions/normalizations.ts';
import { inferWithStatistics, normalizationCost, rowsOf } from '../nn/normalization.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { contribDomain, define, defineContrib } from '../vocabulary/define.ts';
import { inferLikeInput } from '../vocabulary/elementwise.ts';
import { data, detached, noRule, weight } from '../vocabulary/facts.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import {
  addTraffic,
  backwardOf,
  cost,
  needsGradient,
  savedInput,
  trafficOf,
  trafficOfElements,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

/** ONNX Runtime writes RMS normalization into the default domain too, where the standard has no such name. */
const simplified = ['', contribDomain].map((domain) =>
  define({
    type: 'SimplifiedLayerNormalization',
    domain,
    documentation:
      'division by the root mean square over the last axes (ONNX Runtime operators, SimplifiedLayerNormalization-1)',
    inputs: [data('X'), weight('scale')],
    pytorch: { layer: 'RMSNorm', autocast: 'widest' },
    runner: noRule.onnxRuntime,
    infer: (context) => inferWithStatistics(context, -1),
    dimensions: (context) => layerNormalizationMap(context, { beside: [1] }),
    cost: (context) =>
      normalizationCost(context, { operations: 4, reads: 1, statistics: rowsOf(context, -1) }),
  }),
);

const skipped = (
  [
    ['SkipLayerNormalization', 'layer normalization of a sum with a residual and a bias', 9, 2],
    ['SkipSimplifiedLayerNormalization', 'RMS normalization of a sum with a residual and a bias', 5, 1],
  ] as const
).map(([type, documentation, operations, statistics]) =>
  defineContrib({
    type,
    documentation,
    inputs: {
      SkipLayerNormalization: [data('input'), data('skip'), weight('gamma'), weight('beta'), weight('bias')],
      SkipSimplifiedLayerNormalization: [data('input'), data('skip'), weight('gamma'), weight('bias')],
    }[type],
    pytorch: { layer: type, autocast: 'widest' },
    infer: inferSkipped,
    dimensions: (context) =>
      layerNormalizationMap(context, {
        beside: type === 'SkipLayerNormalization' ? [1, 2, 3, 4] : [1, 2, 3],
      }),
    cost: (context) =>
      normalizationCost(context, {
        operations,
        reads: 1,
        statistics: statistics * rowsOf(context, -1),
        residual: 1,
      }),
  }),
);

const groupNorms = (['GroupNorm', 'SkipGroupNorm'] as const).map((type) =>
  defineContrib({
    type,
    documentation:
      type === 'GroupNorm'
        ? 'group normalization with an activation behind it'
        : 'group normalization of a sum with a residual',
    inputs: {
      GroupNorm: [data('X'), weight('gamma'), weight('beta')],
      SkipGroupNorm: [data('X'), weight('gamma'), weight('beta'), data('skip'), data('bias')],
    }[type],
    pytorch: { layer: type, autocast: 'widest' },
    infer: (context) => {
      const first = inferLikeInput(context);
      return context.outputCount > 1 ? { ...first, outputs: [...first.outputs, ...first.outputs] } : first;
    },
    dimensions: contribGroupNormalizationMap,
    cost: (context) => {
      const [batch = 1] = context.input(0)?.dimensions ?? [];
      const operations = 8 + (context.int('activation', 0) === 1 ? 5 : 0) + (type === 'GroupNorm' ? 0 : 1);
      return normalizationCost(context, {
        operations,
        reads: 2,
        statistics: 2 * batch * context.int('groups', 1),
      });
    },
  }),
);

const embedding = defineContrib({
  type: 'EmbedLayerNormalization',
  documentation: 'layer normalization of the sum of three embeddings',
  inputs: [
    detached('input_ids'),
    detached('segment_ids'),
    weight('word_embedding'),
    weight('position_embedding'),
    weight('segment_embedding'),
    weight('gamma'),
    weight('beta'),
    detached('mask'),
    detached('position_ids'),
  ],
  pytorch: { layer: 'EmbedLayerNormalization', autocast: 'widest' },
  infer: inferEmbedding,
  dimensions: embeddingSumMap,
  cost: (context) => {
    const ids = context.input(0);
    const output = context.output(0);
    const words = context.input(2);
    const positions = context.input(3);
    if (ids === undefined || output === undefined || words === undefined || positions === undefined)
      return unknownShapeCost;
    const tables = context.hasInput(4) ? 3 : 2;
    const looked = trafficOfElements(words, tables * output.elements);
    const rest = [0, 1, 5, 6, 7, 8].map((index) => context.input(index));
    const forward = work({
      operations: (8 + tables) * output.elements,
      traffic: addTraffic(looked, trafficOf(...rest, output, context.output(1), context.output(2))),
    });
    if (!needsGradient(context)) return cost('embedding', forward);
    const { data, weight } = backwardOf(context, (index) => {
      const target = context.input(index);
      return work({
        operations: 2 * output.elements,
        traffic: addTraffic(trafficOf(target, output), trafficOfElements(output, output.elements)),
        kernels: index >= 2 && index <= 4 ? 2 : 1,
      });
    });
    const rows = countElements(output.dimensions.slice(0, -1));
    return cost('embedding', forward, {
      data,
      weight,
      saved: [
        savedInput(0),
        { kind: 'extra', name: 'sum of embeddings', traffic: trafficOf(output) },
        { kind: 'extra', name: 'statistics', traffic: { float32Elements: 0, fixedBytes: 8 * rows } },
      ],
    });
  },
});

export const contribNormalizations: readonly OperatorDefinition[] = [
  ...simplified,
  ...skipped,
  ...groupNorms,
  embedding,
];

/** Outputs: the result, mean, reciprocal deviation, and the sum that was normalized. */
function inferSkipped(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) {
    const unknown: ValueType = tensorOfUnknownShape(elementType, whyUnknown(context, 0));
    return { outputs: [unknown, unknown, unknown, unknown] };
  }
  const type = tensor(elementType, input);
  const statistics = tensor(
    'float32',
    input.map((size, axis): Dimension => (axis === input.length - 1 ? 1 : size)),
  );
  const outputs = [type, statistics, statistics, type];
  const width = input.at(-1);
  const scale = context.inputShape(2)?.at(-1);
  return width !== undefined && scale !== undefined && contradict(width, scale)
    ? mismatch(`a scale of ${scale} elements does not fit the input ${printShape(input)}`, ...outputs)
    : { outputs };
}

function inferEmbedding(context: InferenceContext): Inference {
  const ids = context.inputShape(0);
  const words = context.inputShape(2);
  const elementType = elementTypeOf(context, 2);
  if (ids === undefined) return unknownBecause(context, 0, elementType);
  if (words === undefined) return unknownBecause(context, 2, elementType);
  const [batch, length] = ids;
  const width = words[1];
  if (batch === undefined || length === undefined || width === undefined)
    return mismatch(
      `identifiers are [batch, length] and embeddings [words, width], not ${printShape(ids)} and ${printShape(words)}`,
    );
  const output = tensor(elementType, [batch, length, width]);
  const lengths = tensor(context.inputElementType(0) ?? 'int32', [batch]);
  return { outputs: [output, lengths, output] };
}
