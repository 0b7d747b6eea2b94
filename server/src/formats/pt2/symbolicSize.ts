/**
 * Sizes as `torch.export` writes them: `sympy.srepr` of an expression, such as
 * `Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(-1))`.
 *
 * PyTorch 2.4 writes `2*s0 - 1`, which is left as it is.
 */

/** Arithmetic as `parseDimension` reads it, a number where it is one, `undefined` for what it has no words for. */
export function symbolicSize(text: string): number | string | undefined {
  if (!/^(?:[A-Z]\w*)\(/.test(text)) return text.length > longestText ? undefined : text;
  const tokens = text.length > longestText ? null : text.match(token);
  if (tokens === null) return undefined;
  const reader = { tokens, position: 0 };
  const written = readTerm(reader, 0);
  if (written === undefined || reader.position < tokens.length) return undefined;
  return /^-?\d+$/.test(written) ? Number(written) : written;
}

const longestText = 4096;
const greatestDepth = 32;
const token = /'[^']*'|[A-Za-z_]\w*|-?\d+|[(),=]/g;

interface Reader {
  readonly tokens: readonly string[];
  position: number;
}

function readTerm(reader: Reader, depth: number): string | undefined {
  const name = take(reader);
  if (depth > greatestDepth || name === undefined || take(reader) !== '(') return undefined;
  if (name === 'Symbol') return readSymbol(reader);
  if (name === 'Integer') {
    const digits = take(reader);
    return take(reader) === ')' && digits !== undefined && /^-?\d+$/.test(digits) ? digits : undefined;
  }
  const operands: string[] = [];
  for (let next = ','; next === ','; ) {
    const operand = readTerm(reader, depth + 1);
    if (operand === undefined) return undefined;
    operands.push(operand);
    next = take(reader) ?? '';
    if (next !== ',' && next !== ')') return undefined;
  }
  return writeCall(name, operands);
}

/** A symbol's name; its assumptions are skipped. */
function readSymbol(reader: Reader): string | undefined {
  const quoted = take(reader);
  for (let next = take(reader); next !== ')'; next = take(reader)) if (next === undefined) return undefined;
  return quoted !== undefined && /^'[A-Za-z_]\w*'$/.test(quoted) ? quoted.slice(1, -1) : undefined;
}

function writeCall(name: string, operands: readonly string[]): string | undefined {
  const [left, right] = operands;
  const isPair = operands.length === 2;
  switch (name) {
    case 'Add':
      return `(${operands.join(' + ')})`;
    case 'Mul':
      return `(${operands.map((operand) => `(${operand})`).join('*')})`;
    case 'FloorDiv':
    case 'CleanDiv':
    case 'IntTrueDiv':
      return isPair ? `((${left})//(${right}))` : undefined;
    case 'Max':
    case 'Min':
      return isPair ? `${name}(${left}, ${right})` : undefined;
    case 'Pow':
      return isPair && /^\d+$/.test(right ?? '') ? `((${left})**${right})` : undefined;
    default:
      return undefined;
  }
}

function take(reader: Reader): string | undefined {
  reader.position += 1;
  return reader.tokens[reader.position - 1];
}
