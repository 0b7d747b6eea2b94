/** Small ONNX syntax trees, written the way ONNX text writes them. */

import type { OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo } from '../../server/src/formats/onnx/syntax.ts';
import type { Attribute, TensorLiteral } from '../../server/src/model/attribute.ts';
import { type ElementType, elementTypes } from '../../server/src/model/elementType.ts';

export interface ModelSketch {
  /** `x: float32[N, 3, 224, 224]`; a dimension `?` is left open, no brackets leave the shape out. */
  readonly inputs?: readonly string[];
  /** As inputs; the type may be left out. */
  readonly outputs?: readonly string[];
  readonly valueInfos?: readonly string[];
  /** As inputs, with numbers only; `= 1, 2` behind it gives the elements. */
  readonly initializers?: readonly string[];
  readonly nodes: readonly (string | OnnxNode)[];
  readonly functions?: OnnxModel['functions'];
  readonly opset?: number;
}

/** A model from a sketch. */
export function onnxModel(sketch: ModelSketch): OnnxModel {
  return {
    irVersion: 10,
    producerName: '',
    producerVersion: '',
    domain: '',
    modelVersion: 0,
    operatorSets: [{ domain: '', version: sketch.opset ?? 17 }],
    graph: onnxGraph(sketch),
    functions: sketch.functions ?? [],
    metadata: new Map(),
  };
}

/** A graph from a sketch, for the bodies of control flow. */
export function onnxGraph(sketch: ModelSketch): OnnxGraph {
  return {
    name: 'sketch',
    nodes: sketch.nodes.map((node) => (typeof node === 'string' ? onnxNode(node) : node)),
    inputs: (sketch.inputs ?? []).map(valueInfo),
    outputs: (sketch.outputs ?? []).map(valueInfo),
    valueInfos: (sketch.valueInfos ?? []).map(valueInfo),
    initializers: (sketch.initializers ?? []).map(literal),
    sparseInitializers: [],
  };
}

/** A node: `y, z = Domain.Type(a, , b)`, optionally `name: ` in front; attributes beside it. */
export function onnxNode(
  text: string,
  attributes: Readonly<Record<string, Attribute<OnnxGraph>>> = {},
  metadata: Readonly<Record<string, string>> = {},
): OnnxNode {
  const match = /^(?:(\S+): )?(.*?) ?= (?:(.*)\.)?(\w+)\((.*)\)$/.exec(text);
  if (match === null) throw new Error(`not a node: ${text}`);
  const [, name, outputs, domain, type, inputs] = match;
  const names = (list: string | undefined): string[] =>
    list === undefined || list === '' ? [] : list.split(',').map((part) => part.trim());
  return {
    name: name ?? '',
    type: type ?? '',
    domain: domain ?? '',
    overload: '',
    inputs: names(inputs),
    outputs: names(outputs),
    attributes: new Map(Object.entries(attributes)),
    metadata: new Map(Object.entries(metadata)),
  };
}

function valueInfo(text: string): OnnxValueInfo {
  const match = /^(\S+?)(?:: (\w+)(?:\[(.*)\])?)?$/.exec(text);
  if (match === null) throw new Error(`not a value: ${text}`);
  const [, name = '', elementType, dimensions] = match;
  if (elementType === undefined) return { name, type: undefined };
  const shape =
    dimensions === undefined
      ? undefined
      : dimensions === ''
        ? []
        : dimensions.split(',').map((part) => {
            const dimension = part.trim();
            if (dimension === '?') return undefined;
            return /^-?\d+$/.test(dimension) ? Number(dimension) : dimension;
          });
  return { name, type: { kind: 'tensor', elementType: elementTypeNamed(elementType), shape } };
}

function literal(text: string): TensorLiteral {
  const [declaration = '', elements] = text.split(' = ');
  const { name, type } = valueInfo(declaration.trim());
  if (type?.kind !== 'tensor') throw new Error(`not an initializer: ${text}`);
  return {
    name,
    elementType: type.elementType,
    dimensions: (type.shape ?? []).map(Number),
    ...(elements === undefined ? {} : { elements: elements.split(',').map(Number) }),
    storedBytes: 0,
  };
}

function elementTypeNamed(name: string): ElementType {
  const found = elementTypes.find((type) => type === name);
  if (found === undefined) throw new Error(`not an element type here: ${name}`);
  return found;
}
