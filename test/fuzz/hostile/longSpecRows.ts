/** Layer specs as long as a spec may be, and as long as a file may be. */

import { type HostileInput, megabyte, simpleSpec, spec } from './rows.ts';

/** Just below what `readLayerSpec` takes, so that the rows reach what comes behind it. */
const longest = 2 ** 17 - 500;

/** The trick twice: with what a spec may hold, and with a megabyte. */
const specs = (
  what: string,
  make: (fill: (piece: string | ((index: number) => string)) => string) => string,
): readonly HostileInput[] => [
  spec(`a spec of ${what}`, () => make((piece) => megabyte(piece, longest))),
  spec(`a spec of a megabyte of ${what}`, () => make((piece) => megabyte(piece))),
];

const layers = 'inputs: { x: "float[2]" }\nlayers:\n';

export const longSpecRows: readonly HostileInput[] = [
  ...specs(
    'YAML anchors',
    (fill) => `${fill((index) => `k${index}: &k${index} *k${Math.max(0, index - 1)}\n`)}layers: []\n`,
  ),
  ...specs('YAML documents', (fill) => fill('---\nlayers: []\n')),
  ...specs('layers', (fill) => layers + fill((index) => `  - l${index}: ReLU()\n`)),
  ...specs('layers with weights', (fill) => layers + fill((index) => `  - l${index}: Linear(2, 2)\n`)),
  ...specs('layers without inputs', (fill) => `layers:\n${fill((index) => `  - l${index}: ReLU()\n`)}`),
  ...specs('layers without names', (fill) => layers + fill('  - ReLU()\n')),
  ...specs('layers that are calls left open', (fill) => layers + fill((index) => `  - l${index}: Foo(\n`)),
  ...specs('misspelt names', (fill) => layers + fill((index) => `  - l${index}: add(m${index}, x)\n`)),
  ...specs('layers of one name', (fill) => layers + fill('  - l: ReLU()\n')),
  ...specs(
    'misspelt layer types',
    (fill) => layers + fill((index) => `  - l${index}: Convv${index % 7}d(3)\n`),
  ),
  ...specs(
    'layers of wrong sizes',
    (fill) => layers + fill((index) => `  - l${index}: Linear(${index}, 3)\n`),
  ),
  ...specs(
    'layers with wrong arguments',
    (fill) => layers + fill((index) => `  - l${index}: Linear(q=${index})\n`),
  ),
  ...specs(
    'layers that read what nothing gives',
    (fill) => layers + fill((index) => `  - l${index}: ReLU() from z\n`),
  ),
  ...specs(
    'blocks',
    (fill) => `blocks:\n${fill((index) => `  b${index}: [ a: ReLU() ]\n`)}${layers}  - a: b0()\n`,
  ),
  ...specs('blocks in blocks', (fill) => {
    const blocks = fill((index) => `  b${index}: [ a: ${index === 0 ? 'ReLU' : `b${index - 1}`}() ]\n`);
    return `blocks:\n${blocks}${layers}  - a: b${blocks.split('\n').length - 2}()\n`;
  }),
  ...specs(
    'dims',
    (fill) => `dims:\n${fill((index) => `  d${index}: ${index}\n`)}${layers}  - a: Linear(2, d1)\n`,
  ),
  ...specs(
    'dims of dims',
    (fill) =>
      `dims:\n${fill((index) => `  d${index + 1}: "d${index} + 1"\n`)}${layers}  - a: Linear(2, d1)\n`,
  ),
  ...specs(
    'inputs',
    (fill) => `inputs:\n${fill((index) => `  x${index}: "float[2]"\n`)}layers:\n  - a: ReLU()\n`,
  ),
  ...specs('outputs', (fill) => `${layers}  - a: ReLU()\noutputs: [${fill('a, ')}a]\n`),
  ...specs('unknown keys', (fill) => fill((index) => `k${index}: 1\n`)),
  ...specs(
    'keys of a scenario',
    (fill) => `${layers}  - a: ReLU()\nscenario:\n${fill((index) => `  k${index}: 1\n`)}`,
  ),
  ...specs('arguments', (fill) => simpleSpec(`add(${fill('x, ')}x)`)),
  ...specs('keyword arguments', (fill) => simpleSpec(`Linear(${fill((index) => `k${index}=1, `)}k=1)`)),
  ...specs('one number', (fill) => simpleSpec(`Linear(${fill('9')})`)),
  ...specs('one name', (fill) => simpleSpec(`${fill('L')}(3)`)),
  ...specs('one string without end', (fill) => simpleSpec(`Linear("${fill('a')})`)),
  ...specs('one string of escapes', (fill) => `name: "${fill('\\x41')}"\n${layers}  - a: ReLU()\n`),
  ...specs('operators', (fill) => simpleSpec(fill('+-*/%**//'))),
  ...specs(
    'dimensions',
    (fill) => `inputs: { x: "float[${fill('2, ')}2]" }\nlayers:\n  - a: Linear(2, 4)\n  - b: ReLU()\n`,
  ),
  ...[
    ':',
    '? ',
    '- ',
    '\t',
    '[',
    '{',
    '&a ',
    '*a ',
    '!',
    '!!',
    '|\n',
    '>',
    '%',
    '@',
    '"',
    "'",
    '#\n',
    '- a:\n',
    ',',
    ' ',
    '\n',
  ].flatMap((token) => specs(`\`${JSON.stringify(token)}\``, (fill) => `layers:\n  ${fill(token)}`)),
];
