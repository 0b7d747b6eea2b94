/** Paths of external data that a model made to harm could name. Only its text is looked at: nothing is opened. */

import { type HostileInput, megabyte, model } from './rows.ts';

export const hostilePaths: readonly string[] = [
  '/etc/passwd',
  '../weights.bin',
  '..',
  'a/../../weights.bin',
  'a/..\\..\\weights.bin',
  '..\\weights.bin',
  '\\\\server\\share\\weights.bin',
  '//server/share/weights.bin',
  'C:\\weights.bin',
  'C:weights.bin',
  'c:/weights.bin',
  '\\\\?\\C:\\weights.bin',
  '/dev/zero',
  '/dev/stdin',
  '/proc/self/mem',
  'CON',
  'weights\u0000.bin',
  '\u0000',
  'http://example.com/weights.bin',
  'file:///etc/passwd',
  'data:,x',
  '~/weights.bin',
  '',
  '.',
  './',
  ' ',
  '....//weights.bin',
  '%2e%2e/weights.bin',
  '\ud800/weights.bin',
  '\u202enib.sthgiew',
  'weights.bin\n../x',
];

export const externalRows: readonly HostileInput[] = [
  ...hostilePaths.map((path) =>
    model(`external data at ${JSON.stringify(path)}`, () => ({
      graph: {
        inputs: { x: 'float[N,4]' },
        initializers: [
          { name: 'w', type: 'float[4,4]', external: { location: path, offset: '-1', length: '1e99' } },
        ],
        nodes: [{ type: 'MatMul', inputs: ['x', 'w'], outputs: ['y'] }],
      },
    })),
  ),
  model('external data at a path of a megabyte', () => ({
    graph: { initializers: [{ name: 'w', type: 'float[4,4]', external: { location: megabyte('../') } }] },
  })),
  model('a megabyte of external tensors, each at a path of its own', () => ({
    graph: {
      initializers: Array.from({ length: 20_000 }, (_, index) => ({
        name: `w${index}`,
        type: 'float[4]',
        external: { location: `../w${index}` },
      })),
    },
  })),
];
