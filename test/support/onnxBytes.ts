/**
 * Small ONNX models as bytes, written field by field, so that tests can also write what no exporter would.
 *
 * `encodeModel` takes a readable description (types are written as ONNX text writes them, `float[N,3,224,224]`).
 * The wire functions below it build single fields for tables of malformed input. Field numbers: ONNX 1.23
 * `onnx-ml.proto`; encoding: protobuf, "Encoding".
 */

import { type ElementType, elementTypes } from '../../server/src/model/elementType.ts';

export interface ModelDescription {
  readonly irVersion?: number | bigint;
  /** Version of the default operator set, or versions by domain. */
  readonly operatorSets?: number | Readonly<Record<string, number>>;
  readonly producerName?: string;
  readonly producerVersion?: string;
  readonly domain?: string;
  readonly modelVersion?: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly graph: GraphDescription;
  readonly functions?: readonly FunctionDescription[];
  /** Fields written after all others, as they are. */
  readonly extra?: Uint8Array;
}

export interface GraphDescription {
  readonly name?: string;
  readonly nodes?: readonly NodeDescription[];
  /** Type by name: `{ x: 'float[N,3]' }`. */
  readonly inputs?: Readonly<Record<string, string>>;
  readonly outputs?: Readonly<Record<string, string>>;
  readonly valueInfos?: Readonly<Record<string, string>>;
  readonly initializers?: readonly TensorDescription[];
  readonly sparseInitializers?: readonly SparseTensorDescription[];
  readonly extra?: Uint8Array;
}

export interface NodeDescription {
  readonly type: string;
  readonly name?: string;
  readonly domain?: string;
  readonly overload?: string;
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  readonly attributes?: Readonly<Record<string, AttributeDescription>>;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly extra?: Uint8Array;
}

/** A whole number is an int, a string a string, an array ints or strings; what else there is says its kind. */
export type AttributeDescription =
  | number
  | string
  | readonly number[]
  | readonly string[]
  | { readonly float: number }
  | { readonly floats: readonly number[] }
  | { readonly tensor: TensorDescription }
  | { readonly graph: GraphDescription }
  | { readonly graphs: readonly GraphDescription[] }
  | { readonly typeProto: string }
  | { readonly reference: string; readonly type: number };

export interface TensorDescription {
  readonly name?: string;
  /** Element type and dimensions: `float[64,3,7,7]`, `int64[4]`, `int64` for a scalar. */
  readonly type: string;
  /** Elements in the field of the element type. */
  readonly elements?: readonly (number | bigint)[];
  /** One field per element, as writers of proto2 without `packed` do it. */
  readonly unpacked?: boolean;
  /** Bytes of `raw_data`. */
  readonly raw?: Uint8Array;
  readonly strings?: readonly string[];
  readonly external?: Readonly<Record<string, string>>;
  readonly extra?: Uint8Array;
}

export interface SparseTensorDescription {
  readonly values: TensorDescription;
  readonly indices: TensorDescription;
  readonly dimensions: readonly number[];
}

export interface FunctionDescription {
  readonly name: string;
  readonly domain?: string;
  readonly overload?: string;
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
  readonly attributes?: readonly string[];
  readonly defaults?: Readonly<Record<string, AttributeDescription>>;
  readonly operatorSets?: number | Readonly<Record<string, number>>;
  readonly nodes?: readonly NodeDescription[];
  readonly valueInfos?: Readonly<Record<string, string>>;
}

export function encodeModel(model: ModelDescription): Uint8Array {
  return joinBytes([
    varintField(1, model.irVersion ?? 10),
    optionalString(2, model.producerName),
    optionalString(3, model.producerVersion),
    optionalString(4, model.domain),
    model.modelVersion === undefined ? noBytes : varintField(5, model.modelVersion),
    bytesField(7, encodeGraph(model.graph)),
    encodeOperatorSets(8, model.operatorSets ?? 21),
    encodeEntries(14, model.metadata),
    ...(model.functions ?? []).map((body) => bytesField(25, encodeFunction(body))),
    model.extra ?? noBytes,
  ]);
}

export function encodeGraph(graph: GraphDescription): Uint8Array {
  return joinBytes([
    ...(graph.nodes ?? []).map((node) => bytesField(1, encodeNode(node))),
    stringField(2, graph.name ?? 'graph'),
    ...(graph.initializers ?? []).map((tensor) => bytesField(5, encodeTensor(tensor))),
    encodeValueInfos(11, graph.inputs),
    encodeValueInfos(12, graph.outputs),
    encodeValueInfos(13, graph.valueInfos),
    ...(graph.sparseInitializers ?? []).map((tensor) => bytesField(15, encodeSparseTensor(tensor))),
    graph.extra ?? noBytes,
  ]);
}

export function encodeNode(node: NodeDescription): Uint8Array {
  return joinBytes([
    ...(node.inputs ?? []).map((name) => stringField(1, name)),
    ...(node.outputs ?? []).map((name) => stringField(2, name)),
    optionalString(3, node.name),
    stringField(4, node.type),
    ...Object.entries(node.attributes ?? {}).map(([name, value]) =>
      bytesField(5, encodeAttribute(name, value)),
    ),
    optionalString(7, node.domain),
    optionalString(8, node.overload),
    encodeEntries(9, node.metadata),
    node.extra ?? noBytes,
  ]);
}

export function encodeTensor(tensor: TensorDescription): Uint8Array {
  const { elementType, dimensions } = parseTensorType(tensor.type);
  return joinBytes([
    ...(dimensions ?? []).map((size) => varintField(1, Number(size))),
    varintField(2, elementTypes.indexOf(elementType)),
    tensor.elements === undefined
      ? noBytes
      : encodeElements(elementType, tensor.elements, tensor.unpacked === true),
    ...(tensor.strings ?? []).map((text) => stringField(6, text)),
    optionalString(8, tensor.name),
    tensor.raw === undefined ? noBytes : bytesField(9, tensor.raw),
    encodeEntries(13, tensor.external),
    tensor.external === undefined ? noBytes : varintField(14, 1),
    tensor.extra ?? noBytes,
  ]);
}

export function encodeAttribute(name: string, value: AttributeDescription): Uint8Array {
  return joinBytes([stringField(1, name), ...encodeAttributeValue(value)]);
}

/** `float[N,3]`, `float` (rank 0), `float[]` (rank unknown), `seq(…)`, `optional(…)`, `map(int64, …)`, `sparse_tensor(…)`. */
export function encodeType(text: string): Uint8Array {
  const wrapped = /^(seq|optional|sparse_tensor|map)\((.*)\)$/.exec(text.trim());
  const inner = wrapped?.[2] ?? '';
  switch (wrapped?.[1]) {
    case 'seq':
      return bytesField(4, bytesField(1, encodeType(inner)));
    case 'optional':
      return bytesField(9, bytesField(1, encodeType(inner)));
    case 'sparse_tensor':
      return bytesField(8, encodeTensorType(inner));
    case 'map': {
      const comma = inner.indexOf(',');
      const key = parseTensorType(inner.slice(0, comma)).elementType;
      return bytesField(
        5,
        joinBytes([
          varintField(1, elementTypes.indexOf(key)),
          bytesField(2, encodeType(inner.slice(comma + 1))),
        ]),
      );
    }
    default:
      return bytesField(1, encodeTensorType(text));
  }
}

/** A varint; negative numbers take ten bytes, as protobuf's int32 and int64 do. */
export function varint(value: number | bigint): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const out: number[] = [];
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    out.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Uint8Array.from(out);
}

export type WireType = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

export const tag = (field: number, wireType: WireType): Uint8Array =>
  varint((BigInt(field) << 3n) | BigInt(wireType));

export const varintField = (field: number, value: number | bigint): Uint8Array =>
  joinBytes([tag(field, 0), varint(value)]);

export const bytesField = (field: number, value: Uint8Array): Uint8Array =>
  joinBytes([tag(field, 2), varint(value.length), value]);

export const stringField = (field: number, value: string): Uint8Array =>
  bytesField(field, new TextEncoder().encode(value));

export const float32Field = (field: number, value: number): Uint8Array =>
  joinBytes([tag(field, 5), float32(value)]);

export const float64Field = (field: number, value: number): Uint8Array =>
  joinBytes([tag(field, 1), float64(value)]);

export function float32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return bytes;
}

export function float64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return bytes;
}

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let position = 0;
  for (const part of parts) {
    joined.set(part, position);
    position += part.length;
  }
  return joined;
}

const noBytes = new Uint8Array(0);

const optionalString = (field: number, value: string | undefined): Uint8Array =>
  value === undefined ? noBytes : stringField(field, value);

function encodeEntries(field: number, entries: Readonly<Record<string, string>> | undefined): Uint8Array {
  return joinBytes(
    Object.entries(entries ?? {}).map(([key, value]) =>
      bytesField(field, joinBytes([stringField(1, key), stringField(2, value)])),
    ),
  );
}

function encodeOperatorSets(field: number, sets: number | Readonly<Record<string, number>>): Uint8Array {
  const byDomain = typeof sets === 'number' ? { '': sets } : sets;
  return joinBytes(
    Object.entries(byDomain).map(([domain, version]) =>
      bytesField(field, joinBytes([stringField(1, domain), varintField(2, version)])),
    ),
  );
}

function encodeFunction(body: FunctionDescription): Uint8Array {
  return joinBytes([
    stringField(1, body.name),
    ...(body.inputs ?? []).map((name) => stringField(4, name)),
    ...(body.outputs ?? []).map((name) => stringField(5, name)),
    ...(body.attributes ?? []).map((name) => stringField(6, name)),
    ...(body.nodes ?? []).map((node) => bytesField(7, encodeNode(node))),
    encodeOperatorSets(9, body.operatorSets ?? 21),
    optionalString(10, body.domain),
    ...Object.entries(body.defaults ?? {}).map(([name, value]) =>
      bytesField(11, encodeAttribute(name, value)),
    ),
    encodeValueInfos(12, body.valueInfos),
    optionalString(13, body.overload),
  ]);
}

function encodeValueInfos(field: number, infos: Readonly<Record<string, string>> | undefined): Uint8Array {
  return joinBytes(
    Object.entries(infos ?? {}).map(([name, type]) =>
      bytesField(field, joinBytes([stringField(1, name), bytesField(2, encodeType(type))])),
    ),
  );
}

function encodeSparseTensor(tensor: SparseTensorDescription): Uint8Array {
  return joinBytes([
    bytesField(1, encodeTensor(tensor.values)),
    bytesField(2, encodeTensor(tensor.indices)),
    ...tensor.dimensions.map((size) => varintField(3, size)),
  ]);
}

function encodeAttributeValue(value: AttributeDescription): readonly Uint8Array[] {
  if (typeof value === 'number') return [varintField(3, value), varintField(20, 2)];
  if (typeof value === 'string') return [stringField(4, value), varintField(20, 3)];
  if (isArray(value)) {
    return typeof value[0] === 'string'
      ? [...value.map((text) => stringField(9, String(text))), varintField(20, 8)]
      : [...value.map((number) => varintField(8, Number(number))), varintField(20, 7)];
  }
  if ('float' in value) return [float32Field(2, value.float), varintField(20, 1)];
  if ('floats' in value)
    return [...value.floats.map((number) => float32Field(7, number)), varintField(20, 6)];
  if ('tensor' in value) return [bytesField(5, encodeTensor(value.tensor)), varintField(20, 4)];
  if ('graph' in value) return [bytesField(6, encodeGraph(value.graph)), varintField(20, 5)];
  if ('graphs' in value) {
    return [...value.graphs.map((graph) => bytesField(11, encodeGraph(graph))), varintField(20, 10)];
  }
  if ('typeProto' in value) return [bytesField(14, encodeType(value.typeProto)), varintField(20, 13)];
  return [varintField(20, value.type), stringField(21, value.reference)];
}

const isArray = (value: AttributeDescription): value is readonly number[] | readonly string[] =>
  Array.isArray(value);

function encodeElements(
  type: ElementType,
  elements: readonly (number | bigint)[],
  unpacked: boolean,
): Uint8Array {
  const [field, wireType, encode] = elementField(type);
  return unpacked
    ? joinBytes(elements.map((element) => joinBytes([tag(field, wireType), encode(element)])))
    : bytesField(field, joinBytes(elements.map(encode)));
}

function elementField(type: ElementType): [number, WireType, (value: number | bigint) => Uint8Array] {
  switch (type) {
    case 'float32':
    case 'complex64':
      return [4, 5, (value) => float32(Number(value))];
    case 'float64':
    case 'complex128':
      return [10, 1, (value) => float64(Number(value))];
    case 'int64':
      return [7, 0, varint];
    case 'uint32':
    case 'uint64':
      return [11, 0, varint];
    default:
      return [5, 0, varint];
  }
}

function encodeTensorType(text: string): Uint8Array {
  const { elementType, dimensions } = parseTensorType(text);
  const element = varintField(1, elementTypes.indexOf(elementType));
  if (dimensions === undefined) return element;
  const shape = joinBytes(
    dimensions.map((size) =>
      bytesField(
        1,
        size === '?' ? noBytes : /^\d+$/.test(size) ? varintField(1, BigInt(size)) : stringField(2, size),
      ),
    ),
  );
  return joinBytes([element, bytesField(2, shape)]);
}

/** Dimensions are `undefined` for `float[]`: ONNX text writes an unknown rank so. */
function parseTensorType(text: string): {
  elementType: ElementType;
  dimensions: readonly string[] | undefined;
} {
  const match = /^\s*(\w+)\s*(?:\[(.*)\])?\s*$/.exec(text);
  const name = match?.[1] ?? '';
  const canonical = name === 'float' ? 'float32' : name === 'double' ? 'float64' : name;
  const elementType = elementTypes.find((candidate) => candidate === canonical);
  if (match === null || elementType === undefined) throw new Error(`not a tensor type: ${text}`);
  const inside = match[2];
  if (inside === undefined) return { elementType, dimensions: [] };
  return inside.trim() === ''
    ? { elementType, dimensions: undefined }
    : { elementType, dimensions: inside.split(',').map((size) => size.trim()) };
}
