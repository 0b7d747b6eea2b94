/** Operators applied to numbers, and the same applied to a factor of their dimension map that is larger. */

import type { Attribute } from '../../server/src/model/attribute.ts';
import { multiplyDimensions } from '../../server/src/model/dimension.ts';
import {
  type Graph,
  isKnownShape,
  type TensorContent,
  type ValueType,
} from '../../server/src/model/graph.ts';
import { type Attributes, makeInferenceContext } from '../../server/src/operators/context.ts';
import type { Inference, OperatorDefinition } from '../../server/src/operators/definition.ts';
import type { DimensionMap, Factor } from '../../server/src/operators/dimensionMap.ts';

export interface DimensionCase {
  readonly definition: OperatorDefinition;
  readonly opset: number;
  readonly inputs: readonly (ValueType | undefined)[];
  readonly contents: readonly (TensorContent | undefined)[];
  readonly attributes: Attributes;
  readonly outputCount: number;
}

const contextOf = (given: DimensionCase) =>
  makeInferenceContext({ ...given, inferSubgraph: (_, inputs) => inputs });

export const inferenceOf = (given: DimensionCase): Inference => given.definition.infer(contextOf(given));

export const mapOf = (given: DimensionCase): DimensionMap => given.definition.dimensions(contextOf(given));

/** The case with so many times the indices of the factor, wherever the factor says that they are. */
export function grown(given: DimensionCase, factor: Factor, times: number): DimensionCase {
  const inputs = given.inputs.map((type, tensor): ValueType | undefined => {
    if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return type;
    return { ...type, shape: grownShape(type.shape, factor.inputs, tensor, times) };
  });
  const contents = given.contents.map((content, input): TensorContent | undefined => {
    const elements = (factor.sizes ?? []).flatMap((size) =>
      size.kind === 'content' && size.input === input ? [size.element] : [],
    );
    return (
      content && {
        ...content,
        elements: content.elements.map((element, index) =>
          elements.includes(index) ? multiplyDimensions(element, times) : element,
        ),
      }
    );
  });
  const attributes = new Map(given.attributes);
  for (const size of factor.sizes ?? []) {
    const attribute = size.kind === 'attribute' ? attributes.get(size.name) : undefined;
    if (size.kind === 'attribute' && attribute !== undefined)
      attributes.set(size.name, grownAttribute(attribute, size.element, times));
  }
  return { ...given, inputs, contents, attributes };
}

function grownAttribute(
  attribute: Attribute<Graph>,
  element: number | undefined,
  times: number,
): Attribute<Graph> {
  if (attribute.kind === 'int') return { ...attribute, value: attribute.value * times };
  if (attribute.kind !== 'ints') throw new Error(`an attribute of kind ${attribute.kind} states no size`);
  return {
    ...attribute,
    value: attribute.value.map((value, index) => (index === element ? value * times : value)),
  };
}

export const grownShape = <Size extends Parameters<typeof multiplyDimensions>[0]>(
  shape: readonly Size[],
  places: Factor['inputs'],
  tensor: number,
  times: number,
) =>
  shape.map((size, axis) =>
    places.some((place) => place.tensor === tensor && place.axis === axis)
      ? multiplyDimensions(size, times)
      : size,
  );
