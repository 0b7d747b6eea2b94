/** How a SiLU ran, by what the exporter recorded of its operators. */

import { expect, test } from 'vitest';
import type { OperatorOrigin } from '../../server/src/composites/composite.ts';
import { launchedAs } from '../../server/src/composites/launchedAs.ts';
import { silu } from '../../server/src/composites/silu.ts';

const call = (name: string, called: string): OperatorOrigin => ({ call: { name, function: called } });

/** Calls as PyTorch 2.13 records them; `getitem` takes a half of a split, as of packed gates. */
test.each([
  ['one call', [call('silu', 'aten.silu.default'), call('silu', 'aten.silu.default')], 'one'],
  ['two', [call('sigmoid', 'aten.sigmoid.default'), call('mul', 'aten.mul.Tensor')], 'several'],
  [
    'one of a half',
    [
      call('getitem_3', '<built-in function getitem>'),
      call('silu', 'aten.silu.default'),
      call('silu', 'aten.silu.default'),
    ],
    'one',
  ],
  ['nothing', [{}, {}], 'assumed-one'],
] as const)('%s', (_, origins, expected) => {
  const operators = origins.map((__, index) => index);
  const match = { operators, roles: {}, launchedAs: 'assumed-one' } as const;
  expect(launchedAs(silu, match, (index) => origins[index] ?? {})).toBe(expected);
});
