/** The profile that `layercost calibrate` wrote into a workspace. */

import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BenchmarkDevice } from '../benchmark/deviceSchema.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { gpuOfDevice } from '../hardware/gpuOfDevice.ts';
import { readClusterProfile } from '../hardware/readClusterProfile.ts';
import { readTextFile } from './readTextFile.ts';

/** Makes its folder. */
export function machineFile(workspace: string): string {
  const path = join(workspace, '.layercost', 'machine.json');
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

/** Where there is one of this device; a file that cannot be read is none. */
export function machineOfDevice(workspace: string, device: BenchmarkDevice): ClusterProfile | undefined {
  const path = join(workspace, '.layercost', 'machine.json');
  const read = existsSync(path) ? readTextFile(path) : undefined;
  if (read === undefined || !('text' in read)) return undefined;
  const { cluster } = readClusterProfile(read.text);
  const own = gpuOfDevice(device.name, device.memoryBytes)?.name;
  const isOfDevice = device.kind === 'cuda' ? cluster?.gpu.name === own : cluster?.gpu.title === device.name;
  return isOfDevice ? cluster : undefined;
}
