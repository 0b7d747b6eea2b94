/** Every other table of measured layouts, each by default settings. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type MeasuredRow, readMeasured } from '../../measured/readMeasured.ts';
import { type JudgedActivations, judgeActivations } from './activationMemory.ts';
import { bridgeSets } from './bridgeSets.ts';
import { type JudgedLayouts, judgeLayouts, type LayoutSet } from './layoutSet.ts';
import { loraSet } from './loraSet.ts';
import { bloomSet, libaiSet, mlperfSet, recipeSet, vTrainSet } from './megatronSets.ts';
import { torchtitanSet } from './torchtitanSet.ts';

export interface PublishedLayouts {
  readonly sets: readonly JudgedLayouts[];
  readonly activations: JudgedActivations;
}

/** Tables that other parts of the page read, too. */
const bridge = 'megatron_bridge_llm.csv';
const mlperf = 'mlperf_training.csv';

/** `undefined` where a table is absent. */
export function publishedLayouts(root: string, shared: string): PublishedLayouts | undefined {
  const folder = join(shared, 'measured/parallel');
  const tables: readonly (readonly [string, (rows: readonly MeasuredRow[]) => LayoutSet])[] = [
    ['bigscience.csv', bloomSet],
    ['torchtitan.csv', torchtitanSet],
    ['dgxc_pretrain.csv', recipeSet],
    ['mlperf_llm.csv', mlperfSet],
    ['libai_3d.csv', libaiSet],
  ];
  const beside = join(shared, 'measured');
  const files = [
    ...tables.map(([file]) => join(folder, file)),
    ...[bridge, mlperf].map((file) => join(beside, file)),
  ];
  if (!files.every((file) => existsSync(file))) return undefined;
  return {
    sets: [
      judgeLayouts(vTrainSet(readMeasured(join(root, 'measured'), 'steps-vtrain.csv'))),
      ...tables.map(([file, set]) => judgeLayouts(set(readMeasured(folder, file)))),
      ...bridgeSets(root, readMeasured(beside, bridge)).map(judgeLayouts),
      judgeLayouts(loraSet(root, readMeasured(beside, mlperf))),
    ],
    activations: judgeActivations(readMeasured(folder, 'korthikanti_memory.csv')),
  };
}
