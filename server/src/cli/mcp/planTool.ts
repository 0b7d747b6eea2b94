/** `plan`: the best parallel layouts of a model on so many GPUs. */

import { z } from 'zod';
import { layoutSearch } from '../../estimate/planner/layoutSearch.ts';
import { searchLayouts } from '../../estimate/planner/searchLayouts.ts';
import { finish } from '../../model/steps.ts';
import { costModelFile } from '../costFile.ts';
import { renderPlan } from '../plan/renderPlan.ts';
import { openGiven } from './costGiven.ts';
import { modelPath } from './modelPath.ts';
import { readGivenScenario, scenarioSchema } from './scenarioSchema.ts';
import { toolOf, wrong } from './tool.ts';

export const planTool = toolOf({
  name: 'plan',
  title: 'Plan a parallel layout',
  description:
    'Finds the degrees of tensor and pipeline parallelism, the micro-batch, the checkpointing and the sharding with which a step of so many samples is fastest on so many GPUs; why others are slower; and the options of Megatron-LM, torchtitan or DeepSpeed. Takes up to a minute for a large model.',
  input: z.strictObject({
    file: modelPath,
    gpus: z.int().positive().max(16_384).describe('GPUs in all'),
    samples: z.int().positive().describe('Samples of a step over all GPUs: the global batch'),
    scenario: scenarioSchema
      .omit({ gpus: true, nodes: true, batch: true, 'global-batch': true, accumulate: true, parallel: true })
      .default({})
      .describe('What is fixed; framework and checkpoint are searched unless they are given'),
    top: z.int().positive().max(50).default(5).describe('Layouts to list'),
  }),
  run: async ({ file, gpus, samples, scenario, top }) => {
    const given = { ...scenario, gpus, 'global-batch': samples };
    const opened = await openGiven(file, given);
    if (typeof opened === 'string') return wrong(opened);
    const { request } = readGivenScenario(given);
    const first = costModelFile(opened, request);
    const search = layoutSearch(
      first,
      request,
      (asked) => costModelFile(opened, { ...request, ...asked }).cost,
    );
    if (search === undefined)
      return wrong(
        first.issues.find(({ severity }) => severity === 'error')?.message ?? `${file} cannot be costed`,
      );
    if ('problem' in search) return wrong(search.problem);
    return {
      text: renderPlan([{ gpus, search, found: finish(searchLayouts({ ...search, top })) }], 'table', top),
    };
  },
});
