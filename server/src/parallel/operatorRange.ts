/** Operators of a graph in a row. */

/** Operators `begin` to `end`, which is not among them. */
export interface OperatorRange {
  readonly begin: number;
  readonly end: number;
}
