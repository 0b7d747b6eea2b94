/**
 * Laws of a step over 2,000 random scenarios: models, clusters, GPUs, frameworks with their options, precisions, modes.
 * `npm run laws -- --seed S` tries others.
 */

import { expect, test } from 'vitest';
import { tryLaws } from './tryLaws.ts';

test('no law is broken by any of 2,000 scenarios', { timeout: 300_000 }, () => {
  const { costed, broken } = tryLaws(20_261_122, 2000);
  expect(broken.map(({ law, what, command }) => `${law}: ${what}\n${command}`)).toEqual([]);
  expect(costed).toBeGreaterThan(1900);
});
