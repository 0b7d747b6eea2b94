/** Every other table of measured layouts, each by default settings. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type MeasuredRow, readMeasured } from '../../measured/readMeasured.ts';
import { type JudgedActivations, judgeActivations } from './activationMemory.ts';
import { bridgeSets } from './bridgeSets.ts';
import { type JudgedLayouts, judgeLayouts, type LayoutSet } from './layoutSet.ts';
import { bloomSet, libaiSet, mlperfSet, recipeSet, vTrainSet } from './megatronSets.ts';
import { torchtitanSet } from './torchtitanSet.ts';

export interface PublishedLayouts {
  readonly sets: readonly JudgedLayouts[];
  readonly activations: JudgedActivations;
}

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
  const bridge = join(shared, 'measured/megatron_bridge_llm.csv');
  if (tables.some(([file]) => !existsSync(join(folder, file))) || !existsSync(bridge)) return undefined;
  return {
    sets: [
      judgeLayouts(vTrainSet(readMeasured(join(root, 'measured'), 'steps-vtrain.csv'))),
      ...tables.map(([file, set]) => judgeLayouts(set(readMeasured(folder, file)))),
      ...bridgeSets(root, readMeasured(join(shared, 'measured'), 'megatron_bridge_llm.csv')).map(
        judgeLayouts,
      ),
    ],
    activations: judgeActivations(readMeasured(folder, 'korthikanti_memory.csv')),
  };
}
