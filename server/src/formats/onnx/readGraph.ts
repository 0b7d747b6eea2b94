/** Graphs, nodes, attributes and functions: the messages that contain each other. */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import { AttributeProto, attributeTypes, FunctionProto, GraphProto, NodeProto } from './fields.ts';
import type { ReadAttribute, Reading } from './reading.ts';
import { readSparseTensor, readTensor } from './readTensor.ts';
import { readType, readValueInfo } from './readType.ts';
import type { OnnxFunction, OnnxGraph, OnnxNode, OnnxType, OnnxValueInfo } from './syntax.ts';
import { wireTypes } from './wireReader.ts';

/** Most entries kept of an attribute list. Longer ones (the tables of tree ensembles) decide no shape. */
const keptListEntries = 65_536;

const noMetadata: ReadonlyMap<string, string> = new Map();
const noAttributes: ReadonlyMap<string, Attribute<OnnxGraph>> = new Map();

/** A graph while it is read. */
export interface GraphParts extends OnnxGraph {
  name: string;
  readonly nodes: OnnxNode[];
  readonly inputs: OnnxValueInfo[];
  readonly outputs: OnnxValueInfo[];
  readonly valueInfos: OnnxValueInfo[];
  readonly initializers: TensorLiteral[];
  readonly sparseInitializers: TensorLiteral[];
  metadata?: Map<string, string>;
}

const emptyGraph = (): GraphParts => ({
  name: '',
  nodes: [],
  inputs: [],
  outputs: [],
  valueInfos: [],
  initializers: [],
  sparseInitializers: [],
});

/** Reads a graph. Protobuf merges a message that occurs twice: what is read is then added to `graph`. */
export function readGraph(reading: Reading, end: number, graph: GraphParts = emptyGraph()): GraphParts {
  const { wire } = reading;
  const { nodes, inputs, outputs, valueInfos, initializers, sparseInitializers } = graph;
  if (!wire.enter()) return graph;
  while (wire.nextField(end)) {
    switch (wire.field) {
      case GraphProto.node: {
        const inner = reading.message('GraphProto');
        if (inner !== undefined) nodes.push(readNode(reading, inner));
        break;
      }
      case GraphProto.name:
        graph.name = reading.string('GraphProto');
        break;
      case GraphProto.initializer: {
        const inner = reading.message('GraphProto');
        if (inner !== undefined) initializers.push(readTensor(reading, inner));
        break;
      }
      case GraphProto.sparse_initializer:
        nested(reading, 'GraphProto', (inner) => sparseInitializers.push(readSparseTensor(reading, inner)));
        break;
      case GraphProto.input:
        nested(reading, 'GraphProto', (inner) => inputs.push(readValueInfo(reading, inner)));
        break;
      case GraphProto.output:
        nested(reading, 'GraphProto', (inner) => outputs.push(readValueInfo(reading, inner)));
        break;
      case GraphProto.value_info:
        nested(reading, 'GraphProto', (inner) => valueInfos.push(readValueInfo(reading, inner)));
        break;
      case GraphProto.metadata_props:
        graph.metadata ??= new Map();
        reading.entry('GraphProto', graph.metadata);
        break;
      default:
        reading.skip('GraphProto', GraphProto);
    }
  }
  wire.leave();
  return graph;
}

export function readFunction(reading: Reading, end: number): OnnxFunction {
  const { wire } = reading;
  let name = '';
  let domain = '';
  let overload = '';
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes: string[] = [];
  const defaults = new Map<string, Attribute<OnnxGraph>>();
  const operatorSets: { domain: string; version: number }[] = [];
  const nodes: OnnxNode[] = [];
  const valueInfos: OnnxValueInfo[] = [];
  while (wire.nextField(end)) {
    switch (wire.field) {
      case FunctionProto.name:
        name = reading.string('FunctionProto');
        break;
      case FunctionProto.domain:
        domain = reading.string('FunctionProto');
        break;
      case FunctionProto.overload:
        overload = reading.string('FunctionProto');
        break;
      case FunctionProto.input:
        inputs.push(reading.string('FunctionProto'));
        break;
      case FunctionProto.output:
        outputs.push(reading.string('FunctionProto'));
        break;
      case FunctionProto.attribute:
        attributes.push(reading.string('FunctionProto'));
        break;
      case FunctionProto.attribute_proto:
        nested(reading, 'FunctionProto', (inner) => {
          const { name: attribute, attribute: value } = readAttribute(reading, inner);
          defaults.set(attribute, value);
        });
        break;
      case FunctionProto.opset_import: {
        const set = reading.operatorSet('FunctionProto');
        if (set !== undefined) operatorSets.push(set);
        break;
      }
      case FunctionProto.node:
        nested(reading, 'FunctionProto', (inner) => nodes.push(readNode(reading, inner)));
        break;
      case FunctionProto.value_info:
        nested(reading, 'FunctionProto', (inner) => valueInfos.push(readValueInfo(reading, inner)));
        break;
      default:
        reading.skip('FunctionProto', FunctionProto);
    }
  }
  if (name === '') wire.refuse('a function has no name');
  return { name, domain, overload, inputs, outputs, attributes, defaults, operatorSets, nodes, valueInfos };
}

function readNode(reading: Reading, end: number): OnnxNode {
  const { wire } = reading;
  let name = '';
  let type = '';
  let domain = '';
  let overload = '';
  const inputs: string[] = [];
  const outputs: string[] = [];
  let first: ReadAttribute | undefined;
  let attributes: Map<string, Attribute<OnnxGraph>> | undefined;
  let metadata: Map<string, string> | undefined;
  while (wire.nextField(end)) {
    switch (wire.field) {
      case NodeProto.input:
        inputs.push(reading.string('NodeProto'));
        break;
      case NodeProto.output:
        outputs.push(reading.string('NodeProto'));
        break;
      case NodeProto.name:
        name = reading.uniqueString('NodeProto');
        break;
      case NodeProto.op_type:
        type = reading.string('NodeProto');
        break;
      case NodeProto.domain:
        domain = reading.string('NodeProto');
        break;
      case NodeProto.overload:
        overload = reading.string('NodeProto');
        break;
      case NodeProto.attribute: {
        const inner = reading.message('NodeProto');
        if (inner === undefined) break;
        const read = readAttribute(reading, inner);
        if (first === undefined) first = read;
        else {
          attributes ??= new Map(first.alone);
          attributes.set(read.name, read.attribute);
        }
        break;
      }
      case NodeProto.metadata_props:
        metadata ??= new Map();
        reading.entry('NodeProto', metadata);
        break;
      default:
        reading.skip('NodeProto', NodeProto);
    }
  }
  // ONNX's own checker refuses it too, and nothing could be said about what it costs.
  if (type === '') wire.refuse('a node has no operator type');
  return {
    name,
    type,
    domain,
    overload,
    inputs,
    outputs,
    attributes: attributes ?? first?.alone ?? noAttributes,
    metadata: metadata ?? noMetadata,
  };
}

/**
 * What the value fields of an attribute hold. Which of them counts is said by `type`, or by what is there. Lists are
 * made only when they are met: a large model has a million attributes, nearly all with one value.
 */
interface AttributeFields {
  type: number;
  reference: string;
  int: number | undefined;
  float: number | undefined;
  string: Attribute<OnnxGraph> | undefined;
  tensor: TensorLiteral | undefined;
  graph: OnnxGraph | undefined;
  declaredType: OnnxType | undefined;
  declaredTypes: OnnxType[] | undefined;
  sparse: TensorLiteral | undefined;
  ints: AttributeList<number> | undefined;
  floats: AttributeList<number> | undefined;
  strings: AttributeList<string> | undefined;
  tensors: TensorLiteral[] | undefined;
  graphs: OnnxGraph[] | undefined;
}

/** A list with the number of its entries in the file, which may be more than are kept. */
interface AttributeList<Entry> {
  readonly entries: Entry[];
  count: number;
}

/** Operators of one kind have the same attributes, which then are the same objects. */
function readAttribute(reading: Reading, end: number): ReadAttribute {
  return reading.once(reading.attributes, end, () => {
    const { name, attribute } = readAttributeFields(reading, end);
    return { name, attribute, alone: new Map([[name, attribute]]) };
  });
}

function readAttributeFields(reading: Reading, end: number): Omit<ReadAttribute, 'alone'> {
  const { wire } = reading;
  let name = '';
  const fields: AttributeFields = {
    type: 0,
    reference: '',
    int: undefined,
    float: undefined,
    string: undefined,
    tensor: undefined,
    graph: undefined,
    declaredType: undefined,
    declaredTypes: undefined,
    sparse: undefined,
    ints: undefined,
    floats: undefined,
    strings: undefined,
    tensors: undefined,
    graphs: undefined,
  };
  while (wire.nextField(end)) {
    switch (wire.field) {
      case AttributeProto.name:
        name = reading.string('AttributeProto');
        break;
      case AttributeProto.type:
        fields.type = reading.integer('AttributeProto');
        break;
      case AttributeProto.ref_attr_name:
        fields.reference = reading.string('AttributeProto');
        break;
      case AttributeProto.f:
        if (reading.expect('AttributeProto', wireTypes.fixed32)) fields.float = wire.float32();
        break;
      case AttributeProto.i:
        fields.int = reading.integer('AttributeProto');
        break;
      case AttributeProto.s: {
        const { text, skippedBytes } = reading.boundedString('AttributeProto');
        fields.string =
          skippedBytes === 0
            ? { kind: 'string', value: text }
            : { kind: 'other', value: `string of ${skippedBytes} bytes` };
        break;
      }
      case AttributeProto.t:
        nested(reading, 'AttributeProto', (inner) => {
          fields.tensor = readTensor(reading, inner);
        });
        break;
      case AttributeProto.g:
        nested(reading, 'AttributeProto', (inner) => {
          fields.graph = readGraph(reading, inner);
        });
        break;
      case AttributeProto.tp:
        nested(reading, 'AttributeProto', (inner) => {
          fields.declaredType = readType(reading, inner, name);
        });
        break;
      case AttributeProto.type_protos:
        nested(reading, 'AttributeProto', (inner) => {
          const type = readType(reading, inner, name);
          fields.declaredTypes ??= [];
          if (type !== undefined) fields.declaredTypes.push(type);
        });
        break;
      case AttributeProto.sparse_tensor:
        nested(reading, 'AttributeProto', (inner) => {
          fields.sparse = readSparseTensor(reading, inner);
        });
        break;
      case AttributeProto.ints:
        fields.ints ??= { entries: [], count: 0 };
        fields.ints.count += reading.integers('AttributeProto', fields.ints.entries, keptListEntries);
        break;
      case AttributeProto.floats:
        fields.floats ??= { entries: [], count: 0 };
        fields.floats.count += reading.floats('AttributeProto', fields.floats.entries, keptListEntries);
        break;
      case AttributeProto.strings: {
        const { text, skippedBytes } = reading.boundedString('AttributeProto');
        fields.strings ??= { entries: [], count: 0 };
        fields.strings.count += 1;
        if (skippedBytes === 0 && fields.strings.entries.length < keptListEntries) {
          fields.strings.entries.push(text);
        }
        break;
      }
      case AttributeProto.tensors:
        nested(reading, 'AttributeProto', (inner) => {
          fields.tensors ??= [];
          fields.tensors.push(readTensor(reading, inner));
        });
        break;
      case AttributeProto.graphs:
        nested(reading, 'AttributeProto', (inner) => {
          fields.graphs ??= [];
          fields.graphs.push(readGraph(reading, inner));
        });
        break;
      default:
        reading.skip('AttributeProto', AttributeProto);
    }
  }
  return { name, attribute: attributeOf(fields) };
}

function attributeOf(fields: AttributeFields): Attribute<OnnxGraph> {
  const type = attributeTypes[fields.type] ?? (fields.type === 0 ? impliedType(fields) : undefined);
  if (fields.reference !== '') {
    const reference = { kind: 'reference', value: fields.reference } as const;
    return type === undefined ? reference : { ...reference, type };
  }
  switch (type) {
    case 'int':
      return { kind: 'int', value: fields.int ?? 0 };
    case 'float':
      return { kind: 'float', value: fields.float ?? 0 };
    case 'string':
      return fields.string ?? { kind: 'string', value: '' };
    case 'ints':
      return wholeList(fields.ints)
        ? { kind: 'ints', value: fields.ints?.entries ?? [] }
        : { kind: 'other', value: `ints, ${fields.ints?.count} of them` };
    case 'floats':
      return wholeList(fields.floats)
        ? { kind: 'floats', value: fields.floats?.entries ?? [] }
        : { kind: 'other', value: `floats, ${fields.floats?.count} of them` };
    case 'strings':
      return wholeList(fields.strings)
        ? { kind: 'strings', value: fields.strings?.entries ?? [] }
        : { kind: 'other', value: `strings, ${fields.strings?.count} of them` };
    case 'tensor':
      return fields.tensor === undefined
        ? { kind: 'other', value: 'tensor without value' }
        : { kind: 'tensor', value: fields.tensor };
    case 'tensors':
      return { kind: 'tensors', value: fields.tensors ?? [] };
    case 'graph':
      return fields.graph === undefined
        ? { kind: 'other', value: 'graph without value' }
        : { kind: 'graph', value: fields.graph };
    case 'graphs':
      return { kind: 'graphs', value: fields.graphs ?? [] };
    case 'type_proto':
      return fields.declaredType === undefined
        ? { kind: 'other', value: 'type without value' }
        : { kind: 'type_proto', value: fields.declaredType };
    case 'type_protos':
      return { kind: 'type_protos', value: fields.declaredTypes ?? [] };
    case 'sparse_tensor':
      return fields.sparse === undefined
        ? { kind: 'other', value: 'sparse tensor without value' }
        : { kind: 'sparse_tensor', value: fields.sparse };
    default:
      return { kind: 'other', value: type ?? `attribute of type ${fields.type}` };
  }
}

const wholeList = (list: AttributeList<unknown> | undefined): boolean =>
  list === undefined || list.count === list.entries.length;

/** Files of IR version 1 have no `type`: the field that is there says it. */
function impliedType(fields: AttributeFields): string | undefined {
  if (fields.int !== undefined) return 'int';
  if (fields.float !== undefined) return 'float';
  if (fields.string !== undefined) return 'string';
  if (fields.tensor !== undefined) return 'tensor';
  if (fields.graph !== undefined) return 'graph';
  if (fields.declaredType !== undefined) return 'type_proto';
  if (fields.declaredTypes !== undefined) return 'type_protos';
  if (fields.sparse !== undefined) return 'sparse_tensor';
  if (fields.ints !== undefined) return 'ints';
  if (fields.floats !== undefined) return 'floats';
  if (fields.strings !== undefined) return 'strings';
  if (fields.tensors !== undefined) return 'tensors';
  if (fields.graphs !== undefined) return 'graphs';
  return undefined;
}

function nested(reading: Reading, message: string, read: (end: number) => void): void {
  const end = reading.message(message);
  if (end !== undefined) read(end);
}
