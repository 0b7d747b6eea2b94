/**
 * Properties draw the same cases in every run, so that a run that failed fails again: `SEED=7 npx vitest run test/language`
 * draws others, `SEED=random` any.
 */

import fc from 'fast-check';

const asked = process.env.SEED;
if (asked !== 'random') fc.configureGlobal({ seed: Number(asked ?? 1_729) });
