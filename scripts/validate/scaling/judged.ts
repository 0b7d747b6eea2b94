/** Rows of several GPUs beside what was predicted of them. */

export interface ScaledRow {
  /** "resnet50, wfbp-a2a, 32 GPUs". */
  readonly label: string;
  /** Seconds of a step. */
  readonly predicted: number;
  readonly measured: number;
}

/** A set of rows, and what the aim for it is. */
export interface ScaledSet {
  readonly title: string;
  readonly rows: readonly ScaledRow[];
  readonly aim: string;
  readonly reached: boolean;
  /** What was calibrated on what, and so is not judged. */
  readonly calibrated: string;
  /** Rows that are not judged, with the reason. */
  readonly left: readonly { readonly rows: number; readonly reason: string }[];
}

export const ratios = (rows: readonly ScaledRow[]): readonly number[] =>
  rows.map(({ predicted, measured }) => predicted / measured);
