/** Collects nodes, weights and layers while a spec is lowered, and infers the type of every value on the way. */

import type { OnnxModel, OnnxNode, OnnxValueInfo } from '../../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../../model/attribute.ts';
import { type Dimension, equalDimensions, printDimension } from '../../model/dimension.ts';
import { bitsPerElement, type ElementType } from '../../model/elementType.ts';
import { isKnownShape, type TensorContent, type ValueRole, type ValueType } from '../../model/graph.ts';
import { makeInferenceContext } from '../../operators/context.ts';
import { findOperator } from '../../operators/registry.ts';
import { generators } from '../inputRoles.ts';
import { type ProvidedLayer, unloweredDomain } from '../providedStructure.ts';
import type { NodeAttributes, Tensor } from './layerDefinition.ts';

/** Operator set specs are lowered to: the first with Attention and RMSNormalization. */
export const opset = 23;
const irVersion = 11;

export class GraphBuilder {
  readonly roles = new Map<string, ValueRole>();
  readonly layers: ProvidedLayer[] = [];
  private readonly nodes: OnnxNode[] = [];
  private readonly initializers: TensorLiteral[] = [];
  private readonly inputs: OnnxValueInfo[] = [];
  private readonly types = new Map<string, ValueType>();
  private readonly contents = new Map<string, TensorContent>();

  /** Nodes so far: the index of the next one. */
  get size(): number {
    return this.nodes.length;
  }

  /** The leading dimension of the first input. */
  get batch(): Dimension | undefined {
    const [first] = this.inputs;
    const type = first && this.types.get(first.name);
    return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape[0] : undefined;
  }

  input(name: string, elementType: ElementType, shape: readonly Dimension[]): Tensor {
    const dimensions = shape.map((size) => (typeof size === 'number' ? size : printDimension(size)));
    this.inputs.push({ name, type: { kind: 'tensor', elementType, shape: dimensions } });
    this.roles.set(name, 'input');
    return this.typed(name, { kind: 'tensor', elementType, shape });
  }

  /** An open size as a tensor of one element, read from an input that has it as an axis; `undefined` where none has. */
  sizeOf(size: Dimension): Tensor | undefined {
    for (const { name } of this.inputs) {
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
    const known = this.types.get(name);
    if (known === undefined) {
      const storedBytes = (elements.length * (bitsPerElement(elementType) ?? 8)) / 8;
      this.initializers.push({ name, elementType, dimensions: shape, elements, storedBytes });
      this.roles.set(name, 'constant');
      this.contents.set(name, { shape, elements });
    }
    return this.typed(name, known ?? { kind: 'tensor', elementType, shape });
  }

  /** Adds a node and infers its outputs, named after the layer and the operator. */
  node(
    layer: string,
    domain: string,
    type: string,
    inputs: readonly (Tensor | undefined)[],
    outputs: number,
    attributes: NodeAttributes,
  ): readonly Tensor[] {
    const name = this.uniqueName(`${layer}/${type}`);
    const names = Array.from({ length: outputs }, (_, index) => (index === 0 ? name : `${name}:${index}`));
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
    if (generators.has(type)) for (const output of names) this.roles.set(output, 'activation');
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

  build(name: string, outputs: readonly Tensor[]): OnnxModel {
    return {
      irVersion,
      producerName: 'layercost',
      producerVersion: '',
      domain: '',
      modelVersion: 0,
      operatorSets: [
        { domain: '', version: opset },
        ...[...new Set(this.nodes.map((node) => node.domain))]
          .filter((domain) => domain !== '' && domain !== unloweredDomain)
          .map((domain) => ({ domain, version: 1 })),
      ],
      graph: {
        name,
        nodes: this.nodes,
        inputs: this.inputs,
        outputs: outputs.map((output) => ({ name: output.name, type: undefined })),
        valueInfos: [],
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
    for (let count = 1; this.types.has(unique); count += 1) unique = `${name}_${count}`;
    return unique;
  }
}
