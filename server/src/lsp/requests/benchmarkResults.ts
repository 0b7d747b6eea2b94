/** Lists, compares and removes the benchmark results that are kept in the workspace of an open model. */

import { viewOfModel } from '../../language/modelView.ts';
import {
  type CompareResultsParams,
  type CompareResultsResult,
  compareResults,
  type ListResultsParams,
  type ListResultsResult,
  listResults,
  type RemoveResultParams,
  removeResult,
} from '../../protocol.ts';
import { modelBehind } from '../virtualText.ts';
import type { Request } from './request.ts';

export const benchmarkResults: Request = {
  serve: ({ connection, handler, documents, platform: { results }, texts }) => {
    connection.onRequest(
      listResults,
      handler<ListResultsParams, ListResultsResult>('listing results', none, async ({ uri, model }) => {
        const shown = await documents.view(uri);
        const file = modelBehind(uri) ?? uri;
        return shown === undefined || results === undefined
          ? none
          : { results: results.list(file, viewOfModel(shown, model).estimate) };
      }),
    );
    connection.onRequest(
      compareResults,
      handler<CompareResultsParams, CompareResultsResult>(
        'comparing results',
        {},
        async ({ uri, first, second }) => {
          const text = results?.compare(modelBehind(uri) ?? uri, first, second);
          return text === undefined ? {} : { text };
        },
      ),
    );
    connection.onRequest(
      removeResult,
      handler<RemoveResultParams, null>('removing a result', null, async ({ uri, id }) => {
        results?.remove(modelBehind(uri) ?? uri, id);
        const document = texts.get(uri);
        if (document !== undefined) documents.touch(document, 'other');
        return null;
      }),
    );
  },
};

const none: ListResultsResult = { results: [] };
