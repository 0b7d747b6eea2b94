/**
 * Dimension parameters as exporters write them: a name, or arithmetic over names.
 *
 * torch.export writes `2*s0 + 1`, `s0//2`, `Max(1, s0)`, `floor(s0/2)`; ONNX Runtime writes `floor(a + b)`.
 */

import {
  addDimensions,
  ceilDivideDimensions,
  type Dimension,
  floorDivideDimensions,
  integerDimension,
  maximumOfDimensions,
  minimumOfDimensions,
  multiplyDimensions,
  subtractDimensions,
  symbol,
} from '../model/dimension.ts';

/** The dimension that `text` stands for. Text that is no arithmetic is one symbol, named by all of it. */
export function parseDimension(text: string): Dimension {
  const trimmed = text.trim();
  if (plainName.test(trimmed)) return symbol(trimmed);
  const tokens = trimmed.match(tokenPattern);
  if (tokens === null || tokens.join('') !== trimmed.replaceAll(/\s+/g, '')) return symbol(trimmed);
  const reader = { tokens, position: 0, depth: 0 };
  const parsed = readSum(reader);
  return parsed === undefined || reader.position < tokens.length ? symbol(trimmed) : parsed;
}

interface Reader {
  readonly tokens: readonly string[];
  position: number;
  depth: number;
}

const plainName = /^[A-Za-z_][\w.]*$/;
const tokenPattern = /[A-Za-z_][\w.]*|\d+|\/\/|\*\*|[-+*/(),]/g;
/** Deeper nesting is no dimension anyone wrote; the limit keeps hostile text from exhausting the stack. */
const greatestDepth = 64;

function readSum(reader: Reader): Dimension | undefined {
  let left = readProduct(reader);
  while (left !== undefined && (peek(reader) === '+' || peek(reader) === '-')) {
    const operator = take(reader);
    const right = readProduct(reader);
    if (right === undefined) return undefined;
    left = operator === '+' ? addDimensions(left, right) : subtractDimensions(left, right);
  }
  return left;
}

function readProduct(reader: Reader): Dimension | undefined {
  let left = readFactor(reader);
  while (left !== undefined && ['*', '/', '//'].includes(peek(reader) ?? '')) {
    const operator = take(reader);
    const right = readFactor(reader);
    if (right === undefined) return undefined;
    left = operator === '*' ? multiplyDimensions(left, right) : floorDivideDimensions(left, right);
  }
  return left;
}

function readFactor(reader: Reader): Dimension | undefined {
  const base = readAtom(reader);
  if (base === undefined || peek(reader) !== '**') return base;
  take(reader);
  const exponent = Number(take(reader) ?? Number.NaN);
  if (!Number.isInteger(exponent) || exponent < 0 || exponent > 8) return undefined;
  let power: Dimension = 1;
  for (let count = 0; count < exponent; count += 1) power = multiplyDimensions(power, base);
  return power;
}

function readAtom(reader: Reader): Dimension | undefined {
  const token = take(reader);
  if (token === undefined) return undefined;
  if (/^\d/.test(token)) return integerDimension(token);
  if (token === '-') {
    const negated = readDeeper(reader, readFactor);
    return negated === undefined ? undefined : multiplyDimensions(negated, -1);
  }
  if (token === '(') {
    const inner = readDeeper(reader, readSum);
    return take(reader) === ')' ? inner : undefined;
  }
  if (!plainName.test(token)) return undefined;
  return peek(reader) === '(' ? readCall(reader, token.toLowerCase()) : symbol(token);
}

function readCall(reader: Reader, name: string): Dimension | undefined {
  take(reader);
  const values: Dimension[] = [];
  do {
    const value = readDeeper(reader, readSum);
    if (value === undefined) return undefined;
    values.push(value);
  } while (peek(reader) === ',' && take(reader) !== undefined);
  if (take(reader) !== ')') return undefined;
  const [first, second] = values;
  if (first === undefined) return undefined;
  if (name === 'floor' && values.length === 1) return first;
  if (second === undefined) return undefined;
  if (name === 'max') return values.reduce(maximumOfDimensions);
  if (name === 'min') return values.reduce(minimumOfDimensions);
  if (values.length !== 2) return undefined;
  if (name === 'floordiv') return floorDivideDimensions(first, second);
  return name === 'ceildiv' ? ceilDivideDimensions(first, second) : undefined;
}

function readDeeper(reader: Reader, read: (reader: Reader) => Dimension | undefined): Dimension | undefined {
  if (reader.depth >= greatestDepth) return undefined;
  reader.depth += 1;
  const value = read(reader);
  reader.depth -= 1;
  return value;
}

const peek = (reader: Reader): string | undefined => reader.tokens[reader.position];

function take(reader: Reader): string | undefined {
  const token = reader.tokens[reader.position];
  reader.position += 1;
  return token;
}
