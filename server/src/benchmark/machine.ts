/** The machine that measured: the same name with another processor is another machine. */

import { z } from 'zod';

export const machineSchema = z.object({
  name: z.string(),
  /** As Node.js has it: "linux-x64". */
  platform: z.string(),
  processor: z.string(),
  cores: z.number().int().nonnegative(),
  /** What reached it, where it is not the machine that asked: `ssh gpu-box`. */
  launcher: z.string().exactOptional(),
});

export type Machine = z.infer<typeof machineSchema>;
