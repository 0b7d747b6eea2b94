/** What a search for layouts takes: of a dense model and of one with experts, on few GPUs and on many. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { layoutSearch } from '../../server/src/estimate/planner/layoutSearch.ts';
import { searchLayouts } from '../../server/src/estimate/planner/searchLayouts.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { finish } from '../../server/src/model/steps.ts';
import { repeat, show } from './measure.ts';

export function showLayouts(root: string): void {
  for (const name of ['llama-3-8b', 'mixtral-8x7b'])
    for (const gpus of [64, 4096]) {
      const text = readFileSync(join(root, `samples/more/${name}.layers.yaml`), 'utf8');
      let costed = 0;
      const times = repeat(3, () => {
        // What is kept of a model from one search to the next is not what a person waits for.
        costed = costedLayouts(text, { cluster: 'dgx-h100', gpus, globalBatch: 4096 });
      });
      show(`plan ${name} on ${gpus} GPUs`, times, `${costed} layouts costed`);
    }
}

function costedLayouts(text: string, asked: ScenarioRequest): number {
  const opened = openLayerSpec(text, 'model.layers.yaml');
  const cost = (request: ScenarioRequest) => estimateModel(opened, [{ ...asked, ...request }]).cost;
  const search = layoutSearch(estimateModel(opened, [asked]), asked, cost);
  if (search === undefined || 'problem' in search) throw new Error('a model of the benches was not costed');
  return finish(searchLayouts(search)).costed;
}
