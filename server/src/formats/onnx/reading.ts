/** What the readers of all messages share: the bytes, the issues, and the care for fields nobody asked for. */

import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import { type ElementType, elementTypeOfNumber } from '../../model/elementType.ts';
import type { Issue } from '../../model/issue.ts';
import { leavesOut } from '../../model/issueCodes.ts';
import { OperatorSetIdProto, StringStringEntryProto } from './fields.ts';
import type { OnnxGraph, OnnxType } from './syntax.ts';
import { type WireReader, wireTypes } from './wireReader.ts';

/** Offsets in the file. */
export interface PayloadRange {
  readonly start: number;
  readonly end: number;
}

export interface ReadAttribute {
  readonly name: string;
  readonly attribute: Attribute<OnnxGraph>;
  /** A node's attributes where this is the only one. */
  readonly alone: ReadonlyMap<string, Attribute<OnnxGraph>>;
}

type FieldTable = Readonly<Record<string, number>>;

/** A file that is odd in more ways than this is no better understood by a longer list. */
const mostIssues = 100;

/** Longest text kept of a value that nothing is computed from, in bytes. */
const longestText = 64 * 1024;

/** PyTorch's exporter lists all parameters of the model in one entry of the graph, 100 bytes for each. */
const longestSignature = 4 * 1024 * 1024;

export class Reading {
  readonly wire: WireReader;
  readonly issues: Issue[] = [];
  /** Offset of the first field of the model itself that has another wire type than ONNX gives it. */
  mistypedModelField: number | undefined;
  readonly #reported = new Set<string>();
  readonly #entries = new Map<string, { readonly key: string; readonly value: string }>();
  /** Attributes and types that were read, by the bytes of their message. */
  readonly attributes = new Map<string, ReadAttribute>();
  readonly types = new Map<string, OnnxType | undefined>();
  /** Descriptions (`doc_string`) below the model that were skipped: they change no cost. */
  descriptions = 0;
  /** Where the raw bytes of tensors lie that are too large to keep. */
  readonly payloads = new Map<TensorLiteral, PayloadRange>();
  /** Paths of external data that were looked at and stay beside the model: all tensors name the same few. */
  readonly insidePaths = new Set<string>();

  /** Where an offset is, to follow a message: "at byte 12", or its place in the text that the bytes stand for. */
  readonly at: (offset: number) => string;

  constructor(wire: WireReader, at: (offset: number) => string) {
    this.wire = wire;
    this.at = at;
  }

  /** Adds an issue unless one with this key is there: a model repeats itself a thousand times. */
  report(key: string, issue: Issue): void {
    if (this.#reported.has(key)) return;
    const isNeeded = issue.severity === 'error' && leavesOut(issue.code);
    if (!isNeeded && this.issues.length >= mostIssues) return;
    this.#reported.add(key);
    this.issues.push(issue);
  }

  /** Skips the current field, and reports it where the message's table does not have it. */
  skip(message: string, table: FieldTable): void {
    const { field, fieldOffset } = this.wire;
    this.wire.skip();
    if (field === table.doc_string) this.descriptions += 1;
    if (this.wire.problem !== undefined || fieldNumbers(table).has(field)) return;
    this.report(`${message}.${field}`, {
      code: 'onnx/unknown-field',
      severity: 'warning',
      message: `Field ${field} of ${message} ${this.at(fieldOffset)} is unknown and was skipped: if it changes the computation, the cost differs`,
    });
  }

  /** Whether the current field has this wire type; where it has not, it is skipped as an unknown one. */
  expect(message: string, wireType: number): boolean {
    const { wire } = this;
    if (wire.wireType === wireType) return true;
    const { field, fieldOffset } = wire;
    if (message === 'ModelProto') this.mistypedModelField ??= fieldOffset;
    wire.skip();
    if (wire.problem === undefined) {
      this.report(`${message}.${field} wire type`, {
        code: 'onnx/unknown-field',
        severity: 'error',
        message: `Field ${field} of ${message} ${this.at(fieldOffset)} is not encoded as ONNX requires and was skipped: export the model again`,
      });
    }
    return false;
  }

  integer(message: string): number {
    return this.expect(message, wireTypes.varint) ? this.wire.signed() : 0;
  }

  string(message: string): string {
    return this.expect(message, wireTypes.length) ? this.wire.string() : '';
  }

  /** A string that is hardly met again. */
  uniqueString(message: string): string {
    return this.expect(message, wireTypes.length) ? this.wire.uniqueString() : '';
  }

  /** A string that may be a file by itself; a long one is skipped and described. */
  boundedString(
    message: string,
    longest = longestText,
  ): { readonly text: string; readonly skippedBytes: number } {
    const { wire } = this;
    if (!this.expect(message, wireTypes.length)) return { text: '', skippedBytes: 0 };
    const start = wire.position;
    const end = wire.lengthDelimited();
    const skippedBytes = end - wire.position;
    if (skippedBytes > longest) {
      wire.position = end;
      return { text: '', skippedBytes };
    }
    wire.position = start;
    return { text: wire.string(), skippedBytes: 0 };
  }

  /**
   * What `read` makes of the message that ends at `end`, which is read once however often it stands in the file.
   * `known` holds what was made of messages of this type.
   */
  once<T>(known: Map<string, T>, end: number, read: () => T): T {
    const { wire } = this;
    const key = wire.messageKey(end);
    const before = key === undefined ? undefined : known.get(key);
    if (before !== undefined) {
      wire.position = end;
      return before;
    }
    const made = read();
    if (key !== undefined && wire.problem === undefined) known.set(key, made);
    return made;
  }

  /** End of the nested message that is the current field; `undefined` where the field is no message. */
  message(message: string): number | undefined {
    return this.expect(message, wireTypes.length) ? this.wire.lengthDelimited() : undefined;
  }

  /** Appends the numbers of a repeated integer field, packed or not, up to `limit`; returns how many there were. */
  integers(message: string, into: number[], limit: number): number {
    const { wire } = this;
    if (wire.wireType !== wireTypes.length) {
      const value = this.integer(message);
      if (into.length < limit) into.push(value);
      return 1;
    }
    const end = wire.lengthDelimited();
    let count = 0;
    while (wire.nextElement(end)) {
      const value = wire.signed();
      if (into.length < limit) into.push(value);
      count += 1;
    }
    return count;
  }

  floats(message: string, into: number[], limit: number): number {
    const { wire } = this;
    if (wire.wireType !== wireTypes.length) {
      if (!this.expect(message, wireTypes.fixed32)) return 0;
      const value = wire.float32();
      if (into.length < limit) into.push(value);
      return 1;
    }
    const end = wire.lengthDelimited();
    const count = Math.floor((end - wire.position) / 4);
    while (wire.problem === undefined && wire.position + 4 <= end && into.length < limit) {
      into.push(wire.float32());
    }
    wire.position = end;
    return count;
  }

  /** Adds one key and value to a map. */
  entry(message: string, into: Map<string, string>): void {
    const end = this.message(message);
    if (end === undefined) return;
    const { key, value } = this.once(this.#entries, end, () =>
      this.#entry(end, message === 'GraphProto' ? longestSignature : longestText),
    );
    into.set(key, value);
  }

  #entry(end: number, longest: number): { readonly key: string; readonly value: string } {
    let key = '';
    let value = '';
    while (this.wire.nextField(end)) {
      if (this.wire.field === StringStringEntryProto.key) {
        key = this.string('StringStringEntryProto');
      } else if (this.wire.field === StringStringEntryProto.value) {
        const read = this.boundedString('StringStringEntryProto', longest);
        value = read.skippedBytes === 0 ? read.text : `(${read.skippedBytes} bytes)`;
      } else {
        this.skip('StringStringEntryProto', StringStringEntryProto);
      }
    }
    return { key, value };
  }

  operatorSet(message: string): { readonly domain: string; readonly version: number } | undefined {
    const end = this.message(message);
    if (end === undefined) return undefined;
    let domain = '';
    let version = 0;
    while (this.wire.nextField(end)) {
      if (this.wire.field === OperatorSetIdProto.domain) domain = this.string('OperatorSetIdProto');
      else if (this.wire.field === OperatorSetIdProto.version) version = this.integer('OperatorSetIdProto');
      else this.skip('OperatorSetIdProto', OperatorSetIdProto);
    }
    return { domain, version };
  }

  /** The element type with this number; reports one that is not known. */
  elementType(dataType: number, where: string): ElementType {
    const type = elementTypeOfNumber(dataType);
    if (type !== undefined) return type;
    this.report(`element type ${dataType}`, {
      code: 'onnx/unknown-element-type',
      severity: 'warning',
      message: `Element type ${dataType} of ${where} is unknown: its size is counted as unknown`,
    });
    return 'undefined';
  }
}

const numbersByTable = new WeakMap<FieldTable, ReadonlySet<number>>();

function fieldNumbers(table: FieldTable): ReadonlySet<number> {
  let numbers = numbersByTable.get(table);
  if (numbers === undefined) {
    numbers = new Set(Object.values(table));
    numbersByTable.set(table, numbers);
  }
  return numbers;
}
