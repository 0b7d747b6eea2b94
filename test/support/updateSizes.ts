/** What an update has before it, where only the lengths of tensors count. */

import type { UpdateSizes } from '../../server/src/frameworks/behaviour.ts';

export const vectors = (lengths: readonly number[]): UpdateSizes => ({
  elements: lengths.reduce((total, length) => total + length, 0),
  tensors: lengths.map((elements) => ({ elements, shape: [elements], isHidden: false })),
});
