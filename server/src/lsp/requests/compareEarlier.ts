/** `layercost/compareEarlier`: a page of an open model beside an earlier state of its file. */

import type { ResponseError } from 'vscode-languageserver';
import type { ModelEstimate } from '../../estimate/estimateModel.ts';
import { comparisonPage } from '../../estimate/report/comparisonPage.ts';
import { makeReport } from '../../estimate/report/makeReport.ts';
import type { Report } from '../../estimate/report/report.ts';
import { viewOfModel } from '../../language/modelView.ts';
import { type CompareEarlierParams, type CompareEarlierResult, compareEarlier } from '../../protocol.ts';
import type { ServerContext } from '../serverContext.ts';
import type { Request } from './request.ts';

export const comparedStates: Request = {
  serve: (context) => {
    context.connection.onRequest<CompareEarlierResult | ResponseError<void>, void>(
      compareEarlier,
      context.handler<CompareEarlierParams, CompareEarlierResult>(
        'comparison',
        { refusal: 'The comparison failed inside Layercost; the log has the details.' },
        (params) => compare(context, params),
      ),
    );
  },
};

async function compare(
  { documents }: ServerContext,
  { uri, model, content, earlier, nonce }: CompareEarlierParams,
): Promise<CompareEarlierResult> {
  const shown = await documents.view(uri);
  if (shown === undefined) return { refusal: 'The model is no longer open; open it to compare it.' };
  const view = viewOfModel(shown, model);
  const now = reportOf(view.whole ?? view.estimate);
  if (typeof now === 'string') return { refusal: `The model cannot be costed as it is now: ${now}` };
  const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  const before = reportOf(await documents.estimateEarlier(uri, bytes, model));
  if (typeof before === 'string')
    return { refusal: `The model cannot be costed as of ${earlier}: ${before}` };
  return { html: comparisonPage(before, now, { left: earlier, right: 'now' }, nonce) };
}

/** The report, or the first thing that keeps the model from having one. */
function reportOf({ opened, cost, costed, training, issues }: ModelEstimate): Report | string {
  if (cost !== undefined && training !== undefined && costed)
    return makeReport(opened, training.analysis, cost, issues);
  return issues.find(({ severity }) => severity === 'error')?.message ?? 'no layer of it has a cost';
}
