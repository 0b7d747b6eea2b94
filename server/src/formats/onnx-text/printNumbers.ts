/**
 * Numbers as ONNX's printer writes them: the shortest decimal that reads back as the same float32 or float64.
 *
 * Source of the form: C++ `std::to_chars` without a format, which ONNX's `printer.cc` calls: fixed or scientific,
 * whichever is shorter, fixed on a tie, at least two digits of exponent.
 */

/** Integers saturate at ±(2^53 − 1) when read; the file then held a 64-bit limit, in practice "to the end". */
export function printInteger(value: number): string {
  if (value === Number.MAX_SAFE_INTEGER) return '9223372036854775807';
  if (value === -Number.MAX_SAFE_INTEGER) return '-9223372036854775808';
  return String(value);
}

export function printFloat32(value: number): string {
  if (value === 0) return toChars(value);
  for (let digits = 1; digits <= 9; digits++) {
    const candidate = value.toPrecision(digits);
    if (Math.fround(Number(candidate)) === value) return toChars(Number(candidate));
  }
  return toChars(value);
}

export function printFloat64(value: number): string {
  return toChars(value);
}

function toChars(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponentText = '0'] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  const sign = exponent < 0 ? '-' : '+';
  const scientific = `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
  // Outside these exponents `String` is scientific itself, and the fixed form is the longer one.
  if (exponent < -6 || exponent > 20) return scientific;
  const fixed = String(value);
  return scientific.length < fixed.length ? scientific : fixed;
}
