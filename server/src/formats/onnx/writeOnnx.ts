/**
 * Writes a model as binary ONNX: the tree, and the contents of tensors that `payloads` holds beside it.
 *
 * What the tree has no place for is not written: doc strings of parts, training information, quantization annotations, the
 * configuration of devices.
 */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import type { Issue } from '../../model/issue.ts';
import { wide } from './encodeElements.ts';
import {
  AttributeProto,
  attributeTypes,
  FunctionProto,
  GraphProto,
  ModelProto,
  NodeProto,
  OperatorSetIdProto,
} from './fields.ts';
import { isHole, noPayloads, type Payloads } from './payload.ts';
import type { OnnxFunction, OnnxGraph, OnnxModel, OnnxNode } from './syntax.ts';
import { wireTypes } from './wireReader.ts';
import { WireWriter } from './wireWriter.ts';
import { writeSparseZeros, writeTensor } from './writeTensor.ts';
import { writeType, writeValueInfo } from './writeType.ts';

export interface WrittenOnnx {
  /** Absent where something cannot be written, which `issues` then says. */
  readonly bytes: Uint8Array | undefined;
  readonly issues: readonly Issue[];
}

/** Protobuf messages are smaller than 2 GiB, whoever reads them. */
const largestMessage = 2 ** 31 - 1;

/** Sparse tensors, whose values no tree holds, are written as zeros. */
export function writeOnnx(model: OnnxModel, payloads: Payloads = noPayloads): WrittenOnnx {
  const writer = new OnnxWriter(payloads);
  writer.model(model);
  const { wire, issues } = writer;
  if (wire.size > largestMessage) {
    issues.push({
      code: 'onnx/not-writable',
      severity: 'error',
      message: `The model takes ${wire.size} bytes, more than the 2 GiB of a protobuf file: keep its weights in an external file`,
    });
  }
  return { bytes: issues.length > 0 ? undefined : wire.source().read(0, wire.size), issues };
}

class OnnxWriter {
  readonly wire = new WireWriter();
  readonly issues: Issue[] = [];
  readonly #payloads: Payloads;

  constructor(payloads: Payloads) {
    this.#payloads = payloads;
  }

  model(model: OnnxModel): void {
    const { wire } = this;
    wire.integer(ModelProto.ir_version, model.irVersion);
    this.#optionalText(ModelProto.producer_name, model.producerName);
    this.#optionalText(ModelProto.producer_version, model.producerVersion);
    this.#optionalText(ModelProto.domain, model.domain);
    if (model.modelVersion !== 0) wire.integer(ModelProto.model_version, wide(model.modelVersion));
    this.#optionalText(ModelProto.doc_string, model.docString ?? '');
    this.#graph(ModelProto.graph, model.graph);
    this.#operatorSets(ModelProto.opset_import, model.operatorSets);
    for (const [key, value] of model.metadata) wire.entry(ModelProto.metadata_props, key, value);
    for (const body of model.functions) this.#function(body);
  }

  #graph(field: number, graph: OnnxGraph): void {
    const { wire } = this;
    wire.message(field, () => {
      for (const node of graph.nodes) this.#node(GraphProto.node, node);
      wire.text(GraphProto.name, graph.name);
      for (const tensor of graph.initializers)
        this.#tensor(GraphProto.initializer, tensor, `tensor \`${tensor.name}\``);
      for (const value of graph.inputs) writeValueInfo(wire, GraphProto.input, value);
      for (const value of graph.outputs) writeValueInfo(wire, GraphProto.output, value);
      for (const value of graph.valueInfos) writeValueInfo(wire, GraphProto.value_info, value);
      for (const tensor of graph.sparseInitializers)
        writeSparseZeros(wire, GraphProto.sparse_initializer, tensor);
      for (const [key, value] of graph.metadata ?? []) wire.entry(GraphProto.metadata_props, key, value);
    });
  }

  #node(field: number, node: OnnxNode): void {
    const { wire } = this;
    wire.message(field, () => {
      for (const name of node.inputs) wire.text(NodeProto.input, name);
      for (const name of node.outputs) wire.text(NodeProto.output, name);
      this.#optionalText(NodeProto.name, node.name);
      wire.text(NodeProto.op_type, node.type);
      for (const [name, value] of node.attributes)
        this.#attribute(NodeProto.attribute, name, value, node.name || node.type);
      this.#optionalText(NodeProto.domain, node.domain);
      this.#optionalText(NodeProto.overload, node.overload);
      for (const [key, value] of node.metadata) wire.entry(NodeProto.metadata_props, key, value);
    });
  }

  #function(body: OnnxFunction): void {
    const { wire } = this;
    wire.message(ModelProto.functions, () => {
      wire.text(FunctionProto.name, body.name);
      for (const name of body.inputs) wire.text(FunctionProto.input, name);
      for (const name of body.outputs) wire.text(FunctionProto.output, name);
      for (const name of body.attributes) wire.text(FunctionProto.attribute, name);
      for (const node of body.nodes) this.#node(FunctionProto.node, node);
      this.#operatorSets(FunctionProto.opset_import, body.operatorSets);
      wire.text(FunctionProto.domain, body.domain);
      for (const [name, value] of body.defaults)
        this.#attribute(FunctionProto.attribute_proto, name, value, body.name);
      for (const value of body.valueInfos) writeValueInfo(wire, FunctionProto.value_info, value);
      this.#optionalText(FunctionProto.overload, body.overload);
    });
  }

  /** `owner` names the node or function in an issue. */
  #attribute(field: number, name: string, attribute: Attribute<OnnxGraph>, owner: string): void {
    const { wire } = this;
    wire.message(field, () => {
      wire.text(AttributeProto.name, name);
      const type = this.#attributeValue(attribute, `attribute \`${name}\` of \`${owner}\``);
      if (type !== undefined) wire.integer(AttributeProto.type, type);
    });
  }

  /** Writes the value; gives the number of its type. */
  #attributeValue(attribute: Attribute<OnnxGraph>, where: string): number | undefined {
    const { wire } = this;
    switch (attribute.kind) {
      case 'int':
        wire.integer(AttributeProto.i, wide(attribute.value));
        break;
      case 'float':
        wire.tag(AttributeProto.f, wireTypes.fixed32);
        wire.float32(attribute.value);
        break;
      case 'string':
        wire.text(AttributeProto.s, attribute.value);
        break;
      case 'ints':
        for (const value of attribute.value) wire.integer(AttributeProto.ints, wide(value));
        break;
      case 'floats':
        for (const value of attribute.value) {
          wire.tag(AttributeProto.floats, wireTypes.fixed32);
          wire.float32(value);
        }
        break;
      case 'strings':
        for (const value of attribute.value) wire.text(AttributeProto.strings, value);
        break;
      case 'tensor':
        this.#tensor(AttributeProto.t, attribute.value, where);
        break;
      case 'tensors':
        for (const tensor of attribute.value) this.#tensor(AttributeProto.tensors, tensor, where);
        break;
      case 'graph':
        this.#graph(AttributeProto.g, attribute.value);
        break;
      case 'graphs':
        for (const graph of attribute.value) this.#graph(AttributeProto.graphs, graph);
        break;
      case 'reference':
        wire.text(AttributeProto.ref_attr_name, attribute.value);
        return attribute.type === undefined ? undefined : attributeTypeNumbers.get(attribute.type);
      case 'type_proto':
        writeType(wire, AttributeProto.tp, attribute.value);
        break;
      case 'type_protos':
        for (const type of attribute.value) writeType(wire, AttributeProto.type_protos, type);
        break;
      case 'sparse_tensor':
        writeSparseZeros(wire, AttributeProto.sparse_tensor, attribute.value);
        break;
      case 'other':
        this.issues.push({
          code: 'onnx/not-writable',
          severity: 'error',
          message: `The value of ${where} (${attribute.value}) is not kept when a model is read, so it cannot be written: use the original model`,
        });
        return undefined;
    }
    return attributeTypeNumbers.get(attribute.kind);
  }

  #tensor(field: number, tensor: TensorLiteral, where: string): void {
    if (isHole(tensor, this.#payloads)) {
      this.issues.push({
        code: 'onnx/not-writable',
        severity: 'error',
        message: `The contents of ${where} are unknown, so they cannot be written: give --weights`,
      });
    }
    writeTensor(this.wire, field, tensor, this.#payloads.get(tensor));
  }

  #operatorSets(field: number, sets: OnnxModel['operatorSets']): void {
    const { wire } = this;
    for (const { domain, version } of sets) {
      wire.message(field, () => {
        wire.text(OperatorSetIdProto.domain, domain);
        wire.integer(OperatorSetIdProto.version, version);
      });
    }
  }

  #optionalText(field: number, text: string): void {
    if (text !== '') this.wire.text(field, text);
  }
}

const attributeTypeNumbers: ReadonlyMap<string, number> = new Map(
  Object.entries(attributeTypes).map(([number, name]) => [name, Number(number)]),
);
