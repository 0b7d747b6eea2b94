/**
 * What a layer is: its signature as PyTorch writes it, a line of documentation, and how it becomes ONNX operators.
 *
 * One table of these drives lowering, messages, completion, and the JSON schema.
 */

import type { Attribute } from '../../model/attribute.ts';
import type { Dimension, SymbolicDimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { IssueCode } from '../../model/issueCodes.ts';

/** What an argument evaluates to. A name that must stay open, such as `batch`, is a symbolic dimension. */
export type SpecValue = number | boolean | string | null | SymbolicDimension | readonly SpecValue[];

/** What a parameter takes; `integers` is one integer for all spatial axes or a tuple. */
export type ParameterType =
  | 'integer'
  | 'number'
  | 'boolean'
  | 'string'
  | 'integers'
  | 'padding'
  | 'dimension'
  | 'dimensions'
  | 'layer'
  | 'any';

export interface ParameterDefinition {
  readonly name: string;
  readonly type: ParameterType;
  /** Absent where a value is required. */
  readonly default?: SpecValue;
  /** A size that follows from the input: it may be left out, and is checked where it is given. */
  readonly follows?: true;
  /** Takes all positional arguments that are left, as `reshape(-1, 768)` does. */
  readonly rest?: true;
  /** The texts it may be. */
  readonly choices?: readonly string[];
  /** Bounds of a number, or of every number of a tuple. */
  readonly least?: number;
  readonly most?: number;
  /** Not an argument of PyTorch's. */
  readonly beyond?: true;
  readonly documentation: string;
}

export interface LayerDefinition {
  readonly name: string;
  /** A `module` holds its inputs apart (`from`); a `function` may name them as first arguments: `add(a, b)`. */
  readonly kind: 'module' | 'function';
  /** One line: what it computes. */
  readonly documentation: string;
  /** Page of the signature: below https://docs.pytorch.org/docs/stable/generated/, or the whole address. */
  readonly source: string;
  readonly inputs: LayerInputs;
  readonly parameters: readonly ParameterDefinition[];
  /** What its parameters and FLOPs are, in words, where that says more than the signature. */
  readonly work?: string;
  /** Inputs as a spec declares them, and a call that takes them; part of the reference page. */
  readonly example: { readonly inputs: Readonly<Record<string, string>>; readonly call: string };
  /** Names of what it gives, where that is more than one tensor: `output`, `h_n`, `c_n`. The next layer takes the first. */
  readonly outputs?: readonly string[];
  /** Several tensors where `outputs` names them, or where the call says how many, as `split` does. */
  readonly lower: (call: LayerLowering) => Tensor | readonly Tensor[] | undefined;
}

export interface LayerInputs {
  readonly names: readonly string[];
  /** How many are needed at least. */
  readonly least: number;
  /** The last name may repeat. */
  readonly variadic?: true;
  /** A number may stand where a tensor does: `mul(x, 0.5)`. */
  readonly numbers?: true;
}

/** A tensor while lowering: its name in the graph, and what is known of its type. */
export interface Tensor {
  readonly name: string;
  readonly elementType: ElementType | undefined;
  /** `undefined` where something before it could not be read; an issue has said so. */
  readonly shape: readonly Dimension[] | undefined;
}

/** One call while it is lowered. Values asked for by name are those given, else the defaults. */
export interface LayerLowering {
  /** In order; at least as many as the definition needs, less those given by name. */
  readonly inputs: readonly Tensor[];
  /** An input by its name in the definition, `undefined` where it is not given. */
  input(name: string): Tensor | undefined;
  given(name: string): boolean;
  integer(name: string): number;
  number(name: string): number;
  boolean(name: string): boolean;
  string(name: string): string;
  /** `count` integers: one given stands for all. */
  integers(name: string, count: number): readonly number[];
  /** An optional integer: `undefined` for None. */
  optionalInteger(name: string): number | undefined;
  value(name: string): SpecValue;
  /**
   * A size that follows from the input: the actual one where it is known, after checking the argument against it;
   * else the argument. `undefined` where neither is known.
   */
  size(name: string, actual: Dimension | undefined, what: string): number | undefined;
  /** A number for a dimension that must be one, such as a size of a parameter. */
  fixed(dimension: Dimension | undefined): number | undefined;
  /** Adds an operator, `MatMul` or with its domain `com.microsoft.MoE`, and gives its first output. */
  emit(type: string, inputs: readonly (Tensor | undefined)[], attributes?: NodeAttributes): Tensor;
  emitMany(
    type: string,
    inputs: readonly (Tensor | undefined)[],
    outputs: number,
    attributes?: NodeAttributes,
  ): readonly Tensor[];
  /** A trained tensor of this layer. */
  parameter(name: string, dimensions: readonly number[]): Tensor;
  /** The trained tensor `name` of the layer that argument `argument` names, for tied weights. */
  tied(argument: string, name: string): Tensor | undefined;
  /** A stored tensor that is not trained. */
  buffer(name: string, dimensions: readonly number[], elementType?: ElementType): Tensor;
  integersConstant(values: readonly number[]): Tensor;
  /** Sizes as an operator takes them; an open one is read from the model's input when the model runs. */
  sizes(dimensions: readonly Dimension[]): Tensor;
  vectorConstant(values: readonly number[], elementType: ElementType): Tensor;
  scalarConstant(value: number, elementType: ElementType): Tensor;
  /** Warns where axis 0 of an input is the model's batch although `batch_first` is False, PyTorch's default. */
  checkBatchFirst(input: Tensor): void;
  /** Reports at an argument, or at the call where that is not given. Gives `undefined`, to be returned. */
  problem(code: IssueCode, message: string, argument?: string): undefined;
}

export type NodeAttributes = Readonly<Record<string, Attribute<never>>>;

export const int = (value: number): Attribute<never> => ({ kind: 'int', value });
export const float = (value: number): Attribute<never> => ({ kind: 'float', value });
export const text = (value: string): Attribute<never> => ({ kind: 'string', value });
export const ints = (value: readonly number[]): Attribute<never> => ({ kind: 'ints', value });

/** The signature as PyTorch prints it: `Linear(in_features, out_features, bias=True)`. */
export function printSignature(definition: LayerDefinition): string {
  const tensors = definition.kind === 'function' ? definition.inputs.names : [];
  const parameters = definition.parameters.map((parameter) => {
    if (parameter.rest) return `*${parameter.name}`;
    return parameter.default === undefined
      ? parameter.name
      : `${parameter.name}=${printValue(parameter.default)}`;
  });
  const variadic = definition.inputs.variadic && definition.kind === 'function' ? ['…'] : [];
  return `${definition.name}(${[...tensors, ...variadic, ...parameters].join(', ')})`;
}

/** A value as Python writes it. */
export function printValue(value: SpecValue): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'number') return String(value);
  if ('kind' in value) return 'dimension';
  const items = value.map(printValue).join(', ');
  return value.length === 1 ? `(${items},)` : `(${items})`;
}
