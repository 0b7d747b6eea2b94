/** Names of every length and of any characters, and what all objects of JavaScript have. */

import { chain, chainOf, type HostileInput, megabyte, model, spec } from './rows.ts';

/** Names that a report, a page or a terminal could take for something of its own. */
const oddNames = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00\ud800',
  '\u202eonnx.exe',
  'مرحبا',
  'שלום/עולם',
  '😀',
  'é'.normalize('NFD'),
  'a\nb',
  'a\r\nb',
  '\u2028\u2029\u0085',
  '\u001b[31mred\u001b[0m',
  '<script>alert(1)</script>',
  '](javascript:alert(1))',
  '`code`',
  '"quoted", \'twice\'',
  'a|b|c',
  '=1+1',
  '%s%n%d',
  '$1$&$$',
  '../../../etc/passwd',
  'C:\\Windows',
  ' ',
  '.',
  '/',
  '//',
  'NaN',
  'undefined',
  'null',
  '[object Object]',
  'true',
  '-0',
  '1e999',
  '?',
  '\ufeff',
];

export const nameRows: readonly HostileInput[] = [
  model('names of a megabyte', () => ({
    graph: {
      name: 'g'.repeat(100_000),
      inputs: { x: 'float[2]' },
      nodes: [
        {
          type: 'R'.repeat(300_000),
          name: '/'.repeat(300_000),
          inputs: ['x'],
          outputs: ['y'.repeat(300_000)],
        },
      ],
    },
  })),
  model('a name of a megabyte of scopes', () => ({
    graph: {
      inputs: { x: 'float[2]' },
      nodes: [{ type: 'Relu', name: megabyte('/a.b'), inputs: ['x'], outputs: ['y'] }],
    },
  })),
  model('names of a thousand scopes', () => ({
    graph: chain((index) => ({
      type: 'Relu',
      name: `/x${index}${'/a'.repeat(1000)}`,
      inputs: ['v0'],
      outputs: [`y${index}`],
    })),
  })),
  model('names of a hundred kilobytes in a wrong operator', () => ({
    graph: chainOf(5, (index) => ({
      type: 'MatMul',
      name: `${'n'.repeat(100_000)}${index}`,
      inputs: ['m'.repeat(50_000), 'v0'],
      outputs: [`${'o'.repeat(50_000)}${index}`],
    })),
  })),
  model('symbols of a hundred kilobytes', () => ({
    graph: {
      inputs: { x: `float[${'S'.repeat(100_000)},${'T'.repeat(100_000)}]` },
      nodes: [
        { type: 'MatMul', inputs: ['x', 'x'], outputs: ['y'] },
        { type: 'Flatten', inputs: ['x'], outputs: ['z'] },
      ],
    },
  })),
  ...oddNames.map((name) =>
    model(`everything called ${JSON.stringify(name)}`, () => ({
      producerName: name,
      metadata: { [name]: name },
      graph: {
        name,
        inputs: { [name]: 'float[4,4]' },
        outputs: { [name]: 'float' },
        initializers: [{ name: `${name}w`, type: 'float[4,4]' }],
        nodes: [
          { type: 'MatMul', name, inputs: [name, `${name}w`], outputs: [`${name}y`] },
          { type: name, name, domain: name, inputs: [`${name}y`], outputs: [`${name}z`] },
          { type: 'Conv', name: `${name}/${name}`, inputs: [name, name], outputs: [name] },
        ],
      },
    })),
  ),
  ...oddNames.map((name) =>
    spec(
      `a spec of everything called ${JSON.stringify(name)}`,
      () =>
        `dims: { ${JSON.stringify(name)}: 4 }\ninputs: { ${JSON.stringify(name)}: "float[batch, 4]" }\nblocks:\n  ${JSON.stringify(name)}:\n    - ${JSON.stringify(name)}: Linear(4)\nlayers:\n  - ${JSON.stringify(name)}: Linear(4)\n  - ${JSON.stringify(name)}: ${name}()\n  - b: Linear(4) from ${name}\n`,
    ),
  ),
  model('names that every object has', () => ({
    graph: {
      inputs: {
        ['__proto__']: 'float[toString,constructor,__proto__]',
        constructor: 'float[hasOwnProperty,4]',
      },
      nodes: [
        { type: 'Relu', name: 'toString', inputs: ['__proto__'], outputs: ['hasOwnProperty'] },
        { type: 'constructor', domain: '__proto__', inputs: ['constructor'], outputs: ['valueOf'] },
        {
          type: 'toString',
          inputs: ['constructor'],
          outputs: ['toString'],
          attributes: { ['__proto__']: 1, constructor: 'x' },
        },
      ],
    },
  })),
  model('no names at all', () => ({
    graph: {
      name: '',
      inputs: { '': 'float[4,4]' },
      outputs: { '': 'float[4,4]' },
      initializers: [{ name: '', type: 'float[4,4]' }],
      nodes: [
        { type: 'MatMul', inputs: ['', ''], outputs: [''] },
        { type: 'Relu', inputs: [''], outputs: [''] },
      ],
    },
  })),
  model('everything of one name', () => ({
    graph: {
      name: 'a',
      inputs: { a: 'float[4,4]' },
      outputs: { a: 'float[4,4]' },
      initializers: [
        { name: 'a', type: 'float[4,4]' },
        { name: 'a', type: 'int64[2]', elements: [4, 4] },
      ],
      nodes: [
        { type: 'MatMul', name: 'a', inputs: ['a', 'a'], outputs: ['a'] },
        { type: 'a', name: 'a', inputs: ['a'], outputs: ['a', 'a'] },
      ],
    },
    functions: [
      { name: 'a', inputs: ['a', 'a'], outputs: ['a', 'a'], nodes: [] },
      { name: 'a', inputs: ['a'], outputs: ['a'], nodes: [{ type: 'a', inputs: ['a'], outputs: ['a'] }] },
    ],
  })),
];
