/** Collects nodes, weights and layers while a spec is lowered, and infers the type of every value on the way. */

import type { OnnxModel, OnnxNode, OnnxValueInfo } from '../../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../../model/attribute.ts';
import { type Dimension, equalDimensions, isUnknown, printDimension } from '../../model/dimension.ts';
import { bitsPerElement, type ElementType } from '../../model/elementType.ts';
import { isKnownShape, type TensorContent, type ValueRole, type ValueType } from '../../model/graph.ts';
import { makeInferenceContext } from '../../operators/context.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import { findOperator } from '../../operators/registry.ts';
import { type ProvidedLayer, type StatedRepetition, unloweredDomain } from '../providedStructure.ts';
import type { NodeAttributes, Tensor } from './layerDefinition.ts';

/** Operator set specs are lowered to: the first with Attention and RMSNormalization. */
export const opset = 23;

/** The first in which `Attention` has a window (ONNX Operators, Attention-25). */
const windowOpset = 25;

const hasWindow = ({ attributes }: OnnxNode): boolean => attributes.has('left_window_size');

const irVersion = 11;

/** What one layer added to a graph, to be added to another one again. */
export interface Emitted {
  readonly nodes: readonly OnnxNode[];
  readonly stored: readonly { readonly literal: TensorLiteral; readonly role: ValueRole }[];
  /** Constants it reads, whoever made them first. */
  readonly constants: readonly TensorLiteral[];
  readonly types: ReadonlyMap<string, ValueType>;
  readonly contents: ReadonlyMap<string, TensorContent>;
  /** Whether a name it would have had was taken by another layer. */
  readonly renamed: boolean;
}

export class GraphBuilder {
  readonly roles = new Map<string, ValueRole>();
  readonly layers: ProvidedLayer[] = [];
  /** Values behind which no gradient passes. */
  readonly detached = new Set<string>();
  /** A repetition stands behind those that its blocks contain. */
  readonly repetitions: StatedRepetition[] = [];
  /** Symbols that stand for sizes of inputs whose expressions could not be read, which has been said. */
  readonly unknownSizes = new Set<string>();
  private readonly nodes: OnnxNode[] = [];
  private readonly initializers: TensorLiteral[] = [];
  private readonly constants = new Map<string, TensorLiteral>();
  private readonly inputs: OnnxValueInfo[] = [];
  private readonly declared: OnnxValueInfo[] = [];
  /** Names of those with an open size, which may be one that no input has: how many entries of a mask are true. */
  private readonly sized: string[] = [];
  private readonly types = new Map<string, ValueType>();
  private readonly suffixes = new Map<string, number>();
  private readonly contents = new Map<string, TensorContent>();
  /** Constants asked for since the present layer began. */
  private touched: TensorLiteral[] = [];
  private storedBefore = 0;
  private nodesBefore = 0;
  /** Names given since the present layer began, and whether one of them was not the first choice. */
  private own = new Set<string>();
  private renamed = false;

  /** What is added from here on belongs to one layer. */
  begin(): void {
    this.touched = [];
    this.own = new Set();
    this.renamed = false;
    this.nodesBefore = this.nodes.length;
    this.storedBefore = this.initializers.length;
  }

  /** Everything added since `begin`. */
  emitted(): Emitted {
    const nodes = this.nodes.slice(this.nodesBefore);
    const constants = new Set(this.touched);
    const types = new Map<string, ValueType>();
    const contents = new Map<string, TensorContent>();
    for (const { outputs } of nodes) {
      for (const name of outputs) {
        const type = this.types.get(name);
        const content = this.contents.get(name);
        if (type !== undefined) types.set(name, type);
        if (content !== undefined) contents.set(name, content);
      }
    }
    const stored = this.initializers
      .slice(this.storedBefore)
      .filter((literal) => !constants.has(literal))
      .map((literal) => ({ literal, role: this.roles.get(literal.name) ?? 'buffer' }));
    return { nodes, stored, constants: [...constants], types, contents, renamed: this.renamed };
  }

  /** Adds what a layer added to another graph; gives false, and adds nothing, where a name is taken. */
  adopt({ nodes, stored, constants, types, contents }: Emitted): boolean {
    for (const name of types.keys()) if (this.types.has(name)) return false;
    for (const { literal } of stored) if (this.types.has(literal.name)) return false;
    for (const literal of constants) this.addConstant(literal);
    for (const { literal, role } of stored) {
      const { name, elementType, dimensions } = literal;
      this.initializers.push(literal);
      this.roles.set(name, role);
      this.types.set(name, { kind: 'tensor', elementType, shape: dimensions });
    }
    for (const node of nodes) this.nodes.push(node);
    for (const [name, type] of types) this.types.set(name, type);
    for (const [name, content] of contents) this.contents.set(name, content);
    return true;
  }

  /** Whether a tensor may be read by its name, or its contents looked at, beyond what its type says. */
  isKnownFurther(name: string): boolean {
    return this.contents.has(name) || this.inputs.some((input) => input.name === name);
  }

  /** Nodes so far: the index of the next one. */
  get size(): number {
    return this.nodes.length;
  }

  /** Says that all nodes from `start` on are `count` blocks; where they do not part evenly, they are not alike. */
  repeats(start: number, count: number): void {
    const period = (this.size - start) / count;
    if (count > 1 && Number.isInteger(period) && period > 0) this.repetitions.push({ start, period, count });
  }

  /** Tensors so far, stored ones and results. */
  get tensorCount(): number {
    return this.types.size;
  }

  /** The leading dimension of the first input. */
  get batch(): Dimension | undefined {
    const [first] = this.inputs;
    const type = first && this.types.get(first.name);
    return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape[0] : undefined;
  }

  /** `name`, or with a number where that is taken. */
  freeName(name: string): string {
    return this.types.has(name) ? this.uniqueName(name) : name;
  }

  /** Gives a result the type that is known of it, although its operator is not. */
  declare(name: string, elementType: ElementType, shape: readonly Dimension[]): Tensor {
    const dimensions = shape.map((size) => (typeof size === 'number' ? size : printDimension(size)));
    if (shape.some((size) => typeof size !== 'number')) this.sized.push(name);
    this.declared.push({ name, type: { kind: 'tensor', elementType, shape: dimensions } });
    return this.typed(name, { kind: 'tensor', elementType, shape });
  }

  input(name: string, elementType: ElementType, shape: readonly Dimension[]): Tensor {
    const dimensions = shape.map((size, axis) => {
      if (typeof size === 'number') return size;
      if (!isUnknown(size)) return printDimension(size);
      const symbol = `${name}.${axis}`;
      this.unknownSizes.add(symbol);
      return symbol;
    });
    this.inputs.push({ name, type: { kind: 'tensor', elementType, shape: dimensions } });
    this.roles.set(name, 'input');
    return this.typed(name, { kind: 'tensor', elementType, shape });
  }

  /** An open size as a tensor of one element, read from an input or a declared result that has it as an axis; `undefined` where none has. */
  sizeOf(size: Dimension): Tensor | undefined {
    for (const name of [...this.inputs.map((input) => input.name), ...this.sized]) {
      const type = this.types.get(name);
      if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) continue;
      const axis = type.shape.findIndex((candidate) => equalDimensions(candidate, size));
      if (axis < 0) continue;
      const input = this.typed(name, type);
      return this.node(name, '', 'Shape', [input], 1, {
        start: { kind: 'int', value: axis },
        end: { kind: 'int', value: axis + 1 },
      })[0];
    }
    return undefined;
  }

  /** Sizes of inputs of the model that are no numbers, in order. */
  openAxes(): readonly Dimension[] {
    return this.inputs.flatMap(({ name }) => {
      const type = this.types.get(name);
      if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return [];
      return type.shape.filter((size) => typeof size !== 'number');
    });
  }

  /** A tensor that is stored with the model, without contents. */
  stored(
    name: string,
    role: 'parameter' | 'frozen' | 'buffer',
    dimensions: readonly number[],
    elementType: ElementType = 'float32',
  ): Tensor {
    const unique = this.uniqueName(name);
    this.initializers.push({ name: unique, elementType, dimensions, storedBytes: 0 });
    this.roles.set(unique, role);
    return this.typed(unique, { kind: 'tensor', elementType, shape: dimensions });
  }

  /** A small tensor with contents; the same contents give the same tensor. */
  constant(elementType: ElementType, shape: readonly number[], elements: readonly number[]): Tensor {
    const name = `${elementType}[${shape.join(', ')}] {${elements.join(', ')}}`;
    const known = this.constants.get(name);
    const storedBytes = (elements.length * (bitsPerElement(elementType) ?? 8)) / 8;
    const literal = known ?? { name, elementType, dimensions: shape, elements, storedBytes };
    this.addConstant(literal);
    this.touched.push(literal);
    return { name, elementType, shape };
  }

  private addConstant(literal: TensorLiteral): void {
    const { name, elementType, dimensions, elements = [] } = literal;
    if (this.constants.has(name)) return;
    this.constants.set(name, literal);
    this.initializers.push(literal);
    this.roles.set(name, 'constant');
    this.contents.set(name, { shape: dimensions, elements });
    this.types.set(name, { kind: 'tensor', elementType, shape: dimensions });
  }

  /** Adds a node and infers its outputs, named after the layer and the operator, or what else they are `called`. */
  node(
    layer: string,
    domain: string,
    type: string,
    inputs: readonly (Tensor | undefined)[],
    outputs: number,
    attributes: NodeAttributes,
    called = type,
  ): readonly Tensor[] {
    const first = this.uniqueName(`${layer}/${called}`);
    const name = called === type ? first : `${layer}/${type}`;
    const names = Array.from({ length: outputs }, (_, index) => (index === 0 ? first : `${first}:${index}`));
    const inputNames = inputs.map((input) => input?.name ?? '');
    const attributeMap = new Map(Object.entries(attributes));
    this.nodes.push({
      name,
      type,
      domain,
      overload: '',
      inputs: inputNames,
      outputs: names,
      attributes: attributeMap,
      metadata: new Map(),
    });
    // A spec says what is trained; random numbers and constants that an operator makes are not.
    if (hasTrait({ domain, type }, 'generator'))
      for (const output of names) this.roles.set(output, 'activation');
    const inference = findOperator(domain, type, opset)?.infer(
      makeInferenceContext({
        opset,
        inputs: inputNames.map((input) => this.types.get(input)),
        contents: inputNames.map((input) => this.contents.get(input)),
        outputCount: outputs,
        attributes: attributeMap,
      }),
    );
    return names.map((output, index) => {
      const content = inference?.contents?.[index];
      if (content !== undefined) this.contents.set(output, content);
      return this.typed(output, inference?.outputs[index] ?? { kind: 'unknown', reason: `after ${layer}` });
    });
  }

  /** Names of all tensors that operators read. */
  readNames(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const { inputs } of this.nodes) for (const input of inputs) names.add(input);
    return names;
  }

  build(name: string, outputs: readonly Tensor[]): OnnxModel {
    return {
      irVersion,
      producerName: 'layercost',
      producerVersion: '',
      domain: '',
      modelVersion: 0,
      operatorSets: [
        { domain: '', version: this.nodes.some(hasWindow) ? windowOpset : opset },
        ...[...new Set(this.nodes.map((node) => node.domain))]
          .filter((domain) => domain !== '' && domain !== unloweredDomain)
          .map((domain) => ({ domain, version: 1 })),
      ],
      graph: {
        name,
        nodes: this.nodes,
        inputs: this.inputs,
        outputs: outputs.map((output) => ({ name: output.name, type: undefined })),
        valueInfos: this.declared,
        initializers: this.initializers,
        sparseInitializers: [],
      },
      functions: [],
      metadata: new Map(),
    };
  }

  private typed(name: string, type: ValueType): Tensor {
    this.types.set(name, type);
    return type.kind === 'tensor'
      ? { name, elementType: type.elementType, shape: isKnownShape(type.shape) ? type.shape : undefined }
      : { name, elementType: undefined, shape: undefined };
  }

  private uniqueName(name: string): string {
    let unique = name;
    // Goes on where the last search ended: one layer may be thousands of operators of one type.
    let count = this.suffixes.get(name) ?? 1;
    for (; this.types.has(unique); count += 1) {
      if (!this.own.has(unique)) this.renamed = true;
      unique = `${name}_${count}`;
    }
    this.suffixes.set(name, count);
    this.own.add(unique);
    return unique;
  }
}
