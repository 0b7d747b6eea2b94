/** One line of a layer spec before it has a name: what is called, with which tensors, for which operators. */

export interface SpecCall {
  readonly callee: string;
  /** A `module` takes tensors behind `from`; a `function` among its arguments, as does an ONNX operator by its name. */
  readonly kind: 'module' | 'function';
  /** Tensors, in order; of a function also what stands between them. */
  readonly inputs: readonly SpecInput[];
  /** What stands behind the tensors: `4096, 4096, bias=False`. */
  readonly settings: readonly string[];
  /** Names of values of the graph; '' for one that nothing reads. */
  readonly outputs: readonly string[];
  /** Indices of the operators it stands for, ascending. */
  readonly operators: readonly number[];
  /** The stored tensor whose weight it uses, where another line may use it too. */
  readonly weight?: string;
  /** Why a layer spec cannot say it. */
  readonly problem?: string;
  readonly frozen?: true;
}

export type SpecInput =
  | { readonly kind: 'tensor'; readonly value: string }
  | { readonly kind: 'literal'; readonly text: string };

export const tensor = (value: string): SpecInput => ({ kind: 'tensor', value });
export const literal = (text: string): SpecInput => ({ kind: 'literal', text });

/** The values it reads. */
export const valuesOf = ({ inputs }: SpecCall): readonly string[] =>
  inputs.flatMap((input) => (input.kind === 'tensor' ? [input.value] : []));
