/** Linear models and support-vector machines over rows of features. */

import type { CostContext, InferenceContext, OperatorDefinition } from '../definition.ts';
import { detached } from '../vocabulary/facts.ts';
import { single, tensor } from '../vocabulary/types.ts';
import { labelsOf, lengthOfList } from './attributes.ts';
import { defineMl, featuresOf, modelCost, samplesMap, samplesOf } from './samples.ts';

/** A label for each sample, and a score for each sample and class. */
export function inferClasses(context: InferenceContext, integers: string) {
  const { elementType, count } = labelsOf(context, integers, 'classlabels_strings');
  const samples = samplesOf(context);
  const classes = count ?? Math.max(1, lengthOfList(context, 'intercepts') ?? 1);
  return { outputs: [tensor(elementType, [samples]), tensor('float32', [samples, classes])] };
}

const supportVectors = (context: CostContext): number =>
  context.int('n_supports', 0) ||
  (context.ints('vectors_per_class') ?? []).reduce((sum, count) => sum + count, 0);

/** A kernel value per support vector: one product of features, and a transcendental function. */
const vectorMachineCost = (context: CostContext) => {
  const vectors = Math.max(0, supportVectors(context));
  const isLinear = vectors === 0;
  const rows = isLinear ? Math.max(1, context.output(1)?.dimensions.at(-1) ?? 1) : vectors;
  return modelCost(context, { flops: 2 * rows * featuresOf(context), operations: 4 * rows });
};

export const linearModels: readonly OperatorDefinition[] = [
  defineMl({
    type: 'LinearClassifier',
    documentation: 'class of the highest linear score',
    inputs: [detached('X')],
    autocast: 'half',
    infer: (context) => inferClasses(context, 'classlabels_ints'),
    dimensions: samplesMap,
    cost: (context) => {
      const classes = context.output(1)?.dimensions.at(-1) ?? 1;
      return modelCost(context, { flops: 2 * classes * featuresOf(context), operations: 4 * classes });
    },
  }),
  defineMl({
    type: 'LinearRegressor',
    documentation: 'linear functions of the features',
    inputs: [detached('X')],
    autocast: 'half',
    infer: (context) =>
      single(tensor('float32', [samplesOf(context), Math.max(1, context.int('targets', 1))])),
    dimensions: samplesMap,
    cost: (context) => {
      const targets = context.output(0)?.dimensions.at(-1) ?? 1;
      return modelCost(context, { flops: 2 * targets * featuresOf(context), operations: targets });
    },
  }),
  defineMl({
    type: 'SVMClassifier',
    documentation: 'class of a support-vector machine, and scores',
    inputs: [detached('X')],
    autocast: 'half',
    infer: (context) => inferClasses(context, 'classlabels_ints'),
    dimensions: samplesMap,
    cost: vectorMachineCost,
  }),
  defineMl({
    type: 'SVMRegressor',
    documentation: 'value of a support-vector machine',
    inputs: [detached('X')],
    autocast: 'half',
    infer: (context) => single(tensor('float32', [samplesOf(context), 1])),
    dimensions: samplesMap,
    cost: vectorMachineCost,
  }),
];
