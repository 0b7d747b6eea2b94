/** Textual forms of ONNX, and texts that are nothing. */

import { joinBytes } from '../../support/onnxBytes.ts';
import {
  type HostileInput,
  header,
  json,
  megabyte,
  megabyteOf,
  onnxText,
  protobufText,
  row,
  text,
} from './rows.ts';

const graphText = `${header}g (float[2] x) => (float[2] y)`;
const protobufHeader = 'ir_version: 8 opset_import { version: 17 }';
const jsonHeader = '{"irVersion":"8","opsetImport":[{"version":"17"}]';

export const textRows: readonly HostileInput[] = [
  ...[
    '<',
    '>',
    '{',
    '}',
    '(',
    '[',
    ',',
    '"',
    '=',
    '@',
    '-',
    '#',
    'a',
    '1',
    '0x',
    'a ',
    ': ',
    'seq(',
    '\\',
  ].map((token) => onnxText(`a megabyte of \`${token}\``, () => header + megabyte(token))),
  onnxText('a megabyte of commas in a signature', () => `${header}g (${megabyte(',')}`),
  onnxText('a megabyte of quotes in a signature', () => `${header}g (${megabyte('"')}`),
  onnxText('a name of a megabyte of backslashes', () => `${header}g ("${megabyte('\\')}`),
  onnxText('a megabyte of inputs', () => `${header}g (${megabyte('float[2] x, ')}float y) => () {}`),
  onnxText('a megabyte of dimensions', () => `${header}g (float[${megabyte('N,')}2] x) => () {}`),
  onnxText('a megabyte of nodes', () => `${graphText} {\n${megabyte((index) => `y${index} = Relu(x)\n`)}}`),
  onnxText('a megabyte of nodes on one line', () => `${graphText} { ${megabyte('y=A(x)')}}`),
  onnxText(
    'a megabyte of nodes whose batch can be opened',
    () => `${header}g (float[2] x) => (float[2] y7) {\n${megabyte((index) => `y${index} = Relu(x)\n`)}}`,
  ),
  onnxText(
    'a megabyte of the shortest nodes, each with a value of its own',
    () => `${graphText} { ${megabyte((index) => `y${index.toString(36)}=A(x)`)}}`,
  ),
  onnxText('a megabyte of wrong nodes', () => `${graphText} {\n${megabyte('y = Relu(x\n')}}`),
  onnxText('a megabyte of wrong lines', () => `${graphText} {\n${megabyte('?\n')}}`),
  onnxText(
    'a megabyte of nodes of wrong attributes',
    () => `${graphText} {\n${megabyte('y = A <a = > (x)\n')}}`,
  ),
  onnxText('a megabyte of arguments', () => `${graphText} { y = Concat(${megabyte('x,')}x) }`),
  onnxText(
    'a megabyte of attributes',
    () => `${graphText} { y = A<${megabyte((index) => `a${index}=1,`)}b=1>(x) }`,
  ),
  onnxText('a megabyte of strings', () => `${graphText} { y = A<a=[${megabyte('"s",')}"s"]>(x) }`),
  onnxText(
    'a megabyte of functions',
    () =>
      `${graphText} { y = Relu(x) }\n${megabyte((index) => `<domain: "d">f${index}(x)=>(y){y=Relu(x)}\n`)}`,
  ),
  onnxText(
    'a megabyte of metadata',
    () => `<ir_version: 10, metadata_props: [${megabyte('"a": "b",')}"c": "d"]>\n`,
  ),
  onnxText(
    'a tensor of a megabyte of numbers',
    () => `${graphText} <int64[500000] w = {${megabyte('1,')}1}> { y = Reshape(x, w) }`,
  ),
  onnxText(
    'a tensor of a megabyte of one number',
    () => `${graphText} <int64[1] w = {${megabyte('1')}}> { y = Reshape(x, w) }`,
  ),
  onnxText(
    'a tensor of fewer numbers than it says',
    () => `${graphText} <int64[9007199254740993] w = {1, 2}> { y = Reshape(x, w) }`,
  ),
  onnxText('a megabyte of comments', () => header + megabyte('# a\n')),
  ...['{', '}', '[', '<', ':', ',', '"', "'", '-', '#', 'a', '1', 'a:', 'a:1 ', 'a{}', '"a" ', '\\'].map(
    (token) => protobufText(`a megabyte of \`${token}\``, () => `ir_version: 8 ${megabyte(token)}`),
  ),
  protobufText('a megabyte of open braces', () => `ir_version: 8 ${megabyte('graph {')}`),
  protobufText('a megabyte of open lists', () => `ir_version: 8 graph { name: ${megabyte('[')}`),
  protobufText('a string in a megabyte of pieces', () => `ir_version: 8 graph { name: ${megabyte('"a" ')} }`),
  protobufText(
    'a string of a megabyte of escapes',
    () => `ir_version: 8 graph { name: "${megabyte('\\x')}" }`,
  ),
  protobufText(
    'a megabyte of strings of one backslash before the quote',
    () => `ir_version: 8 graph { name: "${megabyte('\\"')}`,
  ),
  protobufText('a megabyte of unknown fields', () => `ir_version: 8 ${megabyte((index) => `f${index}: 1 `)}`),
  protobufText(
    'a megabyte of unknown messages',
    () => `ir_version: 8 ${megabyte((index) => `f${index} {} `)}`,
  ),
  protobufText('a megabyte of names', () => `ir_version: 8 graph { ${megabyte('name: "a" ')} }`),
  protobufText('a megabyte of empty nodes', () => `${protobufHeader} graph { ${megabyte('node{}')} }`),
  protobufText(
    'a megabyte of nodes',
    () => `${protobufHeader} graph { ${megabyte('node { op_type: "Relu" } ')} }`,
  ),
  protobufText(
    'a megabyte of nodes with values',
    () =>
      `${protobufHeader} graph { ${megabyte((index) => `node{op_type:"Relu" input:"v${index}" output:"v${index + 1}"}`)} }`,
  ),
  protobufText(
    'a megabyte of inputs',
    () => `${protobufHeader} graph { node { op_type: "A" input: [${megabyte('"x",')} "x"] } }`,
  ),
  protobufText(
    'a megabyte of dims',
    () => `${protobufHeader} graph { initializer { name: "w" data_type: 1 ${megabyte('dims:2 ')} } }`,
  ),
  protobufText(
    'a megabyte of elements under two names in turn',
    () =>
      `${protobufHeader} graph { initializer { name: "w" data_type: 1 ${megabyte('dims:2 data_type:1 ')} } }`,
  ),
  protobufText(
    'numbers past every number',
    () =>
      'ir_version: 99999999999999999999999 graph { initializer { dims: -99999999999999999999 dims: 1e400 data_type: 99999999999 } }',
  ),
  protobufText('a number of a megabyte', () => `ir_version: ${megabyte('9')}`),
  ...['[', '{', '{"a":', '"', '\\', '[],', '{},', '1', ' '].map((token) =>
    json(`a megabyte of \`${token}\``, () => `{"irVersion":"8","graph":${megabyte(token)}`),
  ),
  json('a megabyte of digits', () => `{"irVersion": ${megabyte('9')}}`),
  json('a megabyte of digits in quotes', () => `{"irVersion": "${megabyte('9')}"}`),
  json('a megabyte of escapes', () => `{"irVersion": "8", "graph": {"name": "${megabyte('\\u0041')}"}}`),
  json(
    'a megabyte of lone surrogates',
    () => `{"irVersion": "8", "graph": {"name": "${megabyte('\\ud800')}"}}`,
  ),
  json('a megabyte of empty nodes', () => `${jsonHeader},"graph":{"node":[${megabyte('{},')}{}]}}`),
  json('a megabyte of nodes', () => `${jsonHeader},"graph":{"node":[${megabyte('{"opType":"Relu"},')}{}]}}`),
  json('a megabyte of nulls', () => `${jsonHeader},"graph":{"node":[${megabyte('null,')}null]}}`),
  json('a megabyte of lists', () => `${jsonHeader},"graph":{"node":[${megabyte('[],')}[]]}}`),
  json(
    'a megabyte of unknown keys',
    () => `${jsonHeader},"graph":{${megabyte((index) => `"k${index}":0,`)}"k":0}}`,
  ),
  json('one key again and again', () => `{"irVersion":"8",${megabyte('"graph":{"name":"a"},')}"graph":{}}`),
  json(
    'keys that every object has',
    () =>
      '{"irVersion":"8","__proto__":{"graph":{}},"constructor":1,"graph":{"__proto__":{"node":[{}]},"toString":[],"node":[{"opType":"Relu","__proto__":{"input":["x"]}}]}}',
  ),
  json(
    'a payload of a megabyte that is no base64',
    () =>
      `{"irVersion":"8","graph":{"initializer":[{"name":"w","dims":["2"],"dataType":7,"rawData":"${megabyte('*')}"}]}}`,
  ),
  ...[
    ' ',
    '\n',
    '\t',
    '\r',
    '\f',
    'a',
    '0',
    '-',
    '{',
    '<',
    '"',
    '#',
    '%',
    '\u0000',
    '\u00ff',
    '\ufeff',
    'layers:\n',
  ].map((token) =>
    row(`nothing but ${JSON.stringify(token)}`, 'model', () => text(megabyte(token, 340_000))),
  ),
  row('a megabyte of zeros', 'model.onnx', () => megabyteOf(0)),
  row('a megabyte of 0xff', 'model.onnx', () => megabyteOf(0xff)),
  row('broken UTF-8', 'model.layers.yaml', () =>
    joinBytes([text('layers:\n  - a: ReLU()\n# '), Uint8Array.of(0xc0, 0x80, 0xff, 0xfe, 0xed, 0xa0, 0x80)]),
  ),
  ...['model.layers.yaml', 'model.onnxtxt', 'model.textproto', 'model.json'].map((name) =>
    row(`a megabyte of broken UTF-8 called ${name}`, name, () =>
      joinBytes([text(beginnings[name] ?? ''), megabyteOf(0xc0, 0x80, 0xff, 0x20)]),
    ),
  ),
  row('UTF-16', 'model.layers.yaml', () =>
    Uint8Array.of(0xff, 0xfe, 0x6c, 0, 0x61, 0, 0x79, 0, 0x65, 0, 0x72, 0, 0x73, 0),
  ),
];

const beginnings: Readonly<Record<string, string>> = {
  'model.layers.yaml': 'layers:\n  - a: ReLU()\n# ',
  'model.onnxtxt': `${graphText} { y = Relu(x) # `,
  'model.textproto': 'ir_version: 8 graph { name: "',
  'model.json': '{"irVersion":"8","graph":{"name":"',
};
