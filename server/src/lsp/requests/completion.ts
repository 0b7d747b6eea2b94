/** `textDocument/completion`. Proposals: `complete` of the language's features, and the files of a folder. */

import type { CompletionParams } from 'vscode-languageserver';
import { stopIfCancelled } from '../answer.ts';
import { type OpenText, rangeIn } from '../openTexts.ts';
import type { Session } from '../session.ts';
import { toCompletionItem } from '../toProto.ts';
import { fileName, resolvePath } from '../virtualText.ts';
import type { Request } from './request.ts';

export const completion: Request = {
  capabilities: () => ({
    completionProvider: { triggerCharacters: ['(', ',', '=', ' ', '*', '.', '/', "'"] },
  }),
  serve: ({ connection, handler, documents, openTexts, listFolder, session }) => {
    connection.onCompletion(
      handler('completion', [], async (params: CompletionParams, token) => {
        const { uri } = params.textDocument;
        const view = (await withinPatience(documents.view(uri))) ?? documents.shownView(uri);
        stopIfCancelled(token);
        const text = openTexts.at(params);
        if (text === undefined) return [];
        const client = clientOf(session);
        const path = text.features.path?.(text.offset);
        if (path !== undefined) {
          const folder = resolvePath(uri, path.folder === '' ? '.' : path.folder);
          const entries = folder === undefined ? [] : await listFolder(folder);
          stopIfCancelled(token);
          return path
            .complete(entries, fileName(uri))
            .map((each, index) => toCompletionItem(each, index, rangeIn(text, each.span), client));
        }
        // A blank triggers proposals only where a value or source is expected next.
        if (isIdleBlank(params, text)) return [];
        return (text.features.complete?.(text.offset, view) ?? [])
          .filter(({ kind }) => client.snippets || kind !== 'snippet')
          .map((each, index) => toCompletionItem(each, index, rangeIn(text, each.span), client));
      }),
    );
  },
};

/** What the client does with a proposal: tab stops, commands of VS Code, details beside the label. */
function clientOf({ client, options }: Session) {
  const item = client.textDocument?.completion?.completionItem;
  return {
    snippets: item?.snippetSupport === true,
    commands: options.hasCommands === true,
    details: item?.labelDetailsSupport === true,
  };
}

/** A blank where nothing is expected, such as after a name's colon in a comment or between words. */
function isIdleBlank(
  { context }: CompletionParams,
  { document, offset }: OpenText & { readonly offset: number },
): boolean {
  if (context?.triggerCharacter !== ' ') return false;
  return !/(?:[:,(*]|\bfrom)\s$/.test(document.getText().slice(Math.max(0, offset - 8), offset));
}

/** Milliseconds. Proposals wait no longer for the shapes that order them. */
const patience = 60;

/** The result if it is there in time. The work continues for others who wait for it. */
function withinPatience<Result>(work: Promise<Result>): Promise<Result | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), patience);
    const done = (result: Result | undefined): void => {
      clearTimeout(timer);
      resolve(result);
    };
    work.then(done, () => done(undefined));
  });
}
