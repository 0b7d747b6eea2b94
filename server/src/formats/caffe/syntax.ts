/** The syntax tree of a Caffe net: fields by name, each value with its place. */

import type { TextSpan } from '../../model/issue.ts';
import type { FieldSchema } from './schema.ts';

export interface CaffeNet {
  readonly name: string;
  readonly fields: CaffeMessage;
  readonly layers: readonly CaffeLayer[];
}

export interface CaffeLayer {
  /** '' where the net gives none. */
  readonly name: string;
  /** As BVLC Caffe writes it now, such as `Convolution`: older upper-case types are translated. */
  readonly type: string;
  readonly bottoms: readonly Word[];
  readonly tops: readonly Word[];
  readonly fields: CaffeMessage;
  /** Rate of each parameter: `lr_mult`, or `blobs_lr` of older nets. */
  readonly parameters: readonly ParameterSpec[];
  /** From the word `layer` to the closing brace. */
  readonly span: TextSpan;
  /** What a message about the layer as a whole underlines: its name, else the word `layer`. */
  readonly nameSpan: TextSpan;
  readonly typeSpan: TextSpan;
}

export interface ParameterSpec {
  /** Parameters of one name are shared; '' for none. */
  readonly name: string;
  readonly learningRate: number;
  /** Whether a sharer may have another shape of as many elements. */
  readonly permissive: boolean;
  readonly span: TextSpan;
}

export interface Word {
  readonly text: string;
  readonly span: TextSpan;
}

export interface CaffeMessage {
  /** Values in order of writing. A field the message does not have is not here. */
  readonly fields: ReadonlyMap<string, CaffeField>;
  readonly schema: ReadonlyMap<string, FieldSchema>;
  readonly span: TextSpan;
}

export interface CaffeField {
  readonly nameSpan: TextSpan;
  readonly values: readonly CaffeValue[];
}

export type CaffeValue =
  | { readonly kind: 'number'; readonly value: number; readonly span: TextSpan }
  | { readonly kind: 'bool'; readonly value: boolean; readonly span: TextSpan }
  /** A quoted text, or the name of an enumeration's value. */
  | { readonly kind: 'text'; readonly value: string; readonly span: TextSpan }
  | { readonly kind: 'message'; readonly value: CaffeMessage; readonly span: TextSpan };

/** The last value of a field, as protobuf takes it, or its default. */
export function numberOf(message: CaffeMessage | undefined, name: string): number | undefined {
  const value = lastValue(message, name);
  if (value?.kind === 'number') return value.value;
  const standard = message?.schema.get(name)?.default;
  return typeof standard === 'number' ? standard : undefined;
}

/** What Caffe takes where the field is left out and the schema gives no default. */
export const numberOr = (message: CaffeMessage | undefined, name: string, standard: number): number =>
  numberOf(message, name) ?? standard;

export function numbersOf(message: CaffeMessage | undefined, name: string): readonly number[] {
  const values = message?.fields.get(name)?.values ?? [];
  return values.flatMap((value) => (value.kind === 'number' ? [value.value] : []));
}

export function booleanOf(message: CaffeMessage | undefined, name: string): boolean | undefined {
  const value = lastValue(message, name);
  if (value?.kind === 'bool') return value.value;
  const standard = message?.schema.get(name)?.default;
  return typeof standard === 'boolean' ? standard : undefined;
}

export function textOf(message: CaffeMessage | undefined, name: string): string | undefined {
  const value = lastValue(message, name);
  if (value?.kind === 'text') return value.value;
  const standard = message?.schema.get(name)?.default;
  return typeof standard === 'string' ? standard : undefined;
}

export function wordsOf(message: CaffeMessage | undefined, name: string): readonly Word[] {
  const values = message?.fields.get(name)?.values ?? [];
  return values.flatMap((value) => (value.kind === 'text' ? [{ text: value.value, span: value.span }] : []));
}

export function messageOf(message: CaffeMessage | undefined, name: string): CaffeMessage | undefined {
  const value = lastValue(message, name);
  return value?.kind === 'message' ? value.value : undefined;
}

export function messagesOf(message: CaffeMessage | undefined, name: string): readonly CaffeMessage[] {
  const values = message?.fields.get(name)?.values ?? [];
  return values.flatMap((value) => (value.kind === 'message' ? [value.value] : []));
}

/** Where the value of a field is written; `undefined` where the field is left out. */
export function spanOf(message: CaffeMessage | undefined, name: string): TextSpan | undefined {
  return lastValue(message, name)?.span;
}

/** Whether a field is written with no value it takes, which was said where it was read. */
export const wasRefused = (message: CaffeMessage | undefined, name: string): boolean =>
  message?.fields.get(name)?.values.length === 0;

const lastValue = (message: CaffeMessage | undefined, name: string): CaffeValue | undefined =>
  message?.fields.get(name)?.values.at(-1);
