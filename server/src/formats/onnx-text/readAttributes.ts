/** Attributes in ONNX text, with and without types, and the values they may have. */

import type { Attribute } from '../../model/attribute.ts';
import type { TextSpan } from '../../model/issue.ts';
import { attributeTypes } from '../onnx/fields.ts';
import type { OnnxGraph, OnnxValueInfo } from '../onnx/syntax.ts';
import { readType, type TextTensor, typeIsNext } from './readType.ts';
import type { TextCursor } from './textCursor.ts';

/** The text, and how what attributes may hold is read. */
export interface InnerReading {
  readonly cursor: TextCursor;
  readonly graph: () => OnnxGraph;
  readonly tensor: (info: OnnxValueInfo, typeSpan: TextSpan) => TextTensor;
}

const hint = 'an attribute is written `name = value` or `name: type = value`';

const attributeTypeNames: ReadonlySet<string> = new Set(Object.values(attributeTypes));

export const noAttributes: ReadonlyMap<string, Attribute<OnnxGraph>> = new Map();

export function readAttributes(inner: InnerReading): ReadonlyMap<string, Attribute<OnnxGraph>> {
  const { cursor } = inner;
  if (!cursor.matches('<')) return noAttributes;
  const outer = cursor.hint;
  cursor.hint = hint;
  const attributes = new Map<string, Attribute<OnnxGraph>>();
  do {
    const name = cursor.name('the name of an attribute');
    attributes.set(name, readAttributeValue(inner));
  } while (cursor.matches(','));
  cursor.expect('>');
  cursor.hint = outer;
  return attributes;
}

/** What follows an attribute's name: its type, where it is given, and its value. */
export function readAttributeValue(inner: InnerReading): Attribute<OnnxGraph> {
  const { cursor } = inner;
  let type: string | undefined;
  if (cursor.matches(':')) {
    const start = cursor.next();
    type = cursor.identifier('the type of an attribute');
    if (!attributeTypeNames.has(type)) {
      cursor.failWith(
        `\`${type}\` is not an attribute type: write one of ${[...attributeTypeNames].join(', ')}`,
        start,
        start + type.length,
      );
    }
  }
  cursor.expect('=');
  const start = cursor.next();
  if (cursor.matches('{')) {
    cursor.expect('...');
    cursor.expect('}');
    return { kind: 'other', value: type ?? 'a value that is not shown' };
  }
  if (cursor.matches('[')) return readList(inner, type, start);
  return fitting(cursor, readSingleValue(inner, type), type, start);
}

/** A list, after its bracket. Its type is that of its entries, where none is given. */
function readList(inner: InnerReading, type: string | undefined, start: number): Attribute<OnnxGraph> {
  const { cursor } = inner;
  const entryType = type?.replace(/s$/, '');
  if (cursor.matches(']')) {
    if (type === undefined || entryType === type) {
      const what = type === undefined ? 'an empty list needs a type' : `an empty list is not a \`${type}\``;
      cursor.failWith(`${what}: write \`name: ints = []\``, start, cursor.tokenEnd);
    }
    return listOf(entryType ?? '', []);
  }
  const entries: Attribute<OnnxGraph>[] = [];
  let expected = entryType;
  do {
    if (cursor.matches('...')) {
      cursor.expect(']');
      return { kind: 'other', value: `${type ?? 'a list'}, ${entries.length} of them shown` };
    }
    const entryStart = cursor.next();
    const entry = fitting(cursor, readSingleValue(inner, expected), expected, entryStart);
    if (entry.kind === 'reference') {
      cursor.failWith(
        'a list holds no references: refer to a whole list with `name = @other`',
        entryStart,
        cursor.tokenEnd,
      );
    }
    expected ??= kindOf(entry);
    entries.push(entry);
  } while (cursor.matches(','));
  cursor.expect(']');
  return listOf(expected ?? '', entries);
}

function readSingleValue(inner: InnerReading, type: string | undefined): Attribute<OnnxGraph> {
  const { cursor } = inner;
  const start = cursor.next();
  if (cursor.matches('@')) {
    const value = cursor.name('the name of an attribute');
    return type === undefined ? { kind: 'reference', value } : { kind: 'reference', value, type };
  }
  if (cursor.peek() === '"' && type !== 'graph') return { kind: 'string', value: cursor.string() };
  if (typeIsNext(cursor)) return readTypeOrTensor(inner, start);
  const literal = cursor.optionalNumber();
  if (literal?.kind === 'int') return { kind: 'int', value: literal.value };
  if (literal?.kind === 'float') return { kind: 'float', value: Math.fround(literal.value) };
  if (cursor.peekIdentifier() !== '' || cursor.peek() === '"') {
    if (!cursor.enter()) return { kind: 'other', value: 'graph' };
    const value = inner.graph();
    cursor.leave();
    return { kind: 'graph', value };
  }
  cursor.fail('a value');
  return { kind: 'int', value: 0 };
}

/** A type is a tensor where values or a name follow it. */
function readTypeOrTensor(inner: InnerReading, start: number): Attribute<OnnxGraph> {
  const { cursor } = inner;
  const type = readType(cursor);
  const typeSpan = { start, end: Math.max(start, cursor.tokenEnd) };
  const next = cursor.peek();
  if (next !== '{' && next !== '=' && next !== '[' && next !== '"' && cursor.peekIdentifier() === '') {
    return type === undefined ? { kind: 'other', value: 'type' } : { kind: 'type_proto', value: type };
  }
  const name = cursor.optionalName() ?? '';
  cursor.matches('=');
  const { tensor, sparse } = inner.tensor({ name, type }, typeSpan);
  return { kind: sparse ? 'sparse_tensor' : 'tensor', value: tensor };
}

/** The value as the type it was given: an integer is a float where one is asked for, nothing else is changed. */
function fitting(
  cursor: TextCursor,
  value: Attribute<OnnxGraph>,
  type: string | undefined,
  start: number,
): Attribute<OnnxGraph> {
  const kind = kindOf(value);
  if (type === undefined || kind === type || value.kind === 'reference') return value;
  if (type === 'float' && value.kind === 'int') return { kind: 'float', value: Math.fround(value.value) };
  cursor.failWith(
    `the attribute has type \`${type}\`, its value is of type \`${kind}\`: change one of them`,
    start,
    Math.max(start, cursor.tokenEnd),
  );
  return value;
}

/** The type that ONNX text has for a value. */
const kindOf = (value: Attribute<OnnxGraph>): string => (value.kind === 'other' ? value.value : value.kind);

function listOf(entryType: string, entries: readonly Attribute<OnnxGraph>[]): Attribute<OnnxGraph> {
  switch (entryType) {
    case 'int':
      return { kind: 'ints', value: entries.flatMap((entry) => (entry.kind === 'int' ? [entry.value] : [])) };
    case 'float':
      return {
        kind: 'floats',
        value: entries.flatMap((entry) => (entry.kind === 'float' ? [entry.value] : [])),
      };
    case 'string':
      return {
        kind: 'strings',
        value: entries.flatMap((entry) => (entry.kind === 'string' ? [entry.value] : [])),
      };
    case 'tensor':
      return {
        kind: 'tensors',
        value: entries.flatMap((entry) => (entry.kind === 'tensor' ? [entry.value] : [])),
      };
    case 'graph':
      return {
        kind: 'graphs',
        value: entries.flatMap((entry) => (entry.kind === 'graph' ? [entry.value] : [])),
      };
    case 'type_proto':
      return {
        kind: 'type_protos',
        value: entries.flatMap((entry) => (entry.kind === 'type_proto' ? [entry.value] : [])),
      };
    default:
      return { kind: 'other', value: `${entryType}s` };
  }
}
