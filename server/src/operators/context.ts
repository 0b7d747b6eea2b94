/**
 * Contexts of shape and cost rules over plain data: what analysis fills from a graph, and tests by hand.
 */

import type { Attribute, TensorLiteral } from '../model/attribute.ts';
import type { Dimension } from '../model/dimension.ts';
import type { ElementType } from '../model/elementType.ts';
import { type Graph, isKnownShape, type TensorContent, type ValueType } from '../model/graph.ts';
import { attributeReaders } from './attributeReaders.ts';
import type { BoundTensor, CostContext, InferenceContext, KnownCost } from './definition.ts';

export type Attributes = ReadonlyMap<string, Attribute<Graph>>;

export interface InferenceFacts {
  readonly opset: number;
  /** One per input; `undefined` where an optional input is absent. */
  readonly inputs: readonly (ValueType | undefined)[];
  /** Aligned with `inputs`; shorter means nothing known of the rest. */
  readonly contents?: readonly (TensorContent | undefined)[];
  /** Outputs the operator names; 1 where not given. */
  readonly outputCount?: number;
  readonly attributes?: Attributes;
  /** Infers a subgraph attribute; without it every subgraph gives nothing. */
  readonly inferSubgraph?: InferenceContext['inferSubgraph'];
  readonly subgraphContents?: InferenceContext['subgraphContents'];
}

/** What a shape rule sees, from plain facts. */
export function makeInferenceContext(facts: InferenceFacts): InferenceContext {
  const attributes = facts.attributes ?? noAttributes;
  return {
    opset: facts.opset,
    inputCount: facts.inputs.length,
    outputCount: facts.outputCount ?? 1,
    inputType: (index) => facts.inputs[index],
    inputShape: (index) => knownShape(facts.inputs[index]),
    inputElementType: (index) => {
      const type = facts.inputs[index];
      return type?.kind === 'tensor' ? type.elementType : undefined;
    },
    inputContent: (index) => facts.contents?.[index],
    ...attributeReaders(attributes),
    tensor: (name) => tensorAttribute(attributes, name),
    inferSubgraph: facts.inferSubgraph ?? (() => []),
    subgraphContents: facts.subgraphContents ?? (() => []),
  };
}

export interface CostFacts {
  readonly opset: number;
  /** One per input; `undefined` where it is absent or its shape is unknown. */
  readonly inputs: readonly (BoundTensor | undefined)[];
  /** Whether an input is given though its shape is unknown; without it, those of unknown shape are absent. */
  readonly hasInput?: (index: number) => boolean;
  readonly outputs: readonly (BoundTensor | undefined)[];
  /** Known contents of small inputs, aligned with `inputs`. */
  readonly contents?: readonly (readonly number[] | undefined)[];
  /** Aligned with `inputs`; missing entries receive no gradient. */
  readonly gradients?: readonly ('weight' | 'data' | 'none')[];
  readonly attributes?: Attributes;
  readonly subgraphCost?: (attributeName: string) => KnownCost | undefined;
  /** False in inference. */
  readonly training?: boolean;
}

/** What a cost rule sees, from plain facts. */
export function makeCostContext(facts: CostFacts): CostContext {
  return {
    opset: facts.opset,
    inputCount: facts.inputs.length,
    outputCount: facts.outputs.length,
    hasInput: facts.hasInput ?? ((index) => facts.inputs[index] !== undefined),
    input: (index) => facts.inputs[index],
    output: (index) => facts.outputs[index],
    inputContent: (index) => facts.contents?.[index],
    training: facts.training ?? true,
    gradient: (index) => facts.gradients?.[index] ?? 'none',
    ...attributeReaders(facts.attributes ?? noAttributes),
    subgraphCost: facts.subgraphCost ?? (() => undefined),
  };
}

/** A tensor with bound dimensions. */
export function boundTensor(elementType: ElementType, dimensions: readonly number[]): BoundTensor {
  let elements = 1;
  for (const dimension of dimensions) elements *= dimension;
  return { elementType, dimensions, elements };
}

/** A plain value as an attribute: integers, strings and lists of them by themselves, anything else in full. */
export type AttributeShorthand = number | string | readonly number[] | readonly string[] | Attribute<Graph>;

/** Attributes from plain values; a number that is not an integer is a float. */
export function attributesOf(values: Readonly<Record<string, AttributeShorthand>>): Attributes {
  return new Map(Object.entries(values).map(([name, value]) => [name, attributeOf(value)]));
}

function attributeOf(value: AttributeShorthand): Attribute<Graph> {
  if (typeof value === 'number') return { kind: Number.isInteger(value) ? 'int' : 'float', value };
  if (typeof value === 'string') return { kind: 'string', value };
  if (!isList(value)) return value;
  if (value.every((item) => typeof item === 'number')) {
    return { kind: value.every(Number.isInteger) ? 'ints' : 'floats', value };
  }
  return { kind: 'strings', value: value.filter((item) => typeof item === 'string') };
}

const isList = (value: object): value is readonly (number | string)[] => Array.isArray(value);

const noAttributes: Attributes = new Map();

function knownShape(type: ValueType | undefined): readonly Dimension[] | undefined {
  return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;
}

function tensorAttribute(attributes: Attributes, name: string): TensorLiteral | undefined {
  const attribute = attributes.get(name);
  return attribute?.kind === 'tensor' ? attribute.value : undefined;
}
