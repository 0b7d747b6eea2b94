/** Operators applied to tensors written as text: `float32[N, 3, 224, 224]`, or a list of integers for contents. */

import type { Dimension } from '../../server/src/model/dimension.ts';
import { printDimension, symbol, unknownDimension } from '../../server/src/model/dimension.ts';
import { type ElementType, elementTypes } from '../../server/src/model/elementType.ts';
import { isKnownShape, type TensorContent, type ValueType } from '../../server/src/model/graph.ts';
import {
  type AttributeShorthand,
  attributesOf,
  boundTensor,
  makeCostContext,
  makeInferenceContext,
} from '../../server/src/operators/context.ts';
import type {
  BoundTensor,
  Inference,
  KnownCost,
  OperatorDefinition,
} from '../../server/src/operators/definition.ts';
import { findOperator } from '../../server/src/operators/registry.ts';

/** A type as text, integers known before the model runs, or an absent optional input. */
export type InputText = string | readonly (number | string)[] | undefined;

export interface Application {
  readonly type: string;
  /** The default one where it is not given. */
  readonly domain?: string;
  readonly opset?: number;
  readonly inputs: readonly InputText[];
  readonly attributes?: Readonly<Record<string, AttributeShorthand>>;
  readonly outputs?: number;
}

const opsetOf = ({ domain, opset }: Application): number => opset ?? (domain === undefined ? 22 : 1);

export function definitionOf(application: Application): OperatorDefinition {
  const definition = findOperator(application.domain ?? '', application.type, opsetOf(application));
  if (definition === undefined) throw new Error(`${application.type} is not defined`);
  return definition;
}

export function inferText(application: Application): Inference {
  return definitionOf(application).infer(
    makeInferenceContext({
      opset: opsetOf(application),
      inputs: application.inputs.map(typeOfText),
      contents: application.inputs.map(contentOfText),
      outputCount: application.outputs ?? 1,
      attributes: attributesOf(application.attributes ?? {}),
    }),
  );
}

/** Outputs as text; known contents follow after `=`. */
export function outputsOf(application: Application): readonly string[] {
  const inference = inferText(application);
  return inference.outputs.map((type, index) => {
    const content = inference.contents?.[index];
    return content === undefined
      ? printType(type)
      : `${printType(type)} = ${content.elements.map(printDimension).join(', ')}`;
  });
}

/** The cost with every input shape bound; `gradients` as 'weight', 'data' or 'none' per input. */
export function costText(
  application: Application,
  gradients: readonly ('weight' | 'data' | 'none')[] = [],
): KnownCost {
  const inference = inferText(application);
  const cost = definitionOf(application).cost(
    makeCostContext({
      opset: opsetOf(application),
      inputs: application.inputs.map((input) => bound(typeOfText(input))),
      outputs: inference.outputs.slice(0, application.outputs ?? 1).map(bound),
      contents: application.inputs.map((input) =>
        contentOfText(input)?.elements.filter((element) => typeof element === 'number'),
      ),
      gradients,
      attributes: attributesOf(application.attributes ?? {}),
    }),
  );
  if (cost.kind === 'unknown') throw new Error(cost.reason);
  return cost;
}

function bound(type: ValueType | undefined): BoundTensor | undefined {
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return undefined;
  const numbers = type.shape.filter((dimension) => typeof dimension === 'number');
  return numbers.length === type.shape.length ? boundTensor(type.elementType, numbers) : undefined;
}

export function printType(type: ValueType): string {
  if (type.kind === 'tensor') {
    const shape = isKnownShape(type.shape) ? type.shape.map(printDimension).join(', ') : '…';
    return `${type.elementType}[${shape}]`;
  }
  return type.kind === 'sequence' || type.kind === 'optional'
    ? `${type.kind}(${printType(type.element)})`
    : type.kind;
}

export function typeOfText(input: InputText): ValueType | undefined {
  if (input === undefined) return undefined;
  if (typeof input !== 'string') return { kind: 'tensor', elementType: 'int64', shape: [input.length] };
  const [, name = '', sizes = ''] = /^(\w+)\[(.*)\]$/.exec(input) ?? [];
  const elementType: ElementType = elementTypes.find((type) => type === name) ?? 'undefined';
  if (sizes === '…') {
    return { kind: 'tensor', elementType, shape: { kind: 'unknown-shape', reason: 'not given' } };
  }
  const shape = sizes === '' ? [] : sizes.split(',').map((size) => dimensionOfText(size.trim()));
  return { kind: 'tensor', elementType, shape };
}

function dimensionOfText(text: string | number): Dimension {
  if (typeof text === 'number') return text;
  if (text === '?') return unknownDimension('not given');
  return /^-?\d+$/.test(text) ? Number(text) : symbol(text);
}

function contentOfText(input: InputText): TensorContent | undefined {
  if (input === undefined || typeof input === 'string') return undefined;
  return { shape: [input.length], elements: input.map(dimensionOfText) };
}
