/**
 * Operators that read or write elements at positions given by another tensor.
 *
 * A lookup in a parameter is an embedding: its dense gradient fills a table of the parameter's size and adds the
 * rows that were used (PyTorch 2.x `embedding_dense_backward`). A lookup at one constant position is a view
 * (`select`).
 */

import { itemAt } from '../../model/at.ts';
import { isUnknown, unknownDimension } from '../../model/dimension.ts';
import type { TensorContent } from '../../model/graph.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  SavedTensor,
} from '../definition.ts';
import { unknownMap } from '../dimensionMap.ts';
import { likeInputButAxis } from '../dimensions/elementwise.ts';
import {
  gatherElementsMap,
  gatherMap,
  gatherNDMap,
  oneHotMap,
  scatterElementsMap,
  scatterNDMap,
  tensorScatterMap,
} from '../dimensions/lookups.ts';
import { integersOf, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { elementAt, gatherContent, positionOf, scalarOf } from '../vocabulary/contents.ts';
import { define, ownDomain, withdrawn } from '../vocabulary/define.ts';
import { inferLikeInput } from '../vocabulary/elementwise.ts';
import { data, detached, host, noRule, operand } from '../vocabulary/facts.ts';
import { copyCost, viewCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import {
  addTraffic,
  backwardOf,
  cost,
  isShapeArithmetic,
  needsGradient,
  savedInput,
  savedOutput,
  shapeCost,
  trafficOf,
  trafficOfElements,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';
import { dataDependentOperators } from './dataDependent.ts';

const gather = define({
  type: 'Gather',
  documentation: 'entries along an axis at given indices: selection or embedding (ONNX Operators, Gather-13)',
  inputs: [operand('data'), detached('indices')],
  traits: ['looks-up'],
  pytorch: { layer: 'Gather', weightedLayer: 'Embedding', autocast: 'widest' },
  runner: { rule: 'Gather' },
  infer: inferGather,
  dimensions: gatherMap,
  cost: gatherCost,
});

const gatherElements = define({
  type: 'GatherElements',
  since: 11,
  documentation: 'one element per index along an axis, as torch.gather (ONNX Operators, GatherElements-13)',
  inputs: [data('data'), detached('indices')],
  traits: ['looks-up'],
  pytorch: { layer: 'GatherElements', autocast: 'widest' },
  runner: { rule: 'GatherElements' },
  infer: (context) => {
    const indices = context.inputShape(1);
    return indices === undefined
      ? unknownBecause(context, 1, elementTypeOf(context, 0))
      : single(tensor(elementTypeOf(context, 0), indices));
  },
  dimensions: gatherElementsMap,
  cost: (context) =>
    copyCost(context, {
      readsWhatItGives: true,
      // PyTorch tools/autograd/derivatives.yaml, `gather_backward(grad, self, dim, index, sparse_grad)`.
      saved: [savedInput(0), savedInput(1)],
      scatters: true,
    }),
});

const gatherND = define({
  type: 'GatherND',
  since: 11,
  documentation: 'slices at coordinates given by the last axis of the indices (ONNX Operators, GatherND-13)',
  inputs: [data('data'), detached('indices')],
  pytorch: { layer: 'GatherND', autocast: 'widest' },
  runner: { rule: 'GatherND' },
  infer: inferGatherND,
  dimensions: gatherNDMap,
  cost: (context) => copyCost(context, { readsWhatItGives: true, saved: [savedInput(1)], scatters: true }),
});

const scatters = (['ScatterElements', 'Scatter', 'ScatterND', 'TensorScatter'] as const).map((type) =>
  define({
    type,
    since: { ScatterElements: 11, Scatter: 9, ScatterND: 11, TensorScatter: 24 }[type],
    documentation: {
      ScatterElements: 'the input with one element per index replaced (ONNX Operators, ScatterElements-18)',
      Scatter: 'the input with one element per index replaced (ONNX Operators, Scatter-9)',
      ScatterND: 'the input with slices at given coordinates replaced (ONNX Operators, ScatterND-18)',
      TensorScatter: 'a cache with new entries written in place (ONNX Operators, TensorScatter-24)',
    }[type],
    inputs:
      type === 'TensorScatter'
        ? [data('past_cache'), data('update'), detached('write_indices')]
        : [data('data'), detached('indices'), data('updates')],
    pytorch: { layer: type, autocast: 'widest' },
    runner: type.startsWith('ScatterE') || type === 'ScatterND' ? { rule: type } : noRule.unwritten,
    infer: (context) => {
      const input = context.inputType(0);
      return input === undefined
        ? unknownBecause(context, 0)
        : single(input, type === 'ScatterND' ? scatterNDContent(context) : undefined);
    },
    dimensions: {
      ScatterElements: scatterElementsMap,
      Scatter: scatterElementsMap,
      ScatterND: scatterNDMap,
      TensorScatter: tensorScatterMap,
    }[type],
    cost: (context) => copyCost(context, { saved: savedByScatter(context, type) }),
  }),
);

/** `torch.scatter_reduce`: ONNX has its sums as those of `scatter_add`, and its means not at all. */
const scatterReduce = define({
  type: 'ScatterReduce',
  domain: ownDomain,
  documentation:
    'the input with elements of each index reduced into one (torch.Tensor.scatter_reduce of PyTorch 2.13, ScatterReduce-1)',
  inputs: [data('data'), detached('indices'), data('updates')],
  pytorch: { layer: 'ScatterReduce', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => inferLikeInput(context),
  dimensions: scatterElementsMap,
  cost: (context) => copyCost(context, { saved: savedByScatterReduce }),
});

/** How many elements the mask takes, only the step knows; it copies the data whole, whatever that is. */
const maskedScatter = define({
  type: 'MaskedScatter',
  domain: ownDomain,
  documentation:
    'the input with those of a source where a mask holds (torch.Tensor.masked_scatter of PyTorch 2.13, MaskedScatter-1)',
  inputs: [data('data'), detached('mask'), data('source')],
  pytorch: { layer: 'MaskedScatter', autocast: 'widest' },
  runner: { rule: 'MaskedScatter' },
  infer: (context) => inferLikeInput(context),
  dimensions: () => unknownMap('the mask says where each element of the source goes'),
  // PyTorch 2.13 tools/autograd/derivatives.yaml, `masked_scatter`: the mask, and the sizes of the source.
  cost: (context) => copyCost(context, { saved: [savedInput(1)] }),
});

const savedByScatterReduce: readonly SavedTensor[] = [
  savedInput(0),
  savedInput(1),
  savedInput(2),
  savedOutput(0),
];

/**
 * What backward of a scatter reads (PyTorch 2.13 tools/autograd/derivatives.yaml). `scatter_reduce` keeps all it takes and gives,
 * `index_add` its source, `scatter`, `scatter_add` and `index_put` the positions alone.
 *
 * Exporters write two functions alike. A sum by `ScatterElements` is taken as `scatter_add`, which libraries of graph networks
 * call, not as `scatter_reduce`, unless the call is recorded; a sum by `ScatterND` along one axis as `index_add`, not as `index_put(accumulate=True)`.
 */
function savedByScatter(context: CostContext, type: string): readonly SavedTensor[] {
  const reduction = context.string('reduction', 'none');
  if (type === 'ScatterElements' && reduction !== 'none' && reduction !== 'add') return savedByScatterReduce;
  const isIndexAdd = type === 'ScatterND' && reduction === 'add' && context.input(1)?.dimensions.at(-1) === 1;
  return isIndexAdd ? [savedInput(1), savedInput(2)] : [savedInput(1)];
}

const topK = define({
  type: 'TopK',
  documentation:
    'the k largest or smallest elements along an axis, and their indices (ONNX Operators, TopK-24)',
  inputs: [data('X'), host('K')],
  pytorch: { layer: 'TopK', autocast: 'widest' },
  runner: { rule: 'TopK' },
  infer: (context) => {
    const input = context.inputShape(0);
    const elementType = elementTypeOf(context, 0);
    if (input === undefined) {
      const reason = whyUnknown(context, 0);
      return { outputs: [tensorOfUnknownShape(elementType, reason), tensorOfUnknownShape('int64', reason)] };
    }
    const axis = normalizeAxis(context.int('axis', -1), input.length);
    if (axis === undefined)
      return mismatch(`axis ${context.int('axis', -1)} lies outside the input ${printShape(input)}`);
    const given = integersOf(context, 1, 'k');
    const count = given.kind === 'known' ? given.values[0] : undefined;
    const shape = input.map((size, position) =>
      position === axis ? (count ?? unknownDimension(whyUnknown(context, 1), size)) : size,
    );
    const size = input[axis];
    const outputs = [tensor(elementType, shape), tensor('int64', shape)];
    return typeof size === 'number' && typeof count === 'number' && count > size
      ? mismatch(
          `axis ${axis} of ${printShape(input)} has ${size} elements, fewer than the ${count} asked for`,
          ...outputs,
        )
      : { outputs };
  },
  dimensions: (context) => likeInputButAxis(context, 'axis', -1),
  cost: (context) => {
    const input = context.input(0);
    const logarithm = Math.ceil(Math.log2(Math.max(2, input?.dimensions.at(-1) ?? 2)));
    return copyCost(context, {
      perInput: logarithm,
      saved: [savedOutput(1)],
      scatters: true,
    });
  },
});

const oneHot = define({
  type: 'OneHot',
  since: 9,
  documentation: 'a new axis with one value at the index and another elsewhere (ONNX Operators, OneHot-28)',
  inputs: [detached('indices'), host('depth'), detached('values')],
  pytorch: { layer: 'OneHot', autocast: 'widest' },
  runner: { rule: 'OneHot' },
  infer: (context) => {
    const indices = context.inputShape(0);
    const elementType = elementTypeOf(context, 2);
    if (indices === undefined) return unknownBecause(context, 0, elementType);
    const depth = scalarOf(context, 1) ?? unknownDimension(whyUnknown(context, 1));
    const axis = normalizeAxis(context.int('axis', -1), indices.length + 1);
    if (axis === undefined)
      return mismatch(`axis ${context.int('axis', -1)} cannot be inserted into ${printShape(indices)}`);
    return single(tensor(elementType, [...indices.slice(0, axis), depth, ...indices.slice(axis)]));
  },
  dimensions: (context) => oneHotMap(context),
  cost: (context) => copyCost(context),
});

export const indexingOperators: readonly OperatorDefinition[] = [
  gather,
  gatherElements,
  gatherND,
  ...scatters.map((definition) =>
    definition.type === 'Scatter' ? withdrawn(11, 'ScatterElements', definition) : definition,
  ),
  scatterReduce,
  maskedScatter,
  topK,
  oneHot,
  ...dataDependentOperators,
];

function inferGather(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const indices = context.inputShape(1);
  if (indices === undefined) return unknownBecause(context, 1, elementType);
  const axis = normalizeAxis(context.int('axis', 0), input.length);
  if (axis === undefined) {
    return mismatch(`axis ${context.int('axis', 0)} lies outside the input ${printShape(input)}`);
  }
  const type = tensor(elementType, [...input.slice(0, axis), ...indices, ...input.slice(axis + 1)]);
  const positions = context.inputContent(1);
  const numbers = positions && numbersOf(positions.elements);
  const size = input[axis];
  const outside = numbers?.find((index) => typeof size === 'number' && (index < -size || index >= size));
  if (outside !== undefined) {
    return mismatch(`index ${outside} lies outside axis ${axis} of ${printShape(input)}`, type);
  }
  const elements =
    positions && numbers && typeof size === 'number'
      ? gatherContent(context.inputContent(0), type.shape, (coordinates) => {
          const at = positionOf(coordinates.slice(axis, axis + indices.length), positions.shape);
          const index = normalizeAxis(itemAt(numbers, at), size);
          return index === undefined
            ? undefined
            : [...coordinates.slice(0, axis), index, ...coordinates.slice(axis + indices.length)];
        })
      : undefined;
  return single(type, elements);
}

function gatherCost(context: CostContext): OperatorCost {
  if (isShapeArithmetic(context) && !needsGradient(context)) return shapeCost;
  const table = context.input(0);
  const indices = context.input(1);
  const output = context.output(0);
  if (table === undefined || indices === undefined || output === undefined) return unknownShapeCost;
  // `aten::embedding` takes a matrix; what is chosen from more axes (experts) is copied, as `GatherND` does.
  const isEmbedding = table.dimensions.length === 2 && context.int('axis', 0) === 0;
  // An index without axes is `select`, a view, also where the step computes it (torch/csrc/autograd/python_variable_indexing.cpp).
  if (indices.dimensions.length === 0 && (!isEmbedding || context.inputContent(1) !== undefined)) {
    return viewCost(context, 'scatter');
  }
  if (!isEmbedding) {
    return copyCost(context, { read: output.elements, saved: [savedInput(1)], scatters: true });
  }
  const read = trafficOfElements(table, output.elements);
  const forward = work({ traffic: addTraffic(read, trafficOf(indices, output)) });
  if (!needsGradient(context)) return cost('embedding', forward);
  const { data, weight } = backwardOf(context, () =>
    work({
      operations: output.elements,
      traffic: addTraffic(trafficOf(table, output, indices, output), read),
      kernels: 2,
    }),
  );
  return cost('embedding', forward, { data, weight, saved: [savedInput(1)] });
}

/** indices.shape[:-1] ++ data.shape[batch_dims + indices.shape[-1]:] (ONNX Operators, GatherND-13). */
function inferGatherND(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const indices = context.inputShape(1);
  if (indices === undefined) return unknownBecause(context, 1, elementType);
  const depth = indices.at(-1);
  if (typeof depth !== 'number') {
    const reason =
      depth !== undefined && isUnknown(depth) ? depth.reason : 'the last size of the indices is symbolic';
    return single(tensorOfUnknownShape(elementType, reason));
  }
  const begin = context.int('batch_dims', 0) + depth;
  const type = tensor(elementType, [...indices.slice(0, -1), ...input.slice(begin)]);
  if (begin > input.length) {
    return mismatch(
      `indices ${printShape(indices)} have more coordinates than ${printShape(input)} has axes`,
      type,
    );
  }
  return single(type);
}

/** Exporters replace single entries of a shape this way. */
function scatterNDContent(context: InferenceContext): TensorContent | undefined {
  const input = context.inputContent(0);
  const indices = context.inputContent(1);
  const updates = context.inputContent(2);
  if (input?.shape.length !== 1 || indices === undefined || updates === undefined) return undefined;
  const numbers = numbersOf(indices.elements);
  const [length] = input.shape;
  if (numbers === undefined || length === undefined || context.string('reduction', 'none') !== 'none')
    return undefined;
  const elements = [...input.elements];
  for (const [position, index] of numbers.entries()) {
    const target = normalizeAxis(index, length);
    if (target === undefined) return undefined;
    elements[target] = elementAt(updates, position);
  }
  return { shape: input.shape, elements };
}
