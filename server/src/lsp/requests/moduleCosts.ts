/** `layercost/listModules`: the modules of a model with what they cost. */

import type { ResponseError } from 'vscode-languageserver';
import { viewOfModel } from '../../language/modelView.ts';
import { moduleCosts as costsOf } from '../../language/moduleCosts.ts';
import { listModules, type ModuleCost, type ModulesParams } from '../../protocol.ts';
import { stopIfCancelled } from '../answer.ts';
import type { Request } from './request.ts';

export const moduleCosts: Request = {
  serve: ({ connection, handler, documents }) => {
    connection.onRequest<ModuleCost | null | ResponseError<void>, void>(
      listModules,
      handler<ModulesParams, ModuleCost | null>('modules', null, async ({ uri, model, measure }, token) => {
        const view = await documents.view(uri);
        stopIfCancelled(token);
        return (view && costsOf(viewOfModel(view, model), measure)) ?? null;
      }),
    );
  },
};
