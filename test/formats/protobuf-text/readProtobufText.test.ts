import { describe, expect, test } from 'vitest';
import { decodeQuoted, measureQuoted } from '../../../server/src/formats/protobuf-text/decodeQuoted.ts';
import { readProtobufText } from '../../../server/src/formats/protobuf-text/readProtobufText.ts';
import type { TextMessage, TextValue } from '../../../server/src/formats/protobuf-text/syntax.ts';

/** The tree as nested arrays: names with texts, quoted pieces decoded. */
function plain(text: string, message: TextMessage | undefined): unknown {
  return message?.fields.map(({ name, value }) => [name, plainValue(text, value)]);
}

function plainValue(text: string, value: TextValue): unknown {
  switch (value.kind) {
    case 'message':
      return plain(text, value.message);
    case 'scalar':
      return value.text;
    case 'quoted':
      return { quoted: new TextDecoder().decode(decodeQuoted(text, value.pieces)) };
    case 'list':
      return { list: value.values.map((each) => plainValue(text, each)) };
  }
}

test.each<[text: string, tree: unknown]>([
  ['', []],
  ['# only a comment', []],
  ['a: 1', [['a', '1']]],
  [
    'a: -1.5e3f b: TRUE; c: inf, d: 0x1F',
    [
      ['a', '-1.5e3f'],
      ['b', 'TRUE'],
      ['c', 'inf'],
      ['d', '0x1F'],
    ],
  ],
  ['a: - 1', [['a', '-1']]],
  [
    'a { b: 1 } # comment\nc < d: 2 >',
    [
      ['a', [['b', '1']]],
      ['c', [['d', '2']]],
    ],
  ],
  ['a: { b: 1 }', [['a', [['b', '1']]]]],
  ['a: [1, 2]', [['a', { list: ['1', '2'] }]]],
  ['a: []', [['a', { list: [] }]]],
  ['a [{ b: 1 }, { b: 2 }]', [['a', { list: [[['b', '1']], [['b', '2']]] }]]],
  ['a: 1 a: 2 a: 3', [['a', { list: ['1', '2', '3'] }]]],
  [
    'a: 1 b: 2 a: 3',
    [
      ['a', '1'],
      ['b', '2'],
      ['a', '3'],
    ],
  ],
  [`a: "x" 'y'\n"z"`, [['a', { quoted: 'xyz' }]]],
  [
    'a: "x" a: "y"',
    [
      ['a', { quoted: 'x' }],
      ['a', { quoted: 'y' }],
    ],
  ],
  [
    '[google.rpc.error] { a: 1 } 12: 3',
    [
      ['[google.rpc.error]', [['a', '1']]],
      ['12', '3'],
    ],
  ],
])('%j', (text, tree) => {
  const { message, problem } = readProtobufText(text);
  expect(problem).toBeUndefined();
  expect(plain(text, message)).toEqual(tree);
});

test.each([
  ['a', '', /^`:` or `\{` expected, the end of the text found: a field is written/],
  ['a: ', '', /^A value expected, the end of the text found/],
  ['a b', 'b', /^`:` or `\{` expected, `b` found/],
  ['a { b: 1', '{', /^A message has no end: close it with `\}`/],
  ['a: "b', '"', /^A quoted text has no end: close it with `"`/],
  ['a: [1 2]', '2', /^`,` or `\]` expected, `2` found/],
  ['{ }', '{', /^The name of a field expected, `\{` found/],
  ['a: }', '}', /^A value expected/],
])('what is wrong with %j', (text, underlined, expected) => {
  const { message, problem } = readProtobufText(text);
  expect(message).toBeUndefined();
  expect(problem?.message).toMatch(expected);
  expect(text.slice(problem?.span.start, problem?.span.end)).toBe(underlined);
});

test('nesting has an end', () => {
  expect(readProtobufText('a{'.repeat(10_000)).problem?.message).toContain('levels deep');
  expect(readProtobufText(`a: ${'['.repeat(10_000)}`).problem?.message).toContain('not a list');
});

test('of a long run of numbers the first are kept and the rest counted', () => {
  const text = 'a: 1\n'.repeat(70_000);
  const value = readProtobufText(text).message?.fields[0]?.value;
  if (value?.kind !== 'list') throw new Error('no list');
  expect(value.values.length + value.omitted).toBe(70_000);
  expect(value.omitted).toBeGreaterThan(0);
});

describe('quoted bytes', () => {
  test.each<[quoted: string, bytes: readonly number[]]>([
    ['abc', [97, 98, 99]],
    ['\\000\\377\\1', [0, 255, 1]],
    ['\\x00\\xfF\\x1g', [0, 255, 1, 103]],
    ['\\n\\t\\r\\"\\\'\\\\\\a\\?', [10, 9, 13, 34, 39, 92, 7, 63]],
    ['µ名😀', [...new TextEncoder().encode('µ名😀')]],
    ['\\u00b5\\U0001F600', [...new TextEncoder().encode('µ😀')]],
    ['\\q', [113]],
    ['\\400', [0]],
  ])('%s', (quoted, bytes) => {
    const pieces = [{ start: 0, end: quoted.length }];
    expect([...decodeQuoted(quoted, pieces)]).toEqual(bytes);
    expect(measureQuoted(quoted, pieces)).toBe(bytes.length);
  });
});
