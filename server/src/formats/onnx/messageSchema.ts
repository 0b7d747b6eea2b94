/**
 * What the fields of each ONNX message hold, by the numbers of `fields.ts`: what a reader of a textual form of
 * protobuf has to know. Fields that change neither cost nor shape have no kind and are passed over.
 *
 * Source: ONNX 1.23 `onnx-ml.proto`.
 */

import {
  AttributeProto,
  attributeTypes,
  DimensionProto,
  ElementTypeProto,
  externalLocation,
  FunctionProto,
  GraphProto,
  MapTypeProto,
  ModelProto,
  NodeProto,
  OpaqueTypeProto,
  OperatorSetIdProto,
  SparseTensorProto,
  StringStringEntryProto,
  TensorProto,
  TensorShapeProto,
  TensorTypeProto,
  TypeProto,
  ValueInfoProto,
} from './fields.ts';

export interface FieldSchema {
  readonly number: number;
  /** `undefined` for a field that is passed over. */
  readonly kind: FieldKind | undefined;
}

export type FieldKind = 'text' | 'bytes' | 'integer' | 'enum' | 'float32' | 'float64' | MessageName;

export type MessageName = keyof typeof kinds;

/** Fields of a message by their names in `onnx-ml.proto`. */
export function schemaOf(message: MessageName): ReadonlyMap<string, FieldSchema> {
  return schemas.get(message) ?? noFields;
}

/** Numbers of the names that values of enum fields have. */
export const enumNumbers: ReadonlyMap<string, number> = new Map([
  ...Object.entries(attributeTypes).map(([number, name]) => [name.toUpperCase(), Number(number)] as const),
  ['UNDEFINED', 0],
  ['DEFAULT', 0],
  ['EXTERNAL', externalLocation],
]);

type Kinds<Table> = { readonly [Field in keyof Table]?: string };

const kindsOf = <Table, const Known extends Kinds<Table>>(table: Table, known: Known) => ({ table, known });

const kinds = {
  ModelProto: kindsOf(ModelProto, {
    ir_version: 'integer',
    producer_name: 'text',
    producer_version: 'text',
    domain: 'text',
    model_version: 'integer',
    doc_string: 'text',
    graph: 'GraphProto',
    opset_import: 'OperatorSetIdProto',
    metadata_props: 'StringStringEntryProto',
    functions: 'FunctionProto',
  }),
  GraphProto: kindsOf(GraphProto, {
    node: 'NodeProto',
    name: 'text',
    initializer: 'TensorProto',
    input: 'ValueInfoProto',
    output: 'ValueInfoProto',
    value_info: 'ValueInfoProto',
    sparse_initializer: 'SparseTensorProto',
  }),
  NodeProto: kindsOf(NodeProto, {
    input: 'text',
    output: 'text',
    name: 'text',
    op_type: 'text',
    attribute: 'AttributeProto',
    domain: 'text',
    overload: 'text',
    metadata_props: 'StringStringEntryProto',
  }),
  AttributeProto: kindsOf(AttributeProto, {
    name: 'text',
    f: 'float32',
    i: 'integer',
    s: 'bytes',
    t: 'TensorProto',
    g: 'GraphProto',
    floats: 'float32',
    ints: 'integer',
    strings: 'bytes',
    tensors: 'TensorProto',
    graphs: 'GraphProto',
    tp: 'TypeProto',
    type_protos: 'TypeProto',
    type: 'enum',
    ref_attr_name: 'text',
    sparse_tensor: 'SparseTensorProto',
    sparse_tensors: 'SparseTensorProto',
  }),
  TensorProto: kindsOf(TensorProto, {
    dims: 'integer',
    data_type: 'integer',
    segment: 'SegmentProto',
    float_data: 'float32',
    int32_data: 'integer',
    string_data: 'bytes',
    int64_data: 'integer',
    name: 'text',
    raw_data: 'bytes',
    double_data: 'float64',
    uint64_data: 'integer',
    external_data: 'StringStringEntryProto',
    data_location: 'enum',
  }),
  SegmentProto: kindsOf({ begin: 1, end: 2 }, { begin: 'integer', end: 'integer' }),
  SparseTensorProto: kindsOf(SparseTensorProto, {
    values: 'TensorProto',
    indices: 'TensorProto',
    dims: 'integer',
  }),
  ValueInfoProto: kindsOf(ValueInfoProto, {
    name: 'text',
    type: 'TypeProto',
    metadata_props: 'StringStringEntryProto',
  }),
  TypeProto: kindsOf(TypeProto, {
    tensor_type: 'TensorTypeProto',
    sequence_type: 'ElementTypeProto',
    map_type: 'MapTypeProto',
    opaque_type: 'OpaqueTypeProto',
    sparse_tensor_type: 'TensorTypeProto',
    optional_type: 'ElementTypeProto',
  }),
  TensorTypeProto: kindsOf(TensorTypeProto, { elem_type: 'integer', shape: 'TensorShapeProto' }),
  ElementTypeProto: kindsOf(ElementTypeProto, { elem_type: 'TypeProto' }),
  MapTypeProto: kindsOf(MapTypeProto, { key_type: 'integer', value_type: 'TypeProto' }),
  OpaqueTypeProto: kindsOf(OpaqueTypeProto, { domain: 'text', name: 'text' }),
  TensorShapeProto: kindsOf(TensorShapeProto, { dim: 'DimensionProto' }),
  DimensionProto: kindsOf(DimensionProto, { dim_value: 'integer', dim_param: 'text' }),
  OperatorSetIdProto: kindsOf(OperatorSetIdProto, { domain: 'text', version: 'integer' }),
  StringStringEntryProto: kindsOf(StringStringEntryProto, { key: 'text', value: 'text' }),
  FunctionProto: kindsOf(FunctionProto, {
    name: 'text',
    input: 'text',
    output: 'text',
    attribute: 'text',
    node: 'NodeProto',
    opset_import: 'OperatorSetIdProto',
    domain: 'text',
    attribute_proto: 'AttributeProto',
    value_info: 'ValueInfoProto',
    overload: 'text',
  }),
} as const;

const scalarKinds: ReadonlySet<string> = new Set(['text', 'bytes', 'integer', 'enum', 'float32', 'float64']);

const isKind = (kind: string | undefined): kind is FieldKind =>
  kind !== undefined && (scalarKinds.has(kind) || isMessage(kind));

/** Whether a kind is the name of a message. */
export const isMessage = (kind: string): kind is MessageName => Object.hasOwn(kinds, kind);

const schemaOfTable = (
  table: Readonly<Record<string, number>>,
  known: Readonly<Record<string, string>>,
): ReadonlyMap<string, FieldSchema> =>
  new Map(
    Object.entries(table).map(([name, number]) => {
      const kind = known[name];
      return [name, { number, kind: isKind(kind) ? kind : undefined }];
    }),
  );

const schemas: ReadonlyMap<string, ReadonlyMap<string, FieldSchema>> = new Map(
  Object.entries(kinds).map(([message, { table, known }]) => [message, schemaOfTable(table, known)]),
);

const noFields: ReadonlyMap<string, FieldSchema> = new Map();
