/** `estimate`: what one step costs. */

import { z } from 'zod';
import { renderTable } from '../../estimate/report/renderTable.ts';
import { costGiven } from './costGiven.ts';
import { modelPath } from './modelPath.ts';
import { scenarioSchema } from './scenarioSchema.ts';
import { toolOf, wrong } from './tool.ts';

export const estimateTool = toolOf({
  name: 'estimate',
  title: 'Estimate a training step',
  description:
    'Predicts what one training step (or forward pass) of a neural network costs on a GPU cluster, without running it: time with its range, memory, communication and the part of it that is exposed, throughput, the most expensive layers, and findings that say what to change. Totals with ≥ are lower bounds. The answer is the same in every run.',
  input: z.strictObject({
    file: modelPath,
    scenario: scenarioSchema
      .default({})
      .describe('What is not given comes from the file, then from defaults'),
    top: z.int().min(0).max(1000).default(10).describe('Layers to list, the most expensive first'),
  }),
  run: async ({ file, scenario, top }) => {
    const costed = await costGiven(file, scenario);
    if (typeof costed === 'string') return wrong(costed);
    return { text: renderTable(costed.report, undefined, top === 0, top) };
  },
});
