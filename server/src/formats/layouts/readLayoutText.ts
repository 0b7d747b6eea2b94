/**
 * A parallel layout as people have it at hand: `tp=8,pp=4`, NVIDIA's option table, a command line of Megatron-LM, or keys of
 * torchtitan. What a notation says beside the degrees (GPUs, the batch, the framework) comes with it.
 */

import { type GroupResult, readParallelGroup } from '../scenarioGroups.ts';
import type { LayoutRequest } from './degrees.ts';
import { isMegatronText, readMegatronFlags } from './megatronFlags.ts';
import { isOptionTable, readOptionTable } from './optionTable.ts';
import { isTorchtitanText, readTorchtitanKeys } from './torchtitanKeys.ts';

export function readLayoutText(text: string): GroupResult<LayoutRequest> {
  if (isMegatronText(text)) return readMegatronFlags(text);
  if (isTorchtitanText(text)) return readTorchtitanKeys(text);
  if (isOptionTable(text)) return readOptionTable(text);
  const { value, problems } = readParallelGroup(text);
  return { value: { parallel: value }, problems };
}
