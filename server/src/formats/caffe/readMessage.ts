/**
 * A message of protobuf text against its schema: fields the schema does not know and values of the wrong kind are
 * issues at their place, and are left out; everything else is kept.
 */

import type { Issue, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import { didYouMean, nearestName } from '../../model/nearestName.ts';
import { decodeQuoted } from '../protobuf-text/decodeQuoted.ts';
import type { TextField, TextMessage, TextValue } from '../protobuf-text/syntax.ts';
import { presentLayerType } from './layerTypes.ts';
import { findMessage, openMessage, uncheckedMessage } from './messages.ts';
import type { FieldSchema, FieldType } from './schema.ts';
import type { CaffeField, CaffeMessage, CaffeValue } from './syntax.ts';

export interface MessageReading {
  readonly text: string;
  report(issue: Issue): void;
  /**
   * Takes a field that cannot be a part of this message, but begins something that stands after it: a layer inside a
   * layer whose brace is missing. False where it is a field like any other.
   */
  takesStray(field: TextField): boolean;
}

export function readMessage(
  reading: MessageReading,
  message: TextMessage,
  span: TextSpan,
  type: string,
): CaffeMessage {
  const schema = findMessage(type)?.fields ?? new Map<string, FieldSchema>();
  const fields = new Map<string, CaffeField & { readonly values: CaffeValue[] }>();
  if (type === uncheckedMessage) return { fields, schema, span };
  const isOpen = type === openMessage;
  for (const written of message.fields) {
    if (reading.takesStray(written)) continue;
    const hint = schema.has(written.name) || isOpen ? '' : hintOf(written.name, schema);
    const field = schema.get(written.name) ?? fieldOfFork(written, type, hint);
    if (field === undefined) {
      problem(
        reading,
        'caffe/unknown-field',
        `${type} has no field \`${written.name}\`, so it is skipped${hint}`,
        written.nameSpan,
        // A name that is like none of them is a fork's, and no slip of the pen.
        hint === '' ? 'information' : 'warning',
      );
      continue;
    }
    const entry = fields.get(written.name) ?? { nameSpan: written.nameSpan, values: [] };
    fields.set(written.name, entry);
    const values = written.value.kind === 'list' ? written.value.values : [written.value];
    for (const value of values) {
      const read = readValue(reading, field, value);
      if (read === undefined) continue;
      if (entry.values.length === 1 && !field.repeated) {
        problem(
          reading,
          'caffe/value',
          `\`${field.name}\` is given twice, but takes one value: remove one`,
          value.span,
        );
      }
      entry.values.push(read);
    }
  }
  return { fields, schema, span };
}

/** What was meant by a field that is not known. Messages of layers all end alike, which makes no two of them near. */
function hintOf(name: string, schema: ReadonlyMap<string, FieldSchema>): string {
  if (!name.endsWith(messageEnding)) return didYouMean(name, schema.keys());
  const stems = [...schema.keys()].flatMap((key) =>
    key.endsWith(messageEnding) ? [key.slice(0, -messageEnding.length)] : [],
  );
  const meant = nearestName(name.slice(0, -messageEnding.length), stems);
  return meant === undefined ? '' : didYouMean(name, [meant + messageEnding]);
}

const messageEnding = '_param';

/** A message that a fork adds to its layers, and every field in it. A name like a known one is a slip of the pen. */
function fieldOfFork({ name, value }: TextField, type: string, hint: string): FieldSchema | undefined {
  const isParameter = type === 'LayerParameter' && name.endsWith(messageEnding) && hint === '';
  if (!isParameter && type !== openMessage) return undefined;
  const isMessage =
    value.kind === 'message' || (value.kind === 'list' && value.values[0]?.kind === 'message');
  const kind: FieldType = isMessage ? { kind: 'message', message: openMessage } : { kind: 'open' };
  return { name, type: kind, repeated: true, default: undefined, documentation: '' };
}

function readValue(reading: MessageReading, field: FieldSchema, value: TextValue): CaffeValue | undefined {
  const { type } = field;
  const { span } = value;
  const refuse = (wanted: string, hint = ''): undefined => {
    const shown = reading.text.slice(span.start, span.end).split('\n')[0]?.slice(0, 40) ?? '';
    const found =
      value.kind === 'message' ? 'a message' : `\`${value.kind === 'quoted' ? `${shown}"` : shown}\``;
    return problem(reading, 'caffe/value', `\`${field.name}\` takes ${wanted}, not ${found}${hint}`, span);
  };
  switch (type.kind) {
    case 'message':
      if (value.kind !== 'message') return refuse(`fields in braces: \`${field.name} { … }\``);
      return { kind: 'message', value: readMessage(reading, value.message, span, type.message), span };
    case 'string': {
      if (value.kind !== 'quoted') return refuse(`a text in quotes: \`${field.name}: "…"\``);
      const first = value.pieces[0]?.start ?? span.start;
      const text = new TextDecoder().decode(decodeQuoted(reading.text, value.pieces));
      return { kind: 'text', value: text, span: { start: first, end: Math.max(first, span.end) } };
    }
    case 'open': {
      if (value.kind === 'quoted') return readValue(reading, { ...field, type: { kind: 'string' } }, value);
      if (value.kind !== 'scalar') return undefined;
      const number = floatNumber(value.text);
      const flag = /^[A-Za-z]/.test(value.text) ? booleans.get(value.text) : undefined;
      if (number !== undefined) return { kind: 'number', value: number, span };
      if (flag !== undefined) return { kind: 'bool', value: flag, span };
      return { kind: 'text', value: value.text, span };
    }
    case 'word':
      return value.kind === 'scalar' ? { kind: 'text', value: value.text, span } : refuse('a name');
    case 'enum': {
      const names = type.values.filter((name) => name !== '');
      const named = value.kind === 'scalar' ? enumValue(type.values, value.text) : undefined;
      if (named !== undefined) return { kind: 'text', value: named, span };
      const hint = value.kind === 'scalar' ? didYouMean(value.text, names) : '';
      // Types of layers are names that forks add to; the rest of the net is read.
      if (value.kind === 'scalar' && field.name === 'type' && /^[A-Z][A-Z0-9_]*$/.test(value.text)) {
        const isForks = hint === '' || presentLayerType(value.text) !== undefined;
        if (isForks) return { kind: 'text', value: value.text, span };
      }
      const few = names.length > 8 ? `a name such as ${names.slice(3, 6).join(', ')}` : names.join(', ');
      return refuse(few, hint);
    }
    case 'bool': {
      const known = value.kind === 'scalar' ? booleans.get(value.text) : undefined;
      return known === undefined ? refuse('true or false') : { kind: 'bool', value: known, span };
    }
    case 'whole':
    case 'integer': {
      const number = value.kind === 'scalar' ? wholeNumber(value.text) : undefined;
      if (number === undefined || (type.kind === 'whole' && number < 0)) {
        return refuse(type.kind === 'whole' ? 'a whole number from 0' : 'a whole number');
      }
      return { kind: 'number', value: number, span };
    }
    case 'float': {
      const number = value.kind === 'scalar' ? floatNumber(value.text) : undefined;
      return number === undefined ? refuse('a number') : { kind: 'number', value: number, span };
    }
  }
}

/** A value by its name, or by its number. */
function enumValue(values: readonly string[], text: string): string | undefined {
  const number = wholeNumber(text);
  const named = number === undefined ? text : values[number];
  return named !== undefined && named !== '' && values.includes(named) ? named : undefined;
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['t', true],
  ['1', true],
  ['false', false],
  ['False', false],
  ['f', false],
  ['0', false],
]);

/** Decimal, hexadecimal or octal, as protobuf writes integers. */
function wholeNumber(text: string): number | undefined {
  const decimal = /^-?(0|[1-9]\d*)$/.test(text) ? Number(text) : undefined;
  const based = /^(-?)(0[xX][0-9a-fA-F]+|0[0-7]+)$/.exec(text);
  const digits = based?.[2] ?? '';
  const value = /^0[xX]/.test(digits) ? Number(digits) : Number.parseInt(digits, 8);
  const number = decimal ?? (based === null ? undefined : based[1] === '-' ? -value : value);
  return number !== undefined && Number.isSafeInteger(number) ? number : undefined;
}

function floatNumber(text: string): number | undefined {
  if (/^-?inf(inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (/^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fF]?$/.test(text)) return Number(text.replace(/[fF]$/, ''));
  return undefined;
}

function problem(
  reading: MessageReading,
  code: IssueCode,
  message: string,
  span: TextSpan,
  severity: Issue['severity'] = 'error',
): undefined {
  reading.report({ code, severity, message, span });
  return undefined;
}
