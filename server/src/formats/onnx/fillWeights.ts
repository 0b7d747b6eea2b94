/**
 * Gives every tensor without contents some, so that a model can be written that checkers accept and runtimes run.
 *
 * `zeros`: an initializer becomes a `ConstantOfShape` of zeros of its name, as in the light models of the ONNX backend
 * tests: the file stays small whatever the weights, and needs no other. `external`: an initializer refers to a place in
 * an external file, which is for others to fill.
 */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import { bitsPerElement, type ElementType, storedBytes } from '../../model/elementType.ts';
import { elementCount, isHole, type Payload, type Payloads } from './payload.ts';
import type { OnnxFunction, OnnxGraph, OnnxModel, OnnxNode } from './syntax.ts';

export type WeightForm =
  | { readonly kind: 'zeros' }
  /** `path`: from the model's folder. */
  | { readonly kind: 'external'; readonly path: string };

export interface FilledModel {
  readonly model: OnnxModel;
  readonly payloads: Payloads;
  /** Tensors that had no contents. */
  readonly filled: number;
  /** Bytes that the external file has to have. */
  readonly externalBytes: number;
}

export function fillWeights(model: OnnxModel, payloads: Payloads, form: WeightForm): FilledModel {
  const filling = new Filling(model, payloads, form);
  const graph = filling.graph(model.graph);
  const functions = model.functions.map((body) => filling.function(body));
  const { filled, externalBytes } = filling;
  return { model: { ...model, graph, functions }, payloads: filling.payloads, filled, externalBytes };
}

/** Where each tensor begins in an external file: what ONNX Runtime and NumPy read without copying. */
const alignment = 64;

const mostTexts = 2 ** 20;
const listedZeros = 2 ** 16;

/** Types that `ConstantOfShape` has had since it exists (ONNX docs/Changelog.md, ConstantOfShape-9). */
const generatedTypes: ReadonlySet<ElementType> = new Set([
  'float16',
  'float32',
  'float64',
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'bool',
] as const);

class Filling {
  readonly payloads: Map<TensorLiteral, Payload>;
  filled = 0;
  externalBytes = 0;
  readonly #form: WeightForm;
  readonly #generates: boolean;

  constructor(model: OnnxModel, payloads: Payloads, form: WeightForm) {
    this.payloads = new Map(payloads);
    this.#form = form;
    const version = model.operatorSets.find(({ domain }) => domain === '' || domain === 'ai.onnx')?.version;
    this.#generates = version !== undefined && version >= 9;
  }

  graph(graph: OnnxGraph): OnnxGraph {
    const stored: TensorLiteral[] = [];
    const shapes = new Map<string, TensorLiteral>();
    const generators: PlacedNode[] = [];
    const generated = new Set<string>();
    const readers = firstReaders(graph.nodes);
    for (const tensor of graph.initializers) {
      if (!isHole(tensor, this.payloads)) {
        stored.push(tensor);
        continue;
      }
      this.filled += 1;
      if (this.#form.kind === 'external' && tensor.elementType !== 'string') {
        stored.push(this.#placed(tensor, this.#form.path));
      } else if (this.#generates && generatedTypes.has(tensor.elementType)) {
        generated.add(tensor.name);
        const reader = readers.get(tensor.name);
        generators.push({ node: generatorOf(tensor, shapes, reader?.node), before: reader?.index ?? 0 });
      } else {
        stored.push(this.#zeros(tensor));
      }
    }
    const attributed = graph.nodes.map((node) => this.#node(node));
    this.filled += graph.sparseInitializers.length;
    return {
      ...graph,
      nodes: placed(attributed, generators),
      initializers: [...shapes.values(), ...stored],
      // Before IR version 4 an initializer was an input too; what a node computes is none.
      inputs: graph.inputs.filter(({ name }) => !generated.has(name)),
    };
  }

  function(body: OnnxFunction): OnnxFunction {
    return { ...body, nodes: body.nodes.map((node) => this.#node(node)) };
  }

  #node(node: OnnxNode): OnnxNode {
    if (node.attributes.size === 0) return node;
    let changed = false;
    const attributes = new Map<string, Attribute<OnnxGraph>>();
    for (const [name, value] of node.attributes) {
      const filled = this.#attribute(value);
      changed ||= filled !== value;
      attributes.set(name, filled);
    }
    return changed ? { ...node, attributes } : node;
  }

  #attribute(attribute: Attribute<OnnxGraph>): Attribute<OnnxGraph> {
    switch (attribute.kind) {
      case 'graph':
        return { kind: 'graph', value: this.graph(attribute.value) };
      case 'graphs':
        return { kind: 'graphs', value: attribute.value.map((graph) => this.graph(graph)) };
      case 'tensor':
        return isHole(attribute.value, this.payloads)
          ? { kind: 'tensor', value: this.#counted(attribute.value) }
          : attribute;
      case 'tensors':
        return attribute.value.some((tensor) => isHole(tensor, this.payloads))
          ? {
              kind: 'tensors',
              value: attribute.value.map((tensor) =>
                isHole(tensor, this.payloads) ? this.#counted(tensor) : tensor,
              ),
            }
          : attribute;
      case 'sparse_tensor':
        this.filled += 1;
        return attribute;
      default:
        return attribute;
    }
  }

  #counted(tensor: TensorLiteral): TensorLiteral {
    this.filled += 1;
    return this.#zeros(tensor);
  }

  /** The tensor with zeros as its contents, or empty texts; more of these than anyone stores stay unwritten. */
  #zeros(tensor: TensorLiteral): TensorLiteral {
    const bits = bitsPerElement(tensor.elementType);
    const count = elementCount(tensor);
    // Where they are few they are part of the tree, so that ONNX text shows them.
    if (bits !== null && bits >= 8 && !tensor.elementType.startsWith('complex') && count <= listedZeros) {
      return { ...tensor, elements: new Array<number>(count).fill(0) };
    }
    const copy = { ...tensor };
    if (bits !== null) this.payloads.set(copy, { kind: 'zeros', length: Math.ceil((count * bits) / 8) });
    else if (tensor.elementType === 'string' && count <= mostTexts) {
      this.payloads.set(copy, { kind: 'strings', texts: new Array<string>(count).fill('') });
    }
    return copy;
  }

  #placed(tensor: TensorLiteral, path: string): TensorLiteral {
    const offset = Math.ceil(this.externalBytes / alignment) * alignment;
    const length = storedBytes(tensor.elementType, elementCount(tensor));
    this.externalBytes = offset + length;
    return { ...tensor, external: { path, offset, length } };
  }
}

/** A node that makes the tensor; `shapes` holds one tensor for each shape that occurs. */
function generatorOf(
  tensor: TensorLiteral,
  shapes: Map<string, TensorLiteral>,
  reader: OnnxNode | undefined,
): OnnxNode {
  const name = `shape[${tensor.dimensions.join(', ')}]`;
  shapes.set(name, {
    name,
    elementType: 'int64',
    dimensions: [tensor.dimensions.length],
    elements: tensor.dimensions,
    storedBytes: 8 * tensor.dimensions.length,
  });
  const zero: TensorLiteral = {
    name: '',
    elementType: tensor.elementType,
    dimensions: [1],
    elements: [0],
    storedBytes: 0,
  };
  return {
    name: '',
    type: 'ConstantOfShape',
    domain: '',
    overload: '',
    inputs: [name],
    outputs: [tensor.name],
    attributes: new Map([['value', { kind: 'tensor', value: zero }]]),
    metadata: new Map([...(reader?.metadata ?? [])].filter(([key]) => scopeKeys.has(key))),
  };
}

/** Where exporters record the module of a node: a weight belongs to the module that reads it first. */
const scopeKeys: ReadonlySet<string> = new Set([
  'namespace',
  'pkg.torch.onnx.namespace',
  'pkg.torch.onnx.name_scopes',
  'pkg.torch.onnx.class_hierarchy',
]);

interface PlacedNode {
  readonly node: OnnxNode;
  /** Index of the node that it has to precede. */
  readonly before: number;
}

function placed(nodes: readonly OnnxNode[], added: readonly PlacedNode[]): readonly OnnxNode[] {
  const byPlace = new Map<number, OnnxNode[]>();
  for (const { node, before } of added) byPlace.set(before, [...(byPlace.get(before) ?? []), node]);
  if (nodes.length === 0) return added.map(({ node }) => node);
  return nodes.flatMap((node, index) => [...(byPlace.get(index) ?? []), node]);
}

/**
 * The first node that reads a value, by the value's name. Where nodes hold subgraphs, which see all values around them,
 * nobody is named: what is read anywhere has to come first.
 */
function firstReaders(
  nodes: readonly OnnxNode[],
): ReadonlyMap<string, { readonly node: OnnxNode; readonly index: number }> {
  const readers = new Map<string, { node: OnnxNode; index: number }>();
  const holdsGraphs = ({ attributes }: OnnxNode): boolean =>
    [...attributes.values()].some(({ kind }) => kind === 'graph' || kind === 'graphs');
  if (nodes.some(holdsGraphs)) return readers;
  for (const [index, node] of nodes.entries()) {
    for (const name of node.inputs) if (!readers.has(name)) readers.set(name, { node, index });
  }
  return readers;
}
