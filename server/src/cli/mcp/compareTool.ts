/** `compare`: two models, or one model in two scenarios. */

import { z } from 'zod';
import { comparisonTable } from '../../estimate/report/renderComparison.ts';
import { sideNames } from '../../estimate/report/sideNames.ts';
import { costGiven } from './costGiven.ts';
import { modelPath } from './modelPath.ts';
import { scenarioSchema } from './scenarioSchema.ts';
import { toolOf, wrong } from './tool.ts';

const side = z.strictObject({ file: modelPath, scenario: scenarioSchema.default({}) });

export const compareTool = toolOf({
  name: 'compare',
  title: 'Compare two training steps',
  description:
    'Puts two estimates side by side: two models, or one model on two clusters, frameworks, precisions or batches. Answers with the totals of both, their ratio, and the layers that make most of the difference.',
  input: z.strictObject({ left: side, right: side }),
  run: async ({ left, right }) => {
    const one = await costGiven(left.file, left.scenario);
    if (typeof one === 'string') return wrong(`left: ${one}`);
    const other = await costGiven(right.file, right.scenario);
    if (typeof other === 'string') return wrong(`right: ${other}`);
    const names = sideNames(one.report, other.report, { left: left.file, right: right.file });
    return { text: comparisonTable(one.report, other.report, names) };
  },
});
