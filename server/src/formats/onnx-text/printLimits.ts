/** How much of a model is printed. */

/** How much is shown; what is longer is elided. */
export interface PrintLimits {
  /** Entries of an attribute list. */
  readonly entries: number;
  /** Characters of a text; a text of several lines is cut after the first where this is finite. */
  readonly characters: number;
  /** Integers of a tensor. */
  readonly integers: number;
  /** Floating-point values of an initializer, which is a weight. */
  readonly weights: number;
  /** Floating-point values of a node's constant. */
  readonly constants: number;
}

/** For an editor: more values than these hide what a person looks for. */
export const viewLimits: PrintLimits = {
  entries: 256,
  characters: 1000,
  integers: 256,
  weights: 8,
  constants: 64,
};

/** For a file that is kept: everything that was read. */
export const fileLimits: PrintLimits = {
  entries: Number.POSITIVE_INFINITY,
  characters: Number.POSITIVE_INFINITY,
  integers: Number.POSITIVE_INFINITY,
  weights: Number.POSITIVE_INFINITY,
  constants: Number.POSITIVE_INFINITY,
};
