/** An operator that a person describes in a file beside the model: its shapes and its work, as expressions. */

/** Name of the file that describes custom operators, beside the models that have them. */
export const customOperatorsFile = 'custom-operators.layercost.yaml';

export interface OperatorName {
  readonly domain: string;
  readonly type: string;
}

/** Has the rules of another operator. */
export interface AliasedOperator {
  readonly kind: 'alias';
  readonly like: OperatorName;
}

/** Expressions are arithmetic over the dimensions of inputs and over attributes. */
export interface DescribedOperator {
  readonly kind: 'described';
  /** By position: the dimensions of each, by the names that expressions use; `...` stands for any at its place. */
  readonly inputs: readonly (readonly string[])[];
  readonly inputNames: readonly string[];
  /** Numbers of the node that expressions use, with what holds where the node leaves them out. */
  readonly attributes: Readonly<Record<string, number>>;
  readonly outputs: readonly DescribedOutput[];
  /** Multiply-adds count 2. */
  readonly flops: string;
  /** Bytes moved; without it every input is read and every output written once. */
  readonly bytes: string | undefined;
  readonly kernels: number;
  /** Positions of inputs and outputs that backward keeps. */
  readonly savedInputs: readonly number[];
  readonly savedOutputs: readonly number[];
  /** What backward computes and moves; without it twice as many FLOPs, and the bytes of forward twice. */
  readonly backwardFlops: string | undefined;
  readonly backwardBytes: string | undefined;
}

export interface DescribedOutput {
  /** That of the first input where it is not given. */
  readonly elementType: string | undefined;
  readonly dimensions: readonly string[];
}

export type DeclaredOperator = AliasedOperator | DescribedOperator;

/** By `domain.Type`; an operator of the default domain is `Type` alone. */
export type DeclaredOperators = ReadonlyMap<string, DeclaredOperator>;

export const operatorKey = ({ domain, type }: OperatorName): string =>
  domain === '' || domain === 'ai.onnx' ? type : `${domain}.${type}`;

/** The domain and type of `domain.Type`: what stands behind the last dot is the type. */
export function operatorOfKey(key: string): OperatorName {
  const dot = key.lastIndexOf('.');
  return { domain: key.slice(0, Math.max(0, dot)), type: key.slice(dot + 1) };
}
