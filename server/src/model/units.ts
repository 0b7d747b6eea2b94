/**
 * Units as types: a number of bytes is not a number of seconds.
 *
 * The brands exist only at compile time. A quantity is made once, where a number enters the engine,
 * by the function of its unit, and combined by the arithmetic below; formatting lives in `format.ts`.
 */

declare const unit: unique symbol;

export type Quantity<Unit extends string> = number & { readonly [unit]: Unit };

export type Bytes = Quantity<'B'>;
/** Floating-point operations, 2 per multiply-add. */
export type Flops = Quantity<'FLOP'>;
export type Seconds = Quantity<'s'>;
export type BytesPerSecond = Quantity<'B/s'>;
export type FlopsPerSecond = Quantity<'FLOP/s'>;
export type Watts = Quantity<'W'>;
export type Joules = Quantity<'J'>;

export const bytes = (count: number): Bytes => count as Bytes;
export const flops = (count: number): Flops => count as Flops;
export const seconds = (count: number): Seconds => count as Seconds;
export const bytesPerSecond = (count: number): BytesPerSecond => count as BytesPerSecond;
export const flopsPerSecond = (count: number): FlopsPerSecond => count as FlopsPerSecond;

export const watts = (count: number): Watts => count as Watts;
export const joules = (count: number): Joules => count as Joules;

export const microseconds = (count: number): Seconds => seconds(count * 1e-6);

/** Sum of quantities of one unit; 0 for none. */
export function sum<Unit extends string>(quantities: Iterable<Quantity<Unit>>): Quantity<Unit> {
  let total = 0;
  for (const quantity of quantities) total += quantity;
  return total as Quantity<Unit>;
}

export function add<Unit extends string>(left: Quantity<Unit>, right: Quantity<Unit>): Quantity<Unit> {
  return (left + right) as Quantity<Unit>;
}

/** A quantity scaled by a pure number. */
export function times<Unit extends string>(quantity: Quantity<Unit>, factor: number): Quantity<Unit> {
  return (quantity * factor) as Quantity<Unit>;
}
