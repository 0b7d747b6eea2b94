/**
 * From the JSON of a serialized program to `ExportedProgram`, by name; keys that are not known are ignored, as a new
 * minor version may add some. Never throws: what is not as the schema says is left out, or makes the whole unreadable.
 */

import type { ElementType } from '../../model/elementType.ts';
import { isObject } from '../parseJson.ts';
import { symbolicSize } from './symbolicSize.ts';
import type {
  AtenArgument,
  AtenGraph,
  AtenModule,
  AtenNode,
  AtenSize,
  ExportedProgram,
  ProgramInput,
  SymbolRange,
  TensorMeta,
} from './syntax.ts';

type Json = Readonly<Record<string, unknown>>;

/** Graphs inside graphs, as `cond` has them. */
const deepestGraph = 16;

/** The program, or `undefined` where the JSON has not the form of one. */
export function readProgram(json: Json): ExportedProgram | undefined {
  const graphModule = objectOf(json.graph_module);
  const source = objectOf(graphModule?.graph);
  const graph = source && readGraph(source, 0);
  const signature = objectOf(graphModule?.signature);
  if (graph === undefined || signature === undefined) return undefined;
  return {
    torchVersion: stringOf(json.torch_version) ?? '2.4 or older',
    graph,
    inputs: objectsOf(signature.input_specs).flatMap(readInput),
    outputs: objectsOf(signature.output_specs).flatMap(readOutput),
    mutated: objectsOf(signature.output_specs).flatMap(readMutation),
    ranges: readRanges(objectOf(json.range_constraints) ?? {}),
  };
}

function readGraph(graph: Json, depth: number): AtenGraph | undefined {
  const values = objectOf(graph.tensor_values);
  if (values === undefined || !Array.isArray(graph.nodes) || depth > deepestGraph) return undefined;
  const tensors = new Map<string, TensorMeta>();
  for (const [name, meta] of Object.entries(values)) {
    const read = isObject(meta) ? readTensorMeta(meta) : undefined;
    if (read !== undefined) tensors.set(name, read);
  }
  const sizes = new Map<string, AtenSize>();
  for (const [name, size] of Object.entries(objectOf(graph.sym_int_values) ?? {})) {
    sizes.set(name, readSize(size));
  }
  return {
    nodes: objectsOf(graph.nodes).flatMap((node) => readNode(node, depth)),
    tensors,
    inputs: objectsOf(graph.inputs).map(nameOfArgument),
    outputs: objectsOf(graph.outputs).map(nameOfArgument),
    sizes,
  };
}

function readNode(node: Json, depth: number): readonly AtenNode[] {
  const target = stringOf(node.target);
  if (target === undefined) return [];
  const given = new Map<string, AtenArgument>();
  for (const [index, input] of objectsOf(node.inputs).entries()) {
    const arg = objectOf(input.arg);
    // Operators of higher order name none of their arguments.
    const name = stringOf(input.name) || String(index);
    if (arg !== undefined) given.set(name, readArgument(arg, depth));
  }
  const metadata = objectOf(node.metadata) ?? {};
  return [
    {
      target,
      arguments: given,
      outputs: objectsOf(node.outputs).flatMap(namesOfOutput),
      modules: readModules(stringOf(metadata.nn_module_stack) ?? ''),
      stackTrace: stringOf(metadata.stack_trace) ?? '',
    },
  ];
}

const nameOfArgument = (argument: Json): string => nameOf(argument.as_tensor) ?? '';

function namesOfOutput(output: Json): readonly string[] {
  const tensor = nameOf(output.as_tensor) ?? nameOf(objectOf(output.as_optional_tensor)?.as_tensor);
  if (tensor !== undefined) return [tensor];
  if (Array.isArray(output.as_tensors)) return output.as_tensors.map((entry) => nameOf(entry) ?? '');
  const size = stringOf(objectOf(output.as_sym_int)?.as_name);
  return [size ?? ''];
}

function readArgument(argument: Json, depth: number): AtenArgument {
  const [kind] = Object.keys(argument);
  const value = kind === undefined ? undefined : argument[kind];
  switch (kind) {
    case 'as_none':
      return { kind: 'none' };
    case 'as_tensor':
      return tensorNamed(nameOf(value));
    case 'as_optional_tensor':
      return tensorNamed(nameOf(objectOf(value)?.as_tensor));
    case 'as_tensors':
      return { kind: 'tensors', names: listOf(value).map(nameOf) };
    case 'as_optional_tensors':
      return { kind: 'tensors', names: listOf(value).map((entry) => nameOf(objectOf(entry)?.as_tensor)) };
    case 'as_int':
    case 'as_float':
      return typeof value === 'number' ? { kind: 'number', value } : readWrittenNumber(value);
    case 'as_complex': {
      const [real, imaginary] = [numberOf(objectOf(value)?.real), numberOf(objectOf(value)?.imag)];
      return real === undefined || imaginary === undefined ? other : { kind: 'complex', real, imaginary };
    }
    case 'as_bool':
      return typeof value === 'boolean' ? { kind: 'boolean', value } : other;
    case 'as_string':
      return typeof value === 'string' ? { kind: 'string', value } : other;
    case 'as_ints':
    case 'as_floats':
      return { kind: 'numbers', values: listOf(value).flatMap((entry) => numberOf(entry) ?? []) };
    case 'as_bools':
      return { kind: 'booleans', values: listOf(value).map((entry) => entry === true) };
    case 'as_sym_int':
      return readSizeArgument(objectOf(value));
    case 'as_sym_ints':
      return { kind: 'sizes', values: listOf(value).map(readSizeEntry) };
    case 'as_scalar_type':
      return typeof value === 'number' ? elementTypeArgument(value) : other;
    case 'as_graph': {
      const graph = objectOf(objectOf(value)?.graph);
      const read = graph && readGraph(graph, depth + 1);
      return read === undefined ? other : { kind: 'graph', graph: read };
    }
    default:
      return other;
  }
}

const other: AtenArgument = { kind: 'other' };

const tensorNamed = (name: string | undefined): AtenArgument =>
  name === undefined ? { kind: 'none' } : { kind: 'tensor', name };

/** JSON has no infinity: the schema writes these as text. */
function readWrittenNumber(value: unknown): AtenArgument {
  const written: ReadonlyMap<unknown, number> = new Map([
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['NaN', Number.NaN],
  ]);
  const number = written.get(value);
  return number === undefined ? other : { kind: 'number', value: number };
}

function readSizeArgument(size: Json | undefined): AtenArgument {
  const name = stringOf(size?.as_name);
  if (name !== undefined) return { kind: 'size', name };
  const value = numberOf(size?.as_int);
  return value === undefined ? other : { kind: 'number', value };
}

const readSizeEntry = (entry: unknown): number | string => {
  const size = objectOf(entry);
  return stringOf(size?.as_name) ?? numberOf(size?.as_int) ?? '';
};

function elementTypeArgument(scalarType: number): AtenArgument {
  const value = scalarTypes.get(scalarType);
  return value === undefined ? other : { kind: 'elementType', value };
}

function readTensorMeta(meta: Json): TensorMeta | undefined {
  const elementType = typeof meta.dtype === 'number' ? scalarTypes.get(meta.dtype) : undefined;
  if (elementType === undefined || !Array.isArray(meta.sizes)) return undefined;
  return { elementType, shape: meta.sizes.map(readSize), requiresGrad: meta.requires_grad === true };
}

/** Source: `ScalarType` of the schema; `COMPLEXHALF` has no counterpart in ONNX. */
const scalarTypes: ReadonlyMap<number, ElementType> = new Map([
  [1, 'uint8'],
  [2, 'int8'],
  [3, 'int16'],
  [4, 'int32'],
  [5, 'int64'],
  [6, 'float16'],
  [7, 'float32'],
  [8, 'float64'],
  [10, 'complex64'],
  [11, 'complex128'],
  [12, 'bool'],
  [13, 'bfloat16'],
  [28, 'uint16'],
  [29, 'float8e4m3fn'],
  [30, 'float8e5m2'],
  [31, 'float8e4m3fnuz'],
  [32, 'float8e5m2fnuz'],
  [33, 'float8e8m0'],
  [34, 'uint32'],
  [35, 'uint64'],
]);

function readSize(size: unknown): AtenSize {
  const union = objectOf(size);
  const text = stringOf(objectOf(union?.as_expr)?.expr_str);
  return text === undefined ? numberOf(union?.as_int) : symbolicSize(text);
}

/** What the graph is given; tokens and objects are no tensors. */
function readInput(spec: Json): readonly ProgramInput[] {
  const user = nameOf(objectOf(objectOf(objectOf(spec.user_input)?.arg)?.as_tensor));
  if (user !== undefined) return [{ name: user, kind: 'input', target: user }];
  for (const { key, kind, target } of storedInputs) {
    const stored = objectOf(spec[key]);
    const name = nameOf(stored?.arg);
    if (name !== undefined) return [{ name, kind, target: stringOf(stored?.[target]) ?? name }];
  }
  return [];
}

const storedInputs = [
  { key: 'parameter', kind: 'parameter', target: 'parameter_name' },
  { key: 'buffer', kind: 'buffer', target: 'buffer_name' },
  { key: 'tensor_constant', kind: 'constant', target: 'tensor_constant_name' },
] as const;

/** Buffers that the model writes are no outputs. */
function readOutput(spec: Json): readonly string[] {
  const user = objectOf(objectOf(spec.user_output)?.arg)?.as_tensor;
  const name = nameOf(user) ?? nameOf(objectOf(spec.loss_output)?.arg);
  return name === undefined ? [] : [name];
}

function readMutation(spec: Json): readonly string[] {
  const name = nameOf(objectOf(spec.parameter_mutation)?.arg);
  return name === undefined ? [] : [name];
}

function readRanges(ranges: Json): ReadonlyMap<string, SymbolRange> {
  return new Map(
    Object.entries(ranges).flatMap(([name, range]): readonly (readonly [string, SymbolRange])[] =>
      isObject(range) ? [[name, { least: numberOf(range.min_val), greatest: numberOf(range.max_val) }]] : [],
    ),
  );
}

/** `KEY,PATH,CLASS;…`, outermost first; `torch/_export/serde/serialize.py`, `export_nn_module_stack`. */
function readModules(text: string): readonly AtenModule[] {
  if (text === '' || text.startsWith('_empty_nn_module_stack')) return [];
  return text.split(';').map((entry) => {
    const [, path = '', className = ''] = entry.split(',');
    return { path, className };
  });
}

const objectOf = (value: unknown): Json | undefined => (isObject(value) ? value : undefined);
const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const objectsOf = (value: unknown): readonly Json[] => listOf(value).filter(isObject);
const nameOf = (value: unknown): string | undefined => stringOf(objectOf(value)?.name);
