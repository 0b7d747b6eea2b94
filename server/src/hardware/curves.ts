/**
 * Fitted curves of kernel classes: what `npm run calibrate` learned from the measurements in `measured/`, as data.
 *
 * A GPU that was measured has curves of its own. Another takes those of the nearest measured one: of its
 * architecture first, then of a neighbouring generation, with the wider range that the same step costs where it can
 * be checked (each measured GPU predicted from the others).
 */

export interface ProductCurve {
  /** Tiles a library has, [rows, columns, share of a multiprocessor's peak]. */
  readonly tiles: readonly (readonly [m: number, n: number, share: number])[];
  /** Share of the memory bandwidth. */
  readonly memory: number;
  /** What filling and draining a tile costs, as depth. */
  readonly depth: number;
}

export interface ConvolutionCurve {
  readonly forward: ProductCurve;
  readonly data: ProductCurve;
  readonly weight: ProductCurve;
  /** [side of a tile of outputs, share of the peak]; absent where libraries do not use it. */
  readonly winograd: readonly (readonly [tile: number, share: number])[] | undefined;
  /** How often transformed tiles pass through memory. */
  readonly transforms: number;
  /** Shares of the vector rate and of the bandwidth. */
  readonly depthwise: { readonly vector: number; readonly memory: number };
}

export interface RowCurve {
  /** [length of a row, share of the bandwidth], ascending; one entry where rows do not matter. */
  readonly shares: readonly (readonly [columns: number, share: number])[];
}
