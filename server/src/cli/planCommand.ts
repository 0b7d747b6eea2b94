/** `layercost plan`: the layouts of a model on so many GPUs, the fastest first, why others are slower, and what to paste. */

import { layoutSearch } from '../estimate/planner/layoutSearch.ts';
import { searchLayouts } from '../estimate/planner/searchLayouts.ts';
import { costModelFile, failureStatus, openModelFile, printIssues } from './costFile.ts';
import { type PlannedGpus, renderPlan } from './plan/renderPlan.ts';
import type { PlanArguments } from './planArguments.ts';
import { printsToTerminal } from './printsToTerminal.ts';
import { printMessage } from './streams.ts';
import { printOrWrite } from './writeOutput.ts';

export async function runPlanCommand(given: PlanArguments): Promise<number> {
  const file = await openModelFile(given.file, given.scenario);
  if (file === undefined) return 1;
  const { request } = given.scenario;
  const planned: PlannedGpus[] = [];
  for (const gpus of given.gpus) {
    const first = costModelFile(file, { ...request, gpus });
    const search = layoutSearch(
      first,
      request,
      (asked) => costModelFile(file, { ...request, ...asked }).cost,
    );
    if (search === undefined) {
      printIssues(given.file, first.issues);
      return failureStatus(file, request);
    }
    if ('problem' in search) {
      printMessage(`layercost: ${search.problem}`);
      return 2;
    }
    const steps = searchLayouts({ ...search, top: given.top });
    for (let costed = 1; ; costed += 1) {
      const step = steps.next();
      if (step.done === true) {
        planned.push({ gpus, search, found: step.value });
        break;
      }
      if (printsToTerminal()) process.stderr.write(`\r${gpus} GPUs: ${costed} layouts costed`);
    }
    if (printsToTerminal()) process.stderr.write('\r\x1b[K');
  }
  return printOrWrite(given.output, renderPlan(planned, given.format, given.top, given.goal)) ? 0 : 1;
}
