/** From values to places on a drawing, and the values that an axis names. */

export interface Scale {
  /** Place of a value; values outside the domain lie outside the range. */
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

/** Equal differences are equal distances. `domain` and `range` as [first, last]. */
export function linearScale(
  domain: readonly [number, number],
  range: readonly [number, number],
  ticks: readonly number[] = niceTicks(domain[0], domain[1], 5),
): Scale {
  const [from, to] = domain;
  const width = to - from === 0 ? 1 : to - from;
  return { at: (value) => range[0] + ((value - from) / width) * (range[1] - range[0]), ticks };
}

/** Equal ratios are equal distances. The domain is above 0. */
export function logScale(
  domain: readonly [number, number],
  range: readonly [number, number],
  ticks: readonly number[] = decadeTicks(domain[0], domain[1]),
): Scale {
  const { at } = linearScale([Math.log(domain[0]), Math.log(domain[1])], range, []);
  return { at: (value) => at(Math.log(value)), ticks };
}

/** Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, about `count` of them. */
export function niceTicks(low: number, high: number, count: number): readonly number[] {
  if (!(high > low)) return [low];
  const step = niceStep((high - low) / count);
  const ticks: number[] = [];
  // Counting keeps the error of adding up out of the values.
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  for (let index = first; index <= last; index += 1) ticks.push(Number((index * step).toPrecision(12)));
  return ticks;
}

/** The smallest of 1, 2, 5 and 10 times a power of ten that is not below `rough`. */
export function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((each) => each * power >= rough * (1 - 1e-9)) ?? 10;
  return Number((factor * power).toPrecision(12));
}

/** Sizes in bytes: nice multiples of the binary unit that the largest is written in. */
export function binaryTicks(high: number, count: number): readonly number[] {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(high, 1)) / Math.log(1024)));
  return niceTicks(0, high / unit, count).map((tick) => tick * unit);
}

/** Powers of ten within the domain, and 2 and 5 times them where there are fewer than three. */
export function decadeTicks(low: number, high: number): readonly number[] {
  const within = (factors: readonly number[]): readonly number[] => {
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const factor of factors) {
        const value = Number((factor * 10 ** power).toPrecision(12));
        if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push(value);
      }
    }
    return ticks;
  };
  const decades = within([1]);
  return decades.length >= 3 ? decades : within([1, 2, 5]);
}
