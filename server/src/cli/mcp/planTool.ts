/** `plan`: the best parallel layouts of a model on so many GPUs. */

import { z } from 'zod';
import { planGoals } from '../../estimate/planner/chooseLayout.ts';
import { layoutSearch } from '../../estimate/planner/layoutSearch.ts';
import { searchLayouts } from '../../estimate/planner/searchLayouts.ts';
import { finish } from '../../model/steps.ts';
import { costModelFile } from '../costFile.ts';
import { type PlannedGpus, renderPlan } from '../plan/renderPlan.ts';
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
    gpus: z
      .union([z.int().positive().max(16_384), z.array(z.int().positive().max(16_384)).min(1).max(8)])
      .describe('GPUs in all, or several numbers of them to choose from'),
    samples: z.int().positive().describe('Samples of a step over all GPUs: the global batch'),
    scenario: scenarioSchema
      .omit({ gpus: true, nodes: true, batch: true, 'global-batch': true, accumulate: true, parallel: true })
      .default({})
      .describe('What is fixed; framework and checkpoint are searched unless they are given'),
    goal: z
      .enum(planGoals)
      .default('fastest')
      .describe('What the chosen layout is for: a short step, few GPU-hours, or few GPUs'),
    top: z.int().positive().max(50).default(5).describe('Layouts to list'),
  }),
  run: async ({ file, gpus, samples, scenario, goal, top }) => {
    const given = { ...scenario, 'global-batch': samples };
    const opened = await openGiven(file, given);
    if (typeof opened === 'string') return wrong(opened);
    const { request } = readGivenScenario(given);
    const planned: PlannedGpus[] = [];
    for (const count of [...new Set([gpus].flat())].sort((one, other) => one - other)) {
      const first = costModelFile(opened, { ...request, gpus: count });
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
      planned.push({ gpus: count, search, found: finish(searchLayouts({ ...search, top })) });
    }
    return { text: renderPlan(planned, 'table', top, { goal }) };
  },
});
