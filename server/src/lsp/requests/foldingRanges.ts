/** `textDocument/foldingRange`. */

import { foldingRanges as rangesOf } from '../../language/foldingRanges.ts';
import { stopIfCancelled } from '../answer.ts';
import { toFoldingRange } from '../toProto.ts';
import type { Request } from './request.ts';

export const foldingRanges: Request = {
  capabilities: () => ({ foldingRangeProvider: true }),
  serve: ({ connection, handler, documents }) => {
    connection.onFoldingRanges(
      handler('folding', [], async ({ textDocument }, token) => {
        const view = await documents.view(textDocument.uri);
        stopIfCancelled(token);
        return view === undefined ? [] : rangesOf(view).map(toFoldingRange);
      }),
    );
  },
};
