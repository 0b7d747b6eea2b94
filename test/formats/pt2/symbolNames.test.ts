/** Names of open dimensions, which a program does not keep. */

import { expect, it } from 'vitest';
import { withNames } from '../../../server/src/formats/pt2/symbolNames.ts';

const program = JSON.stringify({
  size: {
    as_expr: { expr_str: "Add(Symbol('s27', positive=True, integer=True), Symbol('s2', integer=True))" },
  },
  range_constraints: { s27: { min_val: 2, max_val: null }, s2: { min_val: 0, max_val: 8 } },
  s27: 'a name of somebody else',
});

it('renames symbols in expressions and bounds, and nothing else', () => {
  const renamed = JSON.parse(withNames(program, new Map([['s27', 'seq']])));
  expect(renamed.size.as_expr.expr_str).toBe(
    "Add(Symbol('seq', positive=True, integer=True), Symbol('s2', integer=True))",
  );
  expect(renamed.range_constraints).toEqual({
    seq: { min_val: 2, max_val: null },
    s2: { min_val: 0, max_val: 8 },
  });
  expect(renamed.s27).toBe('a name of somebody else');
});

it('leaves a program without names as it is', () => {
  expect(withNames(program, new Map())).toBe(program);
});
