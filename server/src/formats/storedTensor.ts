/** What the header of a file of weights says of a tensor. */

export interface StoredTensor {
  readonly name: string;
  /** As the file writes it: "BF16", "Q4_K". */
  readonly elementType: string;
  readonly shape: readonly number[];
  readonly elements: number;
  readonly bytes: number;
}

export type StoredWeights =
  | { readonly tensors: readonly StoredTensor[] }
  /** What is wrong with the file, and where. */
  | { readonly problem: string };
