/** A number that is not known exactly: its most likely value and the bounds it is expected to lie between. */

export interface Range<Value = number> {
  readonly low: Value;
  readonly high: Value;
}

export interface Estimate<Value = number> extends Range<Value> {
  readonly middle: Value;
}

/** Which of the three values of an estimate is meant. */
export type Bound = keyof Estimate;

/** An estimate from what each of its three values is. */
export const estimateOf = <Value>(of: (bound: Bound) => Value): Estimate<Value> => ({
  middle: of('middle'),
  low: of('low'),
  high: of('high'),
});

/** From the [low, high] of a file. */
export function rangeOf([low, high]: readonly number[]): Range {
  if (low === undefined || high === undefined) throw new RangeError('a range has two ends');
  return { low, high };
}
