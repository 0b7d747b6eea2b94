/** Windows of patches, as both kinds of Swin cut a stage into them and join them again. */

import type { ConfigFields } from './configFields.ts';

export interface Stage {
  readonly channels: number;
  readonly heads: number;
  /** Patches along each side of the image, and of a window. */
  readonly side: number;
  readonly window: number;
}

export function checkStage(
  fields: ConfigFields,
  { side, window, channels, heads }: Stage,
  isHalved: boolean,
): void {
  if (side < Math.max(1, window) || side % window !== 0 || (isHalved && side % 2 === 1))
    fields.problems.push(
      '`image_size` gives a stage that windows of `window_size` do not divide, and padding is not known here',
    );
  if (channels % heads !== 0) fields.problems.push('`num_heads` must divide the channels of every stage');
}

/** Of `rows`, the patches line by line. `shift`: patches that they are moved by first. */
export function windowLines({ side, window, channels }: Stage, shift: number | undefined): readonly string[] {
  const along = Math.floor(side / window);
  return [
    ...(shift === undefined ? [] : [`rolled: roll((-${shift}, -${shift}), (1, 2))`]),
    `cut: reshape(batch, ${along}, ${window}, ${along}, ${window}, ${channels})`,
    'turned: transpose(2, 3)',
    `windows: reshape(batch*${along ** 2}, ${window ** 2}, ${channels})`,
  ];
}

/** Back to one sequence of patches. */
export function joinedLines({ side, window, channels }: Stage, shift: number | undefined): readonly string[] {
  const along = Math.floor(side / window);
  return [
    `uncut: reshape(batch, ${along}, ${along}, ${window}, ${window}, ${channels})`,
    'turned_back: transpose(2, 3)',
    `${shift === undefined ? 'all_rows' : 'shifted_rows'}: reshape(batch, ${side}, ${side}, ${channels})`,
    ...(shift === undefined ? [] : [`rolled_back: roll((${shift}, ${shift}), (1, 2))`]),
    `attended: reshape(batch, ${side ** 2}, ${channels})`,
  ];
}
