/** What copies of a model may do with their weights and updates: the frameworks that a search takes where nobody names one. */

import type { FrameworkChoice } from '../../model/scenario.ts';

/** Each copy keeps and updates all of it. */
export const copies: FrameworkChoice = { name: 'pytorch-ddp', options: {} };
export const shardedUpdate = { name: 'deepspeed-zero', options: { stage: '1' } } as const;
export const shardedWeights: FrameworkChoice = { name: 'pytorch-fsdp', options: {} };

export const sharesUpdate = ({ name, options }: FrameworkChoice): boolean =>
  name === shardedUpdate.name && options.stage === shardedUpdate.options.stage;
