/** `scale`: how a step changes with the number of GPUs. */

import { z } from 'zod';
import { gpuCounts } from '../../estimate/scaling/gpuCounts.ts';
import { renderScalingTable } from '../../estimate/scaling/renderScaling.ts';
import { scaleInSteps } from '../../estimate/scaling/scaleJob.ts';
import { finish } from '../../model/steps.ts';
import { clusterOf, costModelFile } from '../costFile.ts';
import { openGiven } from './costGiven.ts';
import { modelPath } from './modelPath.ts';
import { readGivenScenario, scenarioSchema } from './scenarioSchema.ts';
import { toolOf, wrong } from './tool.ts';

export const scaleTool = toolOf({
  name: 'scale',
  title: 'Scale a training step over GPUs',
  description:
    'Predicts step time, throughput, efficiency, memory and what limits them for several numbers of GPUs of one cluster. With global-batch in the scenario the batch over all GPUs is kept (strong scaling), else that of each GPU (weak scaling).',
  input: z.strictObject({
    file: modelPath,
    scenario: scenarioSchema.omit({ gpus: true, nodes: true }).default({}),
    gpus: z
      .array(z.int().positive())
      .min(1)
      .max(64)
      .optional()
      .describe('Left out: those that suit the cluster'),
  }),
  run: async ({ file, scenario, gpus }) => {
    const opened = await openGiven(file, scenario);
    if (typeof opened === 'string') return wrong(opened);
    const { request } = readGivenScenario(scenario);
    const cluster = clusterOf(opened, request);
    const counts = gpus ?? (cluster === undefined ? [1] : gpuCounts(cluster));
    const scaling = finish(
      scaleInSteps(
        opened.opened.name,
        counts,
        (count) => costModelFile(opened, { ...request, gpus: count }),
        () => costModelFile(opened, { ...request, gpus: 1 }),
      ),
    );
    const problems = scaling.issues
      .filter(({ severity }) => severity !== 'information')
      .map(({ code, message }) => `${code}: ${message}`);
    if (scaling.points.length === 0) return wrong(problems.join('\n') || `${file}: no point could be costed`);
    return { text: [renderScalingTable(scaling), ...problems].join('\n') };
  },
});
