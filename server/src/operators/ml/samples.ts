import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import type {
  CostContext,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  PyTorchFacts,
} from '../definition.ts';
import type { DimensionMap } from '../dimensionMap.ts';
import { mapOfLabels } from '../dimensions/labels.ts';
import { define } from '../vocabulary/define.ts';
import { noRule } from '../vocabulary/facts.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { cost, trafficOf, unknownShapeCost, work } from '../vocabulary/work.ts';

/** A definition of the domain of classical models; the documentation names its source by itself. */
export const defineMl = (definition: {
  readonly type: string;
  readonly since?: number;
  /** Newest version whose documentation the definition follows. */
  readonly version?: number;
  readonly documentation: string;
  readonly inputs: OperatorDefinition['inputs'];
  readonly autocast: PyTorchFacts['autocast'];
  readonly infer: OperatorDefinition['infer'];
  readonly dimensions: OperatorDefinition['dimensions'];
  readonly cost: OperatorDefinition['cost'];
}): OperatorDefinition => {
  const { version, autocast, ...rest } = definition;
  return define({
    ...rest,
    domain: 'ai.onnx.ml',
    pytorch: { layer: rest.type, autocast },
    runner: noRule.classicalModel,
    documentation: `${rest.documentation} (ONNX Operators-ml, ${rest.type}-${version ?? rest.since ?? 1})`,
  });
};

/** How many samples input 0 has: [samples, features], or the features of a single one. */
export function samplesOf(context: InferenceContext): Dimension {
  const input = context.inputShape(0);
  if (input === undefined) return unknownDimension(whyUnknown(context, 0));
  return input.length < 2 ? 1 : (input[0] ?? 1);
}

/** Features of one sample, once sizes are numbers. */
export const featuresOf = (context: CostContext): number => context.input(0)?.dimensions.at(-1) ?? 0;

/** A model applied to every sample: nothing is trained through it, its tables are attributes. */
export function modelCost(
  context: CostContext,
  { flops: flopsOfSample = 0, operations }: { readonly flops?: number; readonly operations: number },
): OperatorCost {
  const input = context.input(0);
  const output = context.output(0);
  if (input === undefined || output === undefined) return unknownShapeCost;
  const samples = input.dimensions.length < 2 ? 1 : (input.dimensions[0] ?? 1);
  const outputs = Array.from({ length: context.outputCount }, (_, index) => context.output(index));
  const flops = samples * flopsOfSample;
  const forward = work({
    flops,
    operations: samples * operations,
    traffic: trafficOf(input, ...outputs),
  });
  return cost(flops > 0 ? 'matmul' : 'elementwise', forward);
}

/** Each sample by itself; the features of a single one have no samples. */
export const samplesMap = (context: InferenceContext): DimensionMap =>
  mapOfLabels(context, {
    inputs: { 0: context.inputShape(0)?.length === 2 ? ['n', undefined] : [] },
    outputs: [['n'], ['n']],
  });

/** Each sample by itself, in every input. */
export const featuresMap = (context: InferenceContext): DimensionMap =>
  mapOfLabels(context, {
    inputs: Object.fromEntries(
      Array.from({ length: context.inputCount }, (_, index) => [index, ['n', undefined]]),
    ),
    outputs: [['n', undefined]],
  });
