/** Colours of sRGB, and how far apart two of them look. */

export interface Colour {
  /** Red, green and blue, each from 0 to 1. */
  readonly rgb: readonly [number, number, number];
  readonly alpha: number;
}

/** `#rrggbb` or `#rrggbbaa`. */
export function parseColour(text: string): Colour {
  const pairs = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})([\da-f]{2})?$/i.exec(text);
  if (pairs === null) throw new Error(`${text} is not a colour`);
  const part = (index: number): number => Number.parseInt(pairs[index] ?? 'ff', 16) / 255;
  return { rgb: [part(1), part(2), part(3)], alpha: part(4) };
}

/** What is seen of a colour that is laid over an opaque ground. */
export function over(colour: Colour, opacity: number, ground: Colour): Colour {
  const alpha = colour.alpha * opacity;
  const [red, green, blue] = colour.rgb;
  const [redBelow, greenBelow, blueBelow] = ground.rgb;
  const mix = (above: number, below: number): number => above * alpha + below * (1 - alpha);
  return { rgb: [mix(red, redBelow), mix(green, greenBelow), mix(blue, blueBelow)], alpha: 1 };
}

/** ΔE*ab of CIE 1976, under D65. Two colours of a distance of 2.3 are just told apart. */
export function colourDistance(one: Colour, other: Colour): number {
  const [first, second] = [labOf(one), labOf(other)];
  return Math.hypot(first[0] - second[0], first[1] - second[1], first[2] - second[2]);
}

/** IEC 61966-2-1 to XYZ, and CIE 15 to L*, a* and b*. */
function labOf({ rgb }: Colour): readonly [number, number, number] {
  const linear = (part: number): number => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = [linear(rgb[0]), linear(rgb[1]), linear(rgb[2])];
  const root = (ratio: number): number =>
    ratio > 216 / 24389 ? Math.cbrt(ratio) : ((24389 / 27) * ratio + 16) / 116;
  const x = root((0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047);
  const y = root(0.2126729 * red + 0.7151522 * green + 0.072175 * blue);
  const z = root((0.0193339 * red + 0.119192 * green + 0.9503041 * blue) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
