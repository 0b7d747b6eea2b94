/** Our reading against `onnx-proto`, an independent decoder of everything up to IR version 8. */

import { onnx } from 'onnx-proto';
import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import type {
  OnnxGraph,
  OnnxModel,
  OnnxType,
  OnnxValueInfo,
} from '../../../server/src/formats/onnx/syntax.ts';
import type { Attribute, TensorLiteral } from '../../../server/src/model/attribute.ts';
import { elementTypes } from '../../../server/src/model/elementType.ts';
import { readShared, sharedModels, sharedTestName } from '../../support/sharedModels.ts';

const folders = [
  'onnx-light',
  'onnx-node',
  'onnx-simple',
  'onnx-pytorch-converted',
  'onnx-pytorch-operator',
  'torch-export',
];

describe('the same tree as onnx-proto', () => {
  test.each(folders)(sharedTestName('%s'), (folder) => {
    let compared = 0;
    for (const path of sharedModels(folder)) {
      const bytes = readShared(path);
      const theirs = onnx.ModelProto.decode(bytes);
      if (Number(theirs.irVersion) > 8) continue;
      const { model, issues } = readOnnx(byteSourceOfBuffer(bytes));
      expect(issues, path).toEqual([]);
      if (model === undefined) throw new Error(`${path} was not read`);
      expect(firstDifference(plainModel(model), plainTheirs(theirs), path)).toBeUndefined();
      compared += 1;
    }
    if (sharedModels(folder).length > 0) expect(compared).toBeGreaterThan(0);
  });
});

/** Where two trees differ first, so that a difference in a large model is one line. */
function firstDifference(ours: unknown, theirs: unknown, path: string): string | undefined {
  if (Object.is(ours, theirs)) return undefined;
  if (typeof ours !== 'object' || typeof theirs !== 'object' || ours === null || theirs === null) {
    return `${path}: ${String(ours)}, onnx-proto has ${String(theirs)}`;
  }
  const [left, right] = [new Map(Object.entries(ours)), new Map(Object.entries(theirs))];
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const difference = firstDifference(left.get(key), right.get(key), `${path}/${key}`);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** What both sides know, in one shape. */
function plainModel(model: OnnxModel): unknown {
  return {
    irVersion: model.irVersion,
    producer: [model.producerName, model.producerVersion],
    operatorSets: model.operatorSets,
    metadata: [...model.metadata],
    graph: plainGraph(model.graph),
  };
}

function plainGraph(graph: OnnxGraph): unknown {
  return {
    name: graph.name,
    nodes: graph.nodes.map((node) => ({
      name: node.name,
      type: node.type,
      domain: node.domain,
      inputs: node.inputs,
      outputs: node.outputs,
      attributes: [...node.attributes].map(([name, value]) => [name, plainAttribute(value)]),
    })),
    inputs: graph.inputs.map(plainValue),
    outputs: graph.outputs.map(plainValue),
    values: graph.valueInfos.map(plainValue),
    initializers: graph.initializers.map(plainTensor),
  };
}

const plainValue = (value: OnnxValueInfo): unknown => [value.name, plainType(value.type)];

function plainType(type: OnnxType | undefined): unknown {
  switch (type?.kind) {
    case 'tensor':
      return [type.elementType, type.shape?.map((size) => size ?? '?')];
    case 'sequence':
      return ['sequence', plainType(type.element)];
    case 'map':
      return ['map', type.key, plainType(type.value)];
    default:
      return type?.kind;
  }
}

function plainAttribute(attribute: Attribute<OnnxGraph>): unknown {
  switch (attribute.kind) {
    case 'tensor':
      return ['tensor', plainTensor(attribute.value)];
    case 'graph':
      return ['graph', plainGraph(attribute.value)];
    // onnx-proto 8 has no numbers for the kinds of attributes that came later.
    case 'type_proto':
    case 'sparse_tensor':
    case 'other':
      return ['other'];
    default:
      return [attribute.kind, attribute.value];
  }
}

function plainTensor(tensor: TensorLiteral): unknown {
  const { name, elementType, dimensions, elements, external } = tensor;
  const keeps = elements !== undefined && ['int64', 'int32', 'float32', 'bool'].includes(elementType);
  return [name, elementType, dimensions, keeps ? elements : undefined, external?.path];
}

function plainTheirs(model: onnx.ModelProto): unknown {
  return {
    irVersion: Number(model.irVersion),
    producer: [model.producerName, model.producerVersion],
    operatorSets: model.opsetImport.map((set) => ({
      domain: set.domain ?? '',
      version: Number(set.version),
    })),
    metadata: model.metadataProps.map((entry) => [entry.key, entry.value]),
    graph: theirGraph(model.graph),
  };
}

function theirGraph(graph: onnx.IGraphProto | null | undefined): unknown {
  return {
    name: graph?.name ?? '',
    nodes: graph?.node?.map((node) => ({
      name: node.name ?? '',
      type: node.opType ?? '',
      domain: node.domain ?? '',
      inputs: node.input,
      outputs: node.output,
      attributes: node.attribute?.map((attribute) => [attribute.name, theirAttribute(attribute)]),
    })),
    inputs: graph?.input?.map(theirValue),
    outputs: graph?.output?.map(theirValue),
    values: graph?.valueInfo?.map(theirValue),
    initializers: graph?.initializer?.map(theirTensor),
  };
}

const theirValue = (value: onnx.IValueInfoProto): unknown => [value.name ?? '', theirType(value.type)];

function theirType(type: onnx.ITypeProto | null | undefined): unknown {
  if (type?.tensorType) {
    const dims = type.tensorType.shape?.dim ?? undefined;
    return [
      elementTypes[type.tensorType.elemType ?? 0],
      dims?.map((dim) => (dim.dimParam ? dim.dimParam : dim.dimValue == null ? '?' : Number(dim.dimValue))),
    ];
  }
  if (type?.sequenceType) return ['sequence', theirType(type.sequenceType.elemType)];
  if (type?.mapType)
    return ['map', elementTypes[type.mapType.keyType ?? 0], theirType(type.mapType.valueType)];
  if (type?.optionalType) return 'optional';
  if (type?.sparseTensorType) return 'sparse-tensor';
  return undefined;
}

function theirAttribute(attribute: onnx.IAttributeProto): unknown {
  const text = (bytes: Uint8Array | null | undefined): string => new TextDecoder().decode(bytes ?? undefined);
  switch (attribute.type) {
    case 1:
      return ['float', attribute.f];
    case 2:
      return ['int', safe(attribute.i)];
    case 3:
      return ['string', text(attribute.s)];
    case 4:
      return ['tensor', attribute.t ? theirTensor(attribute.t) : undefined];
    case 5:
      return ['graph', theirGraph(attribute.g)];
    case 6:
      return ['floats', attribute.floats];
    case 7:
      return ['ints', attribute.ints?.map(safe)];
    case 8:
      return ['strings', attribute.strings?.map(text)];
    default:
      return ['other'];
  }
}

function theirTensor(tensor: onnx.ITensorProto): unknown {
  const elementType = elementTypes[tensor.dataType ?? 0] ?? 'undefined';
  const dimensions = (tensor.dims ?? []).map(Number);
  const external = tensor.externalData?.find((entry) => entry.key === 'location')?.value ?? undefined;
  return [
    tensor.name ?? '',
    elementType,
    dimensions,
    theirElements(tensor, elementType, dimensions),
    external,
  ];
}

function theirElements(
  tensor: onnx.ITensorProto,
  type: string,
  dimensions: readonly number[],
): readonly number[] | undefined {
  if (tensor.externalData && tensor.externalData.length > 0) return undefined;
  const count = dimensions.reduce((product, size) => product * size, 1);
  if (!['int64', 'int32', 'float32', 'bool'].includes(type) || count > (type === 'float32' ? 64 : 1024)) {
    return undefined;
  }
  const raw = tensor.rawData;
  if (raw && raw.length > 0) {
    const { buffer } = Uint8Array.from(raw);
    if (type === 'int64') return Array.from(new BigInt64Array(buffer), (value) => safe(Number(value)));
    if (type === 'int32') return [...new Int32Array(buffer)];
    if (type === 'float32') return [...new Float32Array(buffer)];
    return [...new Uint8Array(buffer)];
  }
  const typed =
    type === 'int64' ? tensor.int64Data : type === 'float32' ? tensor.floatData : tensor.int32Data;
  return typed?.length === count ? typed.map(safe) : undefined;
}

/** 64-bit integers as ours: saturating. */
function safe(value: unknown): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number(value), Number.MAX_SAFE_INTEGER));
}
