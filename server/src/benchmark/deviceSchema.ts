/** The device that ran, as runs give it and results keep it. */

import { z } from 'zod';
import { deviceKinds } from './deviceChoice.ts';

export const deviceSchema = z.object({
  kind: z.enum(deviceKinds),
  /** "NVIDIA H200", or the processor with its threads. */
  name: z.string(),
  torch: z.string(),
  cuda: z.string().exactOptional(),
  memoryBytes: z.number().nonnegative().exactOptional(),
  /** The precision that really ran. */
  precision: z.string(),
});

export type BenchmarkDevice = Readonly<z.infer<typeof deviceSchema>>;
