/** `textDocument/inlayHint` and `inlayHint/resolve`. Text of hints and tooltips: `language/inlayHints.ts`. */

import { inlayHints as hintsOf, hintTooltip } from '../../language/inlayHints.ts';
import { stopIfCancelled } from '../answer.ts';
import { markdown, toInlayHint } from '../toProto.ts';
import { modelBehind } from '../virtualText.ts';
import type { Request } from './request.ts';

export const inlayHints: Request = {
  capabilities: () => ({ inlayHintProvider: { resolveProvider: true } }),
  serve: ({ connection, handler, settings, documents, session }) => {
    connection.languages.inlayHint.on(
      handler('inlay hints', [], async ({ textDocument: { uri }, range }, token) => {
        const shown = await settings.of(modelBehind(uri) ?? uri);
        if (!shown['hints.enabled']) return [];
        const kinds = { cost: shown['hints.cost'], shape: shown['hints.shape'] };
        const view = await documents.view(uri);
        stopIfCancelled(token);
        if (view === undefined) return [];
        const { start, end } = range;
        const room = {
          longest: session.options.longestHint ?? Number.POSITIVE_INFINITY,
          lastColumn: shown['hints.lastColumn'],
        };
        return hintsOf(view, start.line, end.line, kinds, room).map((hint) => toInlayHint(hint, uri));
      }),
    );
    connection.languages.inlayHint.resolve((hint) => {
      const place = readHintData(hint.data);
      const view = place === undefined ? undefined : documents.shownView(place.uri);
      const tooltip = place === undefined || view === undefined ? undefined : hintTooltip(view, place.line);
      return tooltip === undefined ? hint : { ...hint, tooltip: markdown(tooltip) };
    });
  },
};

function readHintData(sent: unknown): { readonly uri: string; readonly line: number } | undefined {
  if (typeof sent !== 'object' || sent === null || !('uri' in sent) || !('line' in sent)) return undefined;
  const { uri, line } = sent;
  return typeof uri === 'string' && typeof line === 'number' ? { uri, line } : undefined;
}
