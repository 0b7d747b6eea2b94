/**
 * Reads by index that throw past the end, where every index is known to be there.
 *
 * One function for each kind of column: V8 keeps what it learns of a load by function, and one that sees columns of
 * several kinds is slower in the loops of the schedule.
 */

export function floatAt(column: Float64Array, index: number): number {
  const value = column[index];
  if (value === undefined) throw pastEnd(index, column.length);
  return value;
}

export function intAt(column: Int32Array, index: number): number {
  const value = column[index];
  if (value === undefined) throw pastEnd(index, column.length);
  return value;
}

export function byteAt(column: Uint8Array, index: number): number {
  const value = column[index];
  if (value === undefined) throw pastEnd(index, column.length);
  return value;
}

export function itemAt<Item>(list: readonly Item[], index: number): Item {
  const item = list[index];
  if (item === undefined) throw pastEnd(index, list.length);
  return item;
}

/** Of a key that is known to be there. */
export function entryAt<Key, Value>(entries: ReadonlyMap<Key, Value>, key: Key): Value {
  const value = entries.get(key);
  if (value === undefined) throw new RangeError(`nothing is known of ${String(key)}`);
  return value;
}

const pastEnd = (index: number, length: number): RangeError =>
  new RangeError(`index ${index} is not in a column of ${length}`);
