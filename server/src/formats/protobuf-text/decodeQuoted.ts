/** Quoted pieces of protobuf text as bytes: UTF-8 with C escapes (protobuf.dev, "String Literals"). */

import type { TextSpan } from '../../model/issue.ts';

const encoder = new TextEncoder();

/** The bytes of the pieces together. An escape that protobuf does not know stands for the character after it. */
export function decodeQuoted(text: string, pieces: readonly TextSpan[]): Uint8Array {
  const parts = pieces.map((piece) => decodePiece(text.slice(piece.start, piece.end)));
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first;
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** How many bytes the pieces stand for; nothing is decoded or held. */
export function measureQuoted(text: string, pieces: readonly TextSpan[]): number {
  let count = 0;
  for (const { start, end } of pieces) {
    for (let index = start; index < end; ) {
      const code = text.charCodeAt(index);
      if (code === 0x5c) {
        // Tensors are mostly octal escapes, which are counted without being made.
        const octalEnd = endOfOctal(text, index + 1, end);
        if (octalEnd > index + 1) {
          count += 1;
          index = octalEnd;
          continue;
        }
        const { next, bytes } = readEscape(text, index, end);
        count += typeof bytes === 'number' ? 1 : bytes.length;
        index = next;
      } else {
        // A surrogate pair is four bytes of UTF-8, two for each half.
        count += code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
        index += 1;
      }
    }
  }
  return count;
}

/** End of up to three octal digits; `start` where there are none. */
function endOfOctal(text: string, start: number, end: number): number {
  const last = Math.min(start + 3, end);
  let index = start;
  while (index < last) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x37) break;
    index += 1;
  }
  return index;
}

function decodePiece(piece: string): Uint8Array {
  if (!piece.includes('\\')) return encoder.encode(piece);
  const bytes: number[] = [];
  let from = 0;
  for (let index = piece.indexOf('\\'); index >= 0; index = piece.indexOf('\\', from)) {
    for (const byte of encoder.encode(piece.slice(from, index))) bytes.push(byte);
    const escaped = readEscape(piece, index, piece.length);
    if (typeof escaped.bytes === 'number') bytes.push(escaped.bytes);
    else for (const byte of escaped.bytes) bytes.push(byte);
    from = escaped.next;
  }
  for (const byte of encoder.encode(piece.slice(from))) bytes.push(byte);
  return Uint8Array.from(bytes);
}

interface Escape {
  /** Where the text goes on. */
  readonly next: number;
  readonly bytes: number | Uint8Array;
}

function readEscape(text: string, backslash: number, end: number): Escape {
  const octalEnd = endOfOctal(text, backslash + 1, end);
  if (octalEnd > backslash + 1) {
    return { next: octalEnd, bytes: Number.parseInt(text.slice(backslash + 1, octalEnd), 8) & 0xff };
  }
  const letter = text.charAt(backslash + 1);
  const simple = simpleEscapes[letter];
  if (simple !== undefined) return { next: backslash + 2, bytes: simple };
  const pattern =
    letter === 'x' || letter === 'X' ? hex : letter === 'u' ? short : letter === 'U' ? long : none;
  pattern.lastIndex = backslash + 1;
  const found = pattern.exec(text);
  const digits = found?.[1];
  if (digits !== undefined && pattern.lastIndex <= end) {
    const value = Number.parseInt(digits, 16);
    const isCodePoint = pattern === short || pattern === long;
    const bytes = isCodePoint
      ? encoder.encode(String.fromCodePoint(Math.min(value, 0x10ffff)))
      : value & 0xff;
    return { next: pattern.lastIndex, bytes };
  }
  const code = text.codePointAt(backslash + 1);
  if (code === undefined || backslash + 1 >= end) return { next: end, bytes: 0x5c };
  const character = String.fromCodePoint(code);
  return { next: backslash + 1 + character.length, bytes: encoder.encode(character) };
}

const simpleEscapes: Readonly<Record<string, number>> = {
  a: 0x07,
  b: 0x08,
  f: 0x0c,
  n: 0x0a,
  r: 0x0d,
  t: 0x09,
  v: 0x0b,
  '?': 0x3f,
  '\\': 0x5c,
  "'": 0x27,
  '"': 0x22,
};
/** Of no other letter. */
const none = /(?!)/y;
const hex = /[xX]([0-9a-fA-F]{1,2})/y;
const short = /u([0-9a-fA-F]{4})/y;
const long = /U([0-9a-fA-F]{8})/y;
