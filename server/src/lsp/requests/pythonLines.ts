/**
 * `layercost/costPythonLines`: what the lines of a Python file cost in the models that are open and were exported from it.
 *
 * A request of its own: as a language server for Python, this one would rival those that format and rename.
 */

import { hoverLine } from '../../language/hover.ts';
import { inlayHints, usualLength } from '../../language/inlayHints.ts';
import { joinViews, type ModelView, viewsOf } from '../../language/modelView.ts';
import { viewPython } from '../../language/python/viewPython.ts';
import { costPythonLines, type PythonLinesParams, type PythonLinesResult } from '../../protocol.ts';
import { stopIfCancelled } from '../answer.ts';
import { fileName, modelBehind } from '../virtualText.ts';
import type { Request } from './request.ts';

export const pythonLines: Request = {
  serve: ({ connection, handler, documents, settings, texts }) => {
    connection.onRequest(
      costPythonLines,
      handler(
        'costs of Python',
        nothing,
        async ({ text, path }: PythonLinesParams, token): Promise<PythonLinesResult> => {
          const views: ModelView[] = [];
          const shown = new Set<string>();
          let lastColumn = 0;
          for (const { uri } of texts.all()) {
            const model = modelBehind(uri);
            // A model may be open as layers and as text.
            if (model === undefined || shown.has(model)) continue;
            const shownHints = await settings.of(model);
            if (!shownHints['hints.enabled']) continue;
            lastColumn = shownHints['hints.lastColumn'];
            const view = await documents.view(uri);
            stopIfCancelled(token);
            const own = view && viewPython(text, path, view.whole ?? view.estimate);
            if (own === undefined) continue;
            shown.add(model);
            views.push({ ...own, part: { name: fileName(model), firstLine: 0, lastLine: -1 } });
          }
          const [first] = views;
          const view = views.length > 1 ? joinViews(views) : first && withoutPart(first);
          return view === undefined ? nothing : resultOf(view, lastColumn);
        },
      ),
    );
  },
};

const nothing: PythonLinesResult = { lines: [] };

/** With one model, no line needs its name. */
function withoutPart({ part: _, ...view }: ModelView): ModelView {
  return view;
}

function resultOf(view: ModelView, lastColumn: number): PythonLinesResult {
  const last = Math.max(0, ...viewsOf(view).flatMap(({ rows }) => rows.map(({ line }) => line)));
  const groups = new Set(
    viewsOf(view).flatMap(({ rows }) => rows.flatMap(({ line, group }) => (group ? [line] : []))),
  );
  // Lenses have a line for themselves; hints are shown as an editor shows those of languages that are not ours.
  const lenses = inlayHints(view, 0, last).filter(({ position: { line } }) => groups.has(line));
  const room = { longest: usualLength, lastColumn };
  const hints = inlayHints(view, 0, last, undefined, room).filter(
    ({ position: { line } }) => !groups.has(line),
  );
  return {
    lines: [...lenses, ...hints]
      .map(({ position: { line }, text }) => ({
        line,
        text,
        details: hoverLine(view, line),
        isGroup: groups.has(line),
      }))
      .sort((one, other) => one.line - other.line),
  };
}
