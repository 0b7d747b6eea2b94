/** Writes operators of the standard in the place of a node that an optimizer fused. */

import type { OnnxGraph, OnnxNode } from '../../formats/onnx/syntax.ts';
import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import type { ElementType } from '../../model/elementType.ts';
import { isKnownShape, type ValueType } from '../../model/graph.ts';

export interface NodeWriter {
  /** Adds an operator that stands for `node`, and gives the name of its first output: `output`, or a new one. */
  add(node: OnnxNode, operator: WrittenOperator): string;
  /** The name of a new tensor with these numbers. */
  numbers(elementType: ElementType, dimensions: readonly number[], elements: readonly number[]): string;
  /** A tensor of the file, or a new one of this name and shape; another name where that one is taken. */
  tensor(name: string, elementType: ElementType, dimensions: readonly number[]): string;
  /** What the file stores under a name, and what was added. */
  stored(name: string): TensorLiteral | undefined;
  /** Operator set of the standard that the file imports. */
  readonly opset: number;
  /** The nodes that read a value of the file. */
  readers(name: string): readonly OnnxNode[];
  producer(name: string): OnnxNode | undefined;
  isOutput(name: string): boolean;
  /** Of a value of the file, where that is known. */
  elementType(name: string): ElementType | undefined;
  /** How many axes a value of the file has, where that is known. */
  rank(name: string): number | undefined;
}

export interface WrittenOperator {
  readonly type: string;
  readonly domain?: string;
  readonly inputs: readonly string[];
  /** Where it has to have a certain name. */
  readonly output?: string;
  /** The first output comes from `output`. */
  readonly moreOutputs?: readonly string[];
  readonly attributes?: OnnxNode['attributes'];
  /** The name of the node; without one it follows from the output. */
  readonly name?: string;
}

/** A writer, what it has written so far, and the tensors that it added. */
export interface Writing {
  readonly writer: NodeWriter;
  /** The nodes written since the last call. */
  take(): readonly OnnxNode[];
  readonly added: ReadonlyMap<string, TensorLiteral>;
}

export function startWriting(
  graph: OnnxGraph,
  opset: number,
  typeOf: (name: string) => ValueType | undefined,
): Writing {
  const stored = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  const added = new Map<string, TensorLiteral>();
  const readers = new Map<string, OnnxNode[]>();
  const producers = new Map<string, OnnxNode>();
  for (const node of graph.nodes) {
    for (const name of node.outputs) producers.set(name, node);
    for (const name of new Set(node.inputs)) readers.set(name, [...(readers.get(name) ?? []), node]);
  }
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  const taken = new Set([...stored.keys(), ...producers.keys(), ...graph.inputs.map(({ name }) => name)]);
  const unused = (name: string): string => {
    let free = name;
    for (let count = 2; taken.has(free); count += 1) free = `${name} (${count})`;
    taken.add(free);
    return free;
  };
  let written: OnnxNode[] = [];
  const writer: NodeWriter = {
    add: (node, { type, domain = '', inputs, output, moreOutputs = [], attributes, name }) => {
      const result = output ?? unused(`${node.outputs[0]} by ${type}`);
      written.push({
        ...node,
        name: name ?? (output === undefined ? `${node.name}_${type}` : nodeNamed(output, node)),
        type,
        domain,
        inputs,
        outputs: [result, ...moreOutputs],
        attributes: attributes ?? new Map(),
        metadata: withoutRules(node.metadata),
      });
      return result;
    },
    numbers: (elementType, dimensions, elements) => {
      const name = unused(`constant ${elements.join(' ')}`);
      added.set(name, { name, elementType, dimensions, elements, storedBytes: 0 });
      return name;
    },
    tensor: (name, elementType, dimensions) => {
      const known = added.get(name);
      if (known !== undefined && known.dimensions.join() === dimensions.join()) return name;
      const free = unused(name);
      added.set(free, { name: free, elementType, dimensions, storedBytes: 0 });
      return free;
    },
    stored: (name) => added.get(name) ?? stored.get(name),
    opset,
    readers: (name) => readers.get(name) ?? [],
    producer: (name) => producers.get(name),
    isOutput: (name) => outputs.has(name),
    elementType: (name) => {
      const type = typeOf(name);
      return type?.kind === 'tensor' ? type.elementType : undefined;
    },
    rank: (name) => {
      const type = typeOf(name);
      return type?.kind === 'tensor' && isKnownShape(type.shape)
        ? type.shape.length
        : (added.get(name) ?? stored.get(name))?.dimensions.length;
    },
  };
  const take = (): readonly OnnxNode[] => {
    const nodes = written;
    written = [];
    return nodes;
  };
  return { writer, take, added };
}

/** Node and result have one name in PyTorch's TorchScript exporter, with `_output_0` behind the result's. */
const nodeNamed = (output: string, { name }: OnnxNode): string =>
  output.startsWith('/') ? output.replace(/_output_\d+$/, '') : name;

const rules = 'pkg.onnxscript.rewriter.rule_name';

/** What an operator was fused by says nothing of those it was fused from. */
const withoutRules = (metadata: OnnxNode['metadata']): OnnxNode['metadata'] =>
  metadata.has(rules) ? new Map([...metadata].filter(([key]) => key !== rules)) : metadata;

export type Attributes = ReadonlyMap<string, Attribute<OnnxGraph>>;

export function integerOf(attributes: Attributes, name: string, otherwise: number): number {
  const attribute = attributes.get(name);
  return attribute?.kind === 'int' ? attribute.value : otherwise;
}

export function numberOf(attributes: Attributes, name: string, otherwise: number): number {
  const attribute = attributes.get(name);
  return attribute?.kind === 'float' || attribute?.kind === 'int' ? attribute.value : otherwise;
}

export function textOf(attributes: Attributes, name: string): string {
  const attribute = attributes.get(name);
  return attribute?.kind === 'string' ? attribute.value : '';
}

export const floatAttributes = (values: Readonly<Record<string, number>>): Attributes =>
  new Map(Object.entries(values).map(([name, value]) => [name, { kind: 'float', value }]));

export const integerAttributes = (values: Readonly<Record<string, number>>): Attributes =>
  new Map(Object.entries(values).map(([name, value]) => [name, { kind: 'int', value }]));

/** Those of these names. */
export const picked = (attributes: Attributes, ...names: readonly string[]): Attributes =>
  new Map([...attributes].filter(([name]) => names.includes(name)));

/** Those of other names. */
export const without = (attributes: Attributes, ...names: readonly string[]): Attributes =>
  new Map([...attributes].filter(([name]) => !names.includes(name)));
