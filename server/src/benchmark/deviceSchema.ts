/** The device that ran, as results keep it. */

import { z } from 'zod';
import { deviceKinds } from './deviceChoice.ts';

export const deviceSchema = z.object({
  kind: z.enum(deviceKinds),
  name: z.string(),
  torch: z.string(),
  cuda: z.string().exactOptional(),
  memoryBytes: z.number().nonnegative().exactOptional(),
  precision: z.string(),
});
