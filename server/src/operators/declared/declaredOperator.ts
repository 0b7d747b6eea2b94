/**
 * The rules of an operator that a person describes in a file beside the model: shapes and work are its expressions. They
 * stand in attributes of the node, so that the node says everything by itself.
 */

import type { Attribute } from '../../model/attribute.ts';
import type { DescribedOperator } from '../../model/declaredOperator.ts';
import { type Dimension, equalDimensions, isUnknown } from '../../model/dimension.ts';
import { type ElementType, elementTypes } from '../../model/elementType.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { noWork, type Work } from '../definition.ts';
import { unknownMap } from '../dimensionMap.ts';
import { define } from '../vocabulary/define.ts';
import { noRule, operand, variadic } from '../vocabulary/facts.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
} from '../vocabulary/types.ts';
import {
  byteTraffic,
  cost,
  needsGradient,
  savedInput,
  savedOutput,
  trafficOf,
  unknownCost,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';
import { evaluateDimension, evaluateNumber } from './evaluateExpression.ts';

/** Domain of nodes that have their description in their attributes. */
export const declaredDomain = 'layercost.declared';

/** The attributes that describe an operator, to be added to those of its node. */
export function attributesOfDescription(operator: DescribedOperator): ReadonlyMap<string, Attribute<never>> {
  const text = (value: string): Attribute<never> => ({ kind: 'string', value });
  const texts = (value: readonly string[]): Attribute<never> => ({ kind: 'strings', value });
  const optional = (
    name: string,
    value: string | undefined,
  ): readonly (readonly [string, Attribute<never>])[] =>
    value === undefined ? [] : [[prefix + name, text(value)]];
  return new Map<string, Attribute<never>>([
    [`${prefix}inputs`, texts(operator.inputs.map((sizes) => sizes.join(separator)))],
    [
      `${prefix}outputs`,
      texts(operator.outputs.map((each) => [each.elementType ?? '', ...each.dimensions].join(separator))),
    ],
    [
      `${prefix}attributes`,
      texts(Object.entries(operator.attributes).map(([name, value]) => `${name}=${value}`)),
    ],
    [`${prefix}flops`, text(operator.flops)],
    [`${prefix}kernels`, { kind: 'int', value: operator.kernels }],
    [`${prefix}savedInputs`, { kind: 'ints', value: operator.savedInputs }],
    [`${prefix}savedOutputs`, { kind: 'ints', value: operator.savedOutputs }],
    ...optional('bytes', operator.bytes),
    ...optional('backwardFlops', operator.backwardFlops),
    ...optional('backwardBytes', operator.backwardBytes),
  ]);
}

const prefix = 'layercost:';
const separator = '\n';
const rest = '...';

/** The definition of a declared operator of this type: everything else is in the node. */
export const declaredOperator = (type: string): OperatorDefinition =>
  define({
    type,
    domain: declaredDomain,
    documentation: 'described in a file beside the model (custom-operators.layercost.yaml)',
    inputs: [variadic(operand('inputs'))],
    pytorch: { layer: type, autocast: 'widest' },
    runner: noRule.unwritten,
    infer: inferDeclared,
    dimensions: () => unknownMap('its description does not say which dimensions belong together'),
    cost: declaredCost,
  });

function inferDeclared(context: InferenceContext): Inference {
  const shapes = Array.from({ length: context.inputCount }, (_, index) => context.inputShape(index));
  const matched = matchInputs(context, shapes);
  if (typeof matched === 'string') return mismatch(matched);
  if ('unknown' in matched) return unknownBecause(context, matched.unknown);
  const outputs = textsOf(context, 'outputs').map((each) => {
    const [type = '', ...sizes] = each.split(separator);
    const elementType: ElementType =
      elementTypes.find((known) => known === type) ?? elementTypeOf(context, 0);
    const shape: Dimension[] = [];
    for (const size of sizes) {
      if (size === rest) {
        shape.push(...matched.leading);
        continue;
      }
      const found = evaluateDimension(size, matched.values);
      const isSize =
        typeof found === 'number' ? Number.isSafeInteger(found) && found >= 0 : found !== undefined;
      if (!isSize || found === undefined) {
        return tensorOfUnknownShape(
          elementType,
          `\`${size}\` of its description is no size for these inputs`,
        );
      }
      shape.push(found);
    }
    return tensor(elementType, shape);
  });
  return { outputs };
}

interface Matched<Size> {
  /** Dimensions and attributes by name. */
  readonly values: ReadonlyMap<string, Size | number>;
  /** What `...` stands for. */
  readonly leading: readonly Size[];
}

/** The names of dimensions; a sentence where the inputs contradict them; the first input whose shape is not known. */
function matchInputs(
  context: InferenceContext | CostContext,
  shapes: readonly (readonly Dimension[] | undefined)[],
): Matched<Dimension> | string | { readonly unknown: number } {
  const values = new Map<string, Dimension>(numbersOf(context));
  let leading: readonly Dimension[] = [];
  for (const [index, described] of textsOf(context, 'inputs').entries()) {
    const names = described === '' ? [] : described.split(separator);
    const shape = shapes[index];
    if (index >= context.inputCount) break;
    if (shape === undefined) return { unknown: index };
    const at = names.indexOf(rest);
    const after = at < 0 ? 0 : names.length - at - 1;
    const wanted = at < 0 ? shape.length === names.length : shape.length >= names.length - 1;
    if (!wanted)
      return `input ${index + 1} is described as [${names.join(', ')}], but is ${printShape(shape)}`;
    if (at >= 0) leading = shape.slice(at, shape.length - after);
    for (const [place, name] of names.entries()) {
      if (name === rest) continue;
      const size = shape[at >= 0 && place > at ? shape.length - names.length + place : place];
      if (size === undefined) continue;
      const before = /^\d+$/.test(name) ? Number(name) : values.get(name);
      if (before !== undefined && !isUnknown(before) && !isUnknown(size) && !equalDimensions(before, size)) {
        return `\`${name}\` of input ${index + 1} is ${printShape([size])}, but ${printShape([before])} elsewhere`;
      }
      if (before === undefined || isUnknown(before)) values.set(name, size);
    }
  }
  return { values, leading };
}

function declaredCost(context: CostContext): OperatorCost {
  const inputs = Array.from({ length: context.inputCount }, (_, index) => context.input(index));
  const outputs = Array.from({ length: context.outputCount }, (_, index) => context.output(index));
  if (outputs.includes(undefined)) return unknownShapeCost;
  const matched = matchInputs(
    context,
    inputs.map((input) => input?.dimensions),
  );
  if (typeof matched === 'string') return unknownCost(matched);
  if ('unknown' in matched) return unknownShapeCost;
  const values = new Map<string, number>();
  for (const [name, value] of matched.values) if (typeof value === 'number') values.set(name, value);
  const amount = (name: string): number | undefined => {
    const expression = context.string(prefix + name, '');
    const value = expression === '' ? undefined : evaluateNumber(expression, values);
    return value === undefined || value < 0 ? undefined : value;
  };
  const flops = amount('flops');
  if (flops === undefined) return unknownCost('the FLOPs of its description have no value for these inputs');
  const bytes = amount('bytes');
  const traffic = bytes === undefined ? trafficOf(...inputs, ...outputs) : byteTraffic(bytes);
  const kernels = context.int(`${prefix}kernels`, 1);
  const kernelClass = flops > 0 ? 'matmul' : 'elementwise';
  const forward = work({ flops, traffic, kernels });
  if (!needsGradient(context)) return cost(kernelClass, forward);
  const backwardBytes = amount('backwardBytes');
  const kinds = new Set(inputs.map((_, index) => context.gradient(index)));
  kinds.delete('none');
  // Gradients of activations and of weights share what backward is said to take.
  const share = (kind: 'data' | 'weight'): Work => {
    if (!kinds.has(kind)) return noWork;
    const moved =
      backwardBytes === undefined
        ? { float32Elements: 2 * traffic.float32Elements, fixedBytes: 2 * traffic.fixedBytes }
        : byteTraffic(backwardBytes);
    return work({
      flops: (amount('backwardFlops') ?? 2 * flops) / kinds.size,
      traffic: {
        float32Elements: moved.float32Elements / kinds.size,
        fixedBytes: moved.fixedBytes / kinds.size,
      },
      kernels,
    });
  };
  return cost(kernelClass, forward, {
    data: share('data'),
    weight: share('weight'),
    saved: [
      ...(context.ints(`${prefix}savedInputs`) ?? [])
        .filter((index) => index < inputs.length)
        .map(savedInput),
      ...(context.ints(`${prefix}savedOutputs`) ?? [])
        .filter((index) => index < outputs.length)
        .map(savedOutput),
    ],
  });
}

/** Attributes by name, as the node gives them or by default. */
const numbersOf = (context: InferenceContext | CostContext): readonly (readonly [string, number])[] =>
  textsOf(context, 'attributes').map((each) => {
    const [name = '', standard = '0'] = each.split('=');
    const given = context.attribute(name);
    return [name, given?.kind === 'int' || given?.kind === 'float' ? given.value : Number(standard)];
  });

function textsOf(context: InferenceContext | CostContext, name: string): readonly string[] {
  const attribute = context.attribute(prefix + name);
  return attribute?.kind === 'strings' ? attribute.value : [];
}
