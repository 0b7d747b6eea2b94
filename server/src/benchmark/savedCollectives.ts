/** Collectives that were measured on a machine, as they are kept in the workspace: the last run stands for the machine. */

import { z } from 'zod';
import { seconds } from '../model/units.ts';
import { collectiveOperations } from './benchmarkEvents.ts';
import { deviceSchema } from './deviceSchema.ts';
import { type Machine, machineSchema } from './machine.ts';
import type { MeasuredCollectives } from './runCollectives.ts';

/** Raised when an older version could misread a newer file. */
const savedVersion = 1;

const time = z.number().nonnegative().transform(seconds);

export const savedCollectivesSchema = z.object({
  version: z.literal(savedVersion),
  /** ISO 8601, UTC. */
  measuredAt: z.iso.datetime(),
  machine: machineSchema,
  device: deviceSchema,
  rows: z.array(
    z.object({
      operation: z.enum(collectiveOperations),
      bytes: z.number().int().positive(),
      ranks: z.number().int().positive(),
      median: time,
      low: time,
      high: time,
    }),
  ),
});
export type SavedCollectives = z.infer<typeof savedCollectivesSchema>;

export const savedCollectives = (
  { device, rows }: Pick<MeasuredCollectives, 'device' | 'rows'>,
  machine: Machine,
  measuredAt: Date,
): SavedCollectives => ({
  version: savedVersion,
  measuredAt: measuredAt.toISOString(),
  machine,
  device,
  rows: [...rows],
});
