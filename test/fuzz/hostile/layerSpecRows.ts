/** Layer specs. */

import { type HostileInput, simpleSpec, spec, times } from './rows.ts';

const blocksOf = (depth: number, calls: number, layer: string): string =>
  [
    'inputs: { x: "float[N, 4]" }',
    'blocks:',
    ...times(depth, (level) => [
      `  b${level}:`,
      ...times(calls, (call) => `    - c${call}: ${level === 0 ? layer : `b${level - 1}()`}`),
    ]).flat(),
    'layers:',
    `  - all: b${depth - 1}()`,
  ].join('\n');

export const layerSpecRows: readonly HostileInput[] = [
  spec(
    'a block repeated a billion times',
    () =>
      `inputs: { x: "float[batch, 4]" }\nblocks:\n  b:\n    - l: Linear(4, 4)\nlayers:\n  - all: b() * 1000000000\n`,
  ),
  spec('a layer repeated a billion times', () => simpleSpec('ReLU() * 1000000000')),
  spec('a layer repeated 2^1000 times', () => simpleSpec('ReLU() * 2**1000')),
  spec(
    'a layer repeated 1/0, 0, -1 and 1.5 times',
    () => `${simpleSpec('ReLU() * (1/0)')}  - a: ReLU() * 0\n  - b: ReLU() * -1\n  - c: ReLU() * 1.5\n`,
  ),
  spec('blocks that call ten times, ten deep', () => blocksOf(10, 10, 'Linear(4, 4)')),
  spec('blocks that double 60 times', () => blocksOf(60, 2, 'ReLU()')),
  spec('empty blocks that call ten times, ten deep', () => blocksOf(10, 10, 'b9()')),
  spec('a block that calls itself', () => blocksOf(1, 1, 'b0()')),
  spec('blocks that call each other', () => blocksOf(2, 2, 'b1()')),
  spec('repetitions inside repetitions', () =>
    [
      'inputs: { x: "float[batch, 4]" }',
      'blocks:',
      ...times(10, (level) => `  b${level}:\n    - c: ${level === 0 ? 'ReLU()' : `b${level - 1}()`} * 100`),
      'layers:',
      '  - all: b9() * 100',
    ].join('\n'),
  ),
  spec('powers that pass every number', () => simpleSpec('Linear(9**9**9**9, 2**(2**(2**(2**(2**2)))))')),
  spec('dims that are powers of each other', () =>
    simpleSpec(
      'Linear(a9)',
      `{ ${times(10, (index) => `a${index}: ${index === 0 ? '99' : `"a${index - 1} ** a${index - 1}"`}`).join(', ')} }`,
    ),
  ),
  spec('dims that are each other', () => simpleSpec('Linear(a)', '{ a: "b + 1", b: "a * 2" }')),
  spec('1,000 dims, each the sum of the one before with itself', () =>
    simpleSpec(
      'Linear(a999)',
      `{ ${times(1_000, (index) => `a${index}: ${index === 0 ? '1' : `"a${index - 1} + a${index - 1}"`}`).join(', ')} }`,
    ),
  ),
  spec('division by zero everywhere', () =>
    simpleSpec('Conv2d(1//0, 3 % 0, kernel_size=1/0, stride=0, dilation=0, groups=0)'),
  ),
  spec('sizes past every number', () =>
    simpleSpec('Conv2d(1e400, 10**400, kernel_size=99999999999999999999)'),
  ),
  spec('negative sizes', () => simpleSpec('Conv2d(-3, -64, kernel_size=-3, stride=-1, padding=-100)')),
  spec(
    'YAML aliases that double 30 times',
    () =>
      `a0: &a0 [x, x]\n${times(30, (index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`).join('\n')}\nlayers: *a30\n`,
  ),
  spec(
    'YAML aliases of ten, nine deep, under layers',
    () =>
      `layers:\n  - a0: &a0 ReLU()\n${times(9, (index) => `  - a${index + 1}: &a${index + 1} [${times(10, () => `*a${index}`).join(', ')}]`).join('\n')}\n`,
  ),
  spec('a YAML alias to itself', () => 'layers: &a [*a, *a]\n'),
  spec('a YAML merge of itself', () => 'layers: &a\n  <<: *a\n  b: *a\n'),
  spec('a YAML tag', () => 'layers: !!binary "AAAA"\ninputs: !!js/function "x"\ndims: !!set { a, b }\n'),
  spec(
    'names that every object has',
    () =>
      'dims: { __proto__: 2, constructor: 3, toString: 4 }\ninputs: { __proto__: "float[batch, constructor]", hasOwnProperty: "float[toString]" }\nblocks: { constructor: [ { valueOf: Linear(toString) } ] }\nlayers:\n  - toString: constructor() from __proto__\n  - __proto__: toString(valueOf)\nscenario: { cluster: constructor, __proto__: 1, framework: toString, precision: valueOf }\n',
  ),
  spec(
    'a scenario of absurd numbers',
    () =>
      `${simpleSpec('Linear(8, 4)')}scenario: { gpus: 1e300, nodes: -1, batch: 9007199254740993, precision: 4, optimizer: [] }\n`,
  ),
  spec(
    'an input of absurd sizes',
    () => 'inputs: { x: "float[1e30, -4, 99999999999999999999, 0, ?]" }\nlayers:\n  - a: Linear(4)\n',
  ),
];
