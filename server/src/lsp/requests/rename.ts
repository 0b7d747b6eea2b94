/** `textDocument/prepareRename` and `rename`, in other specs too where a name is shared with them. */

import type { PrepareRenameParams, RenameParams } from 'vscode-languageserver';
import { stopIfCancelled } from '../answer.ts';
import { ErrorCodes, ResponseError } from '../languageServer.ts';
import { rangeIn } from '../openTexts.ts';
import { toTextEdits } from '../toProto.ts';
import { textsThatShare } from './references.ts';
import type { Request } from './request.ts';

export const rename: Request = {
  capabilities: () => ({ renameProvider: { prepareProvider: true } }),
  serve: (context) => {
    const { connection, handler, openTexts, related } = context;
    connection.onPrepareRename(
      handler('rename', null, (params: PrepareRenameParams) => {
        const text = openTexts.at(params);
        if (text === undefined) return null;
        const { acrossFiles, prepareRename } = text.features;
        const foreign = acrossFiles?.prepareRename(text.offset, related.open(params.textDocument.uri));
        if (foreign !== undefined) return rangeIn(text, foreign);
        const outcome = prepareRename?.(text.offset);
        if (outcome === undefined) return null;
        return outcome.kind === 'done' ? rangeIn(text, outcome.result) : refusal(outcome.reason);
      }),
    );
    connection.onRenameRequest(
      handler('rename', null, async (params: RenameParams, token) => {
        const shared = await textsThatShare(context, params);
        stopIfCancelled(token);
        const text = openTexts.at(params);
        if (text === undefined) return null;
        const { features, offset, document, lines } = text;
        const across = shared && features.acrossFiles?.rename(offset, params.newName, shared);
        if (across?.kind === 'refused') return refusal(across.reason);
        if (across?.kind === 'done') {
          const changes = across.result.map((file) => [file.address, toTextEdits(file.text, file.edits)]);
          return { changes: Object.fromEntries(changes) };
        }
        const outcome = features.rename?.(offset, params.newName);
        if (outcome === undefined) return null;
        if (outcome.kind === 'refused') return refusal(outcome.reason);
        return { changes: { [document.uri]: toTextEdits(lines, outcome.result) } };
      }),
    );
  },
};

/** The editor shows the reason; the server has not failed. */
const refusal = (reason: string): ResponseError<void> =>
  new ResponseError<void>(ErrorCodes.InvalidRequest, reason);
