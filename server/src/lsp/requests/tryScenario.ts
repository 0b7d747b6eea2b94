/** `layercost/tryScenario`: the totals of a model in another scenario, while a person moves a control. */

import type { ResponseError } from 'vscode-languageserver';
import type { ModelEstimate } from '../../estimate/estimateModel.ts';
import { drawnGlance, limitSentence } from '../../estimate/report/glance.ts';
import { makeReport } from '../../estimate/report/makeReport.ts';
import { tryScenario as estimateTried } from '../../estimate/what-if/tryScenario.ts';
import { viewOfModel } from '../../language/modelView.ts';
import { type ScenarioChangeParams, type TryScenarioResult, tryScenario } from '../../protocol.ts';
import type { Request } from './request.ts';

export const triedScenarios: Request = {
  serve: ({ connection, handler, documents }) => {
    connection.onRequest<TryScenarioResult | null | ResponseError<void>, void>(
      tryScenario,
      handler<ScenarioChangeParams, TryScenarioResult | null>(
        'scenario',
        null,
        async ({ uri, model, change }) => {
          const view = await documents.view(uri);
          const tried = view && estimateTried(viewOfModel(view, model).estimate, change);
          return tried === undefined ? null : totalsOf(tried);
        },
      ),
    );
  },
};

function totalsOf(estimate: ModelEstimate): TryScenarioResult {
  const { opened, cost, costed } = estimate;
  if (cost === undefined || opened.analysis === undefined || !costed)
    return { rows: [], sentence: '', refusal: refusalOf(estimate) };
  const report = makeReport(opened, opened.analysis, cost, []);
  return { rows: drawnGlance(report), sentence: limitSentence(report) };
}

/** The first thing that is wrong. */
const refusalOf = ({ issues }: ModelEstimate): string =>
  issues.find(({ severity }) => severity === 'error')?.message ?? 'This scenario cannot be costed.';
