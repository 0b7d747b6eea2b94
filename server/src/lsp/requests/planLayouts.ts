/** `layercost/planLayouts`: searches the parallel layouts of an open model, one after another, and says how many are costed. */

import type { CancellationToken, ResponseError } from 'vscode-languageserver';
import { planEstimate } from '../../estimate/planner/planEstimate.ts';
import { unknownPartsText } from '../../estimate/planner/unknownParts.ts';
import { layoutChoices } from '../../language/layoutChoices.ts';
import { viewOfModel } from '../../language/modelView.ts';
import { formatCount } from '../../model/format.ts';
import {
  type PlanLayoutsParams,
  type PlanLayoutsResult,
  type PlanProgressParams,
  planLayouts,
  planProgress,
} from '../../protocol.ts';
import { runSteps } from '../runSteps.ts';
import type { ServerContext } from '../serverContext.ts';
import type { Request } from './request.ts';

export const plannedLayouts: Request = {
  serve: (context) => {
    context.connection.onRequest<PlanLayoutsResult | ResponseError<void>, void>(
      planLayouts,
      context.handler<PlanLayoutsParams, PlanLayoutsResult>(
        'plan',
        none('The plan failed inside Layercost; the log has the details.'),
        (params, token) => plan(context, params, token),
      ),
    );
  },
};

async function plan(
  { connection, documents, nextTurn }: ServerContext,
  { uri, model, cluster, gpus, globalBatch, keepsFramework, goal }: PlanLayoutsParams,
  token: CancellationToken,
): Promise<PlanLayoutsResult> {
  const shown = await documents.view(uri);
  const estimate = shown && viewOfModel(shown, model).estimate;
  if (estimate?.cost === undefined || !estimate.costed)
    return none('The model cannot be costed. See its errors in the Problems view.');
  const { scenario } = estimate.cost;
  const other = cluster === undefined || cluster === scenario.cluster ? {} : { cluster };
  let costed = 0;
  let said = 0;
  const steps = planEstimate(estimate, {
    ...other,
    gpus,
    globalBatch,
    top: mostListed,
    onCosted: () => {
      costed += 1;
    },
    ...(keepsFramework ? { framework: scenario.framework } : {}),
  });
  const turn = async (): Promise<void> => {
    const params: PlanProgressParams = { uri, costed };
    if (costed >= said + saidEvery) {
      said = costed;
      await connection.sendNotification(planProgress, params);
    }
    await nextTurn();
  };
  const planned = await runSteps(steps, turn, () => token.isCancellationRequested);
  // Cancelled: the wrapper answers for it.
  if (planned === undefined) return none('');
  if ('problem' in planned) return none(`${planned.problem}.`);
  const layouts = layoutChoices(planned, { goal, top: mostListed, globalBatch, ...other });
  if ('problem' in layouts) return none(`${layouts.problem}.`);
  const tried = planned.reduce((sum, { found }) => sum + found.costed, 0);
  const fitting = planned.reduce((sum, { found }) => sum + found.fitting.length, 0);
  return {
    kind: 'planned',
    searched: `${formatCount(tried)} layouts costed, ${formatCount(fitting)} fit${unknownPartsText(estimate.cost.totals.exact)}`,
    layouts,
  };
}

const none = (message: string): PlanLayoutsResult => ({ kind: 'none', message });

/** For each number of GPUs. */
const mostListed = 8;

/** Layouts: a message for each would take longer than to cost a small one. */
const saidEvery = 4;
