/** The device that ran, as results keep it. */

import type { DeviceEvent } from './benchmarkEvents.ts';
import type { BenchmarkDevice } from './deviceSchema.ts';

export const deviceOf = ({
  kind,
  name,
  torch,
  precision,
  cuda,
  memoryBytes,
}: DeviceEvent): BenchmarkDevice => ({
  kind,
  name,
  torch,
  precision,
  ...(cuda === null ? {} : { cuda }),
  ...(memoryBytes === null ? {} : { memoryBytes }),
});
