/**
 * Reads a model that some textual form of protobuf holds: it is put into the wire format, payloads left out, and read
 * by the reader of binary models. Binary, text and JSON so have one meaning.
 */

import { elementTypes } from '../../model/elementType.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import {
  enumNumbers,
  type FieldKind,
  type FieldSchema,
  isMessage,
  type MessageName,
  schemaOf,
} from './messageSchema.ts';
import { type ReadOnnx, readOnnx } from './readOnnx.ts';
import { wireTypes } from './wireReader.ts';
import { WireWriter } from './wireWriter.ts';

export interface WrittenMessage {
  /** The fields by their names in `onnx-ml.proto`. */
  readonly fields: () => Iterable<WrittenField>;
}

export interface WrittenField {
  /** Its name in `onnx-ml.proto`, or its number. */
  readonly name: string;
  readonly values: readonly WrittenValue[];
  /** Numbers of a payload that were not kept. */
  readonly omitted: number;
  readonly place: WrittenPlace;
}

export interface WrittenValue {
  readonly place: WrittenPlace;
  /** `undefined` where the value is none. */
  readonly message: () => WrittenMessage | undefined;
  /** A number or the name of one, as it is written; `undefined` where the value is none. */
  readonly scalar: () => string | undefined;
  /** `undefined` where the value holds no bytes. */
  readonly bytes: (kind: 'text' | 'bytes') => WrittenBytes | undefined;
}

export interface WrittenBytes {
  readonly size: number;
  readonly read: () => Uint8Array;
}

export interface WrittenPlace {
  readonly span?: TextSpan;
  /** To follow a message: "at line 3, column 5", "in `graph.node[3]`". */
  readonly words: string;
}

/** Longer payloads are not decoded: none of their elements would be kept. */
const decodedBytes = 64 * 1024;

/** A text that is odd in more ways than this is no better understood by a longer list. */
const mostIssues = 100;

/** `wordsOf` says where a place is, to follow a message. */
export function readWrittenModel(
  message: WrittenMessage,
  wordsOf: (place: WrittenPlace) => string,
): ReadOnnx {
  const writing = new ModelWriting();
  writing.message(message, 'ModelProto');
  if (writing.error !== undefined) return { model: undefined, issues: [writing.error] };
  const source = writing.wire.source();
  if (source.size === 0) {
    return {
      model: undefined,
      issues: [
        {
          code: 'file/not-a-model',
          severity: 'error',
          message: 'The text holds no field of an ONNX model: open the model itself',
        },
      ],
    };
  }
  const { model, issues } = readOnnx(source, (offset) => {
    const place = writing.placeAt(offset);
    return place === undefined ? 'in the model itself' : wordsOf(place);
  });
  return { model, issues: [...writing.issues, ...issues] };
}

class ModelWriting {
  readonly wire = new WireWriter();
  readonly issues: Issue[] = [];
  error: Issue | undefined;
  readonly #reported = new Set<string>();
  /** Messages in the order they begin, and where each begins and ends in the wire format. */
  readonly #messages: { readonly value: WrittenValue; readonly start: number; end: number }[] = [];

  /** The innermost message that an offset of the wire format is in; none for fields of the model itself. */
  placeAt(offset: number): WrittenPlace | undefined {
    return this.#messages.findLast(({ start, end }) => start <= offset && offset < end)?.value.place;
  }

  message(message: WrittenMessage, name: MessageName): void {
    const schema = schemaOf(name);
    for (const field of message.fields()) {
      if (this.error !== undefined) return;
      const known = schema.get(field.name) ?? byNumber(schema, field.name);
      if (known === undefined) this.#reportUnknown(field, name);
      else if (known.kind !== undefined) this.#field(field, known.number, known.kind);
    }
  }

  #field(field: WrittenField, number: number, kind: FieldKind): void {
    if (kind === 'text' || kind === 'bytes') {
      for (const value of field.values) this.#bytes(value, field.name, number, kind);
    } else if (isMessage(kind)) {
      for (const value of field.values) this.#nested(value, field.name, number, kind);
    } else if (field.values.length === 1 && field.omitted === 0) {
      for (const value of field.values) this.#number(value, field.name, number, kind);
    } else {
      this.#packed(field, number, kind);
    }
  }

  #nested(value: WrittenValue, name: string, number: number, kind: MessageName): void {
    const inner = value.message();
    if (inner === undefined) {
      this.#refuse(value, `\`${name}\` is a message: write its fields in braces`);
      return;
    }
    const written = { value, start: this.wire.size, end: Number.POSITIVE_INFINITY };
    this.#messages.push(written);
    const open = this.wire.open(number);
    this.message(inner, kind);
    this.wire.close(open);
    written.end = this.wire.size;
  }

  #bytes(value: WrittenValue, name: string, number: number, kind: 'text' | 'bytes'): void {
    const bytes = value.bytes(kind);
    if (bytes === undefined) {
      this.#refuse(
        value,
        `\`${name}\` is ${kind === 'text' ? 'a text' : 'a string of bytes'}: write it in quotes`,
      );
    } else if (kind === 'bytes' && bytes.size > decodedBytes) {
      const open = this.wire.open(number);
      this.wire.hole(bytes.size);
      this.wire.close(open);
    } else {
      this.wire.bytes(number, bytes.read());
    }
  }

  #number(value: WrittenValue, name: string, number: number, kind: NumberKind): void {
    const parsed = this.#parsed(value, name, kind);
    if (parsed === undefined) return;
    this.wire.tag(number, wireTypeOf(kind));
    this.#write(parsed, kind);
  }

  #packed(field: WrittenField, number: number, kind: NumberKind): void {
    const open = this.wire.open(number);
    for (const value of field.values) {
      const parsed = this.#parsed(value, field.name, kind);
      if (parsed === undefined) return;
      this.#write(parsed, kind);
    }
    // At least a byte each for numbers of changing length.
    this.wire.hole(field.omitted * (kind === 'float32' ? 4 : kind === 'float64' ? 8 : 1));
    this.wire.close(open);
  }

  #write(value: number | bigint, kind: NumberKind): void {
    if (kind === 'float32') this.wire.float32(Number(value));
    else if (kind === 'float64') this.wire.float64(Number(value));
    else this.wire.varint(value);
  }

  #parsed(value: WrittenValue, name: string, kind: NumberKind): number | bigint | undefined {
    const text = value.scalar();
    if (text === undefined) {
      this.#refuse(value, `\`${name}\` is a number: write it without quotes and braces`);
      return undefined;
    }
    const isFloat = kind === 'float32' || kind === 'float64';
    const parsed = isFloat
      ? parseFloating(text)
      : (parseInteger(text) ?? (kind === 'enum' ? enumNumbers.get(text) : undefined));
    if (parsed === undefined) this.#refuse(value, notANumber(text, name));
    return parsed;
  }

  #refuse(value: WrittenValue, message: string): void {
    const { span, words } = value.place;
    this.error ??= {
      code: 'onnx/text-syntax',
      severity: 'error',
      message: message
        .replace(':', `${words === '' ? '' : ` ${words}`}:`)
        .replace(/^[a-z]/, (first) => first.toUpperCase()),
      ...(span === undefined ? {} : { span }),
    };
  }

  #reportUnknown({ name, place }: WrittenField, message: MessageName): void {
    const key = `${message}.${name}`;
    if (this.#reported.has(key) || this.issues.length >= mostIssues) return;
    this.#reported.add(key);
    this.issues.push({
      code: 'onnx/unknown-field',
      severity: 'warning',
      message: `Field \`${name}\` of ${message}${place.words === '' ? '' : ` ${place.words}`} is unknown and was skipped: if it changes the computation, the cost differs`,
      ...(place.span === undefined ? {} : { span: place.span }),
    });
  }
}

type NumberKind = 'integer' | 'enum' | 'float32' | 'float64';

const wireTypeOf = (kind: NumberKind): number =>
  kind === 'float32' ? wireTypes.fixed32 : kind === 'float64' ? wireTypes.fixed64 : wireTypes.varint;

function byNumber(schema: ReadonlyMap<string, FieldSchema>, name: string): FieldSchema | undefined {
  if (!/^\d+$/.test(name)) return undefined;
  return [...schema.values()].find((field) => field.number === Number(name));
}

/** Decimal, hexadecimal and octal, with the suffixes of C. */
function parseInteger(text: string): number | bigint | undefined {
  if (/^-?(0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  const found = /^(-?)(0[xX][\da-fA-F]{1,16}|0[0-7]{0,22}|[1-9]\d{0,19})[uUlL]*$/.exec(text);
  if (found === null) return undefined;
  const [, sign, digits = '0'] = found;
  const value = BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return sign === '-' ? -value : value;
}

function parseFloating(text: string): number | undefined {
  const special = /^(-?)(?:(inf|infinity)f?|(nan))$/i.exec(text);
  if (special !== null) {
    const size = special[3] === undefined ? Number.POSITIVE_INFINITY : Number.NaN;
    return special[1] === '-' ? -size : size;
  }
  return /^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fF]?$/.test(text)
    ? Number(text.replace(/[fF]$/, ''))
    : undefined;
}

function notANumber(text: string, name: string): string {
  const shown = text.slice(0, 40);
  const type = /^(data|elem|key)_type$/.test(name)
    ? elementTypes.findIndex((known) => onnxName(known) === text)
    : -1;
  return type < 0
    ? `\`${shown}\` is not a value of \`${name}\`: write a number`
    : `\`${shown}\` is not a value of \`${name}\`, a number in ONNX: write ${type}`;
}

/** `TensorProto.DataType` says FLOAT and DOUBLE where NumPy says float32 and float64. */
const onnxName = (type: string): string =>
  type === 'float32' ? 'FLOAT' : type === 'float64' ? 'DOUBLE' : type.toUpperCase();
