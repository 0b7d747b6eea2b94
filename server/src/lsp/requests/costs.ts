/** `layercost/listCosts`: the lines of a model with what they cost. */

import type { ResponseError } from 'vscode-languageserver';
import { costRows } from '../../language/costRows.ts';
import { type CostRow, type CostsParams, listCosts } from '../../protocol.ts';
import { stopIfCancelled } from '../answer.ts';
import type { Request } from './request.ts';

export const costs: Request = {
  serve: ({ connection, handler, documents }) => {
    connection.onRequest<readonly CostRow[] | ResponseError<void>, void>(
      listCosts,
      handler<CostsParams, readonly CostRow[]>('costs', [], async ({ uri }, token) => {
        const view = await documents.view(uri);
        stopIfCancelled(token);
        return view === undefined ? [] : costRows(view);
      }),
    );
  },
};
