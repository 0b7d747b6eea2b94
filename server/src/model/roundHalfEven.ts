/** Python's `round`: to the nearest whole number, and to the even one of two that are equally near. */
export function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
