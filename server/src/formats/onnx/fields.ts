/**
 * Field numbers of `onnx-ml.proto` as of ONNX 1.23 (IR version 14), one table per message.
 *
 * A field listed here is either read or knowingly skipped; any other is reported as unknown. Fields that the
 * proto marks as reserved or deprecated are listed too, because old files hold them.
 */

export const ModelProto = {
  ir_version: 1,
  producer_name: 2,
  producer_version: 3,
  domain: 4,
  model_version: 5,
  doc_string: 6,
  graph: 7,
  opset_import: 8,
  metadata_props: 14,
  training_info: 20,
  functions: 25,
  configuration: 26,
} as const;

export const GraphProto = {
  node: 1,
  name: 2,
  deprecated_input: 3,
  deprecated_output: 4,
  initializer: 5,
  deprecated_ir_version: 6,
  deprecated_producer_version: 7,
  deprecated_producer_tag: 8,
  deprecated_domain: 9,
  doc_string: 10,
  input: 11,
  output: 12,
  value_info: 13,
  quantization_annotation: 14,
  sparse_initializer: 15,
  metadata_props: 16,
} as const;

export const NodeProto = {
  input: 1,
  output: 2,
  name: 3,
  op_type: 4,
  attribute: 5,
  doc_string: 6,
  domain: 7,
  overload: 8,
  metadata_props: 9,
  device_configurations: 10,
} as const;

export const AttributeProto = {
  name: 1,
  f: 2,
  i: 3,
  s: 4,
  t: 5,
  g: 6,
  floats: 7,
  ints: 8,
  strings: 9,
  tensors: 10,
  graphs: 11,
  deprecated_v: 12,
  doc_string: 13,
  tp: 14,
  type_protos: 15,
  type: 20,
  ref_attr_name: 21,
  sparse_tensor: 22,
  sparse_tensors: 23,
} as const;

/** `AttributeProto.AttributeType`, with the names of ONNX text. */
export const attributeTypes: Readonly<Record<number, string>> = {
  1: 'float',
  2: 'int',
  3: 'string',
  4: 'tensor',
  5: 'graph',
  6: 'floats',
  7: 'ints',
  8: 'strings',
  9: 'tensors',
  10: 'graphs',
  11: 'sparse_tensor',
  12: 'sparse_tensors',
  13: 'type_proto',
  14: 'type_protos',
};

export const TensorProto = {
  dims: 1,
  data_type: 2,
  segment: 3,
  float_data: 4,
  int32_data: 5,
  string_data: 6,
  int64_data: 7,
  name: 8,
  raw_data: 9,
  double_data: 10,
  uint64_data: 11,
  doc_string: 12,
  external_data: 13,
  data_location: 14,
  metadata_props: 16,
} as const;

/** `TensorProto.DataLocation`. */
export const externalLocation = 1;

export const SparseTensorProto = { values: 1, indices: 2, dims: 3 } as const;

export const ValueInfoProto = { name: 1, type: 2, doc_string: 3, metadata_props: 4 } as const;

export const TypeProto = {
  tensor_type: 1,
  sequence_type: 4,
  map_type: 5,
  denotation: 6,
  opaque_type: 7,
  sparse_tensor_type: 8,
  optional_type: 9,
} as const;

/** `TypeProto.Tensor` and `TypeProto.SparseTensor`. */
export const TensorTypeProto = { elem_type: 1, shape: 2 } as const;

/** `TypeProto.Sequence` and `TypeProto.Optional`. */
export const ElementTypeProto = { elem_type: 1 } as const;

export const MapTypeProto = { key_type: 1, value_type: 2 } as const;

export const OpaqueTypeProto = { domain: 1, name: 2, deprecated_parameters: 3 } as const;

export const TensorShapeProto = { dim: 1 } as const;

export const DimensionProto = { dim_value: 1, dim_param: 2, denotation: 3 } as const;

export const OperatorSetIdProto = { domain: 1, version: 2 } as const;

export const StringStringEntryProto = { key: 1, value: 2 } as const;

export const FunctionProto = {
  name: 1,
  reserved_since_version: 2,
  reserved_status: 3,
  input: 4,
  output: 5,
  attribute: 6,
  node: 7,
  doc_string: 8,
  opset_import: 9,
  domain: 10,
  attribute_proto: 11,
  value_info: 12,
  overload: 13,
  metadata_props: 14,
} as const;

/** Newest IR version whose fields these tables hold. */
export const knownIrVersion = 14;
