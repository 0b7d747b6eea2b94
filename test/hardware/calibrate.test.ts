import { expect, test } from 'vitest';
import { calibrate } from '../../scripts/calibrate/calibrate.ts';
import curves from '../../server/src/hardware/curves.json';

test('the curves are what the measurements give; run npm run calibrate', () => {
  expect(JSON.parse(JSON.stringify(calibrate('measured').curves))).toEqual(curves);
  // All fits are done again: a machine that does other things besides needs longer than for any other test.
}, 120_000);
