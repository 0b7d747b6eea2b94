/** Writes what `onnx-proto` decoded as protobuf text, in ways the format leaves open, so that a reader meets them. */

type Style = 'usual' | 'compact';

/** `message` as protobufjs gives it by `toObject` with strings for enums, numbers or strings for 64-bit integers. */
export function writeProtobufText(message: Readonly<Record<string, unknown>>, style: Style): string {
  return fieldsOf(message, style).join(style === 'usual' ? '\n' : ' ');
}

function fieldsOf(message: Readonly<Record<string, unknown>>, style: Style): string[] {
  return Object.entries(message).flatMap(([key, value]) => {
    const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (style === 'compact' && values.length > 1 && values.every((each) => typeof each === 'number')) {
      return [`${name}: [${values.map(scalar).join(', ')}],`];
    }
    return values.map((each) => field(name, each, style));
  });
}

function field(name: string, value: unknown, style: Style): string {
  if (value instanceof Uint8Array) return `${name}: ${quoteBytes(value, style)}`;
  if (typeof value === 'object' && value !== null) {
    const inner = writeProtobufText(Object.fromEntries(Object.entries(value)), style);
    return style === 'usual' ? `${name} {\n${inner}\n}` : `${name}: < ${inner} >;`;
  }
  if (typeof value === 'string' && !/^([A-Z_]+|-?\d+)$/.test(value)) {
    return `${name}: ${quoteBytes(new TextEncoder().encode(value), style)}`;
  }
  const quoted = typeof value === 'string' && !enumFields.has(name) && !integerFields.has(name);
  return `${name}: ${quoted ? `'${value}'` : scalar(value)}`;
}

const enumFields: ReadonlySet<string> = new Set(['type', 'data_location']);
const integerFields: ReadonlySet<string> = new Set([
  'ir_version',
  'model_version',
  'version',
  'dim_value',
  'dims',
  'i',
  'ints',
  'int64_data',
  'uint64_data',
  'begin',
  'end',
]);

function scalar(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf';
  }
  return String(value);
}

/** The usual style escapes in octal, the compact one in hexadecimal and breaks every text into pieces. */
function quoteBytes(bytes: Uint8Array, style: Style): string {
  const escapeByte = (byte: number): string => {
    if (byte === 0x5c || byte === 0x22 || byte === 0x27) return `\\${String.fromCharCode(byte)}`;
    if (byte >= 0x20 && byte < 0x7f && style === 'usual') return String.fromCharCode(byte);
    if (byte === 0x0a) return '\\n';
    return style === 'usual'
      ? `\\${byte.toString(8).padStart(3, '0')}`
      : `\\x${byte.toString(16).padStart(2, '0')}`;
  };
  const escaped = [...bytes].map(escapeByte);
  if (style === 'usual') return `"${escaped.join('')}"`;
  const half = Math.floor(escaped.length / 2);
  return `"${escaped.slice(0, half).join('')}" '${escaped.slice(half).join('')}'`;
}
