/** Files made to break readers: each row one trick, up to a megabyte. */

import { crossedRows } from './hostile/crossedRows.ts';
import { externalRows } from './hostile/externalRows.ts';
import { foreignRows } from './hostile/foreignRows.ts';
import { functionRows } from './hostile/functionRows.ts';
import { layerSpecRows } from './hostile/layerSpecRows.ts';
import { longSpecRows } from './hostile/longSpecRows.ts';
import { manyRows } from './hostile/manyRows.ts';
import { nameRows } from './hostile/nameRows.ts';
import { nestedRows } from './hostile/nestedRows.ts';
import type { HostileInput } from './hostile/rows.ts';
import { sizeRows } from './hostile/sizeRows.ts';
import { textRows } from './hostile/textRows.ts';
import { truncatedRows } from './hostile/truncatedRows.ts';
import { wireRows } from './hostile/wireRows.ts';

export type { HostileInput } from './hostile/rows.ts';

/** Most of these are short, and all are quickly made. */
export const shortInputs: readonly HostileInput[] = [
  ...wireRows,
  ...functionRows,
  ...sizeRows,
  ...nameRows,
  ...layerSpecRows,
  ...externalRows,
  ...foreignRows,
  ...truncatedRows,
];

export const hostileInputs: readonly HostileInput[] = [
  ...shortInputs,
  ...nestedRows,
  ...manyRows,
  ...crossedRows,
  ...longSpecRows,
  ...textRows,
];
