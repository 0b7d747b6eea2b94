/** `textDocument/codeAction`: quick fixes. The saving of a fix is found by costing the text with it. */

import { describeOperator } from '../../formats/custom-operators/describeOperator.ts';
import { diagnostics } from '../../language/diagnostics.ts';
import type { Fix } from '../../language/fix.ts';
import { changeScenario } from '../../language/layer-spec/changeScenario.ts';
import { layerSpecFixes } from '../../language/layer-spec/fixes/layerSpecFixes.ts';
import { readSpecText } from '../../language/layer-spec/specText.ts';
import { caffeFixes, onnxTextFixes } from '../../language/nearestFixes.ts';
import { operatorSketches, type SketchedDiagnostic } from '../../language/onnx-text/operatorSketches.ts';
import { dimensionFixes, findingSettingFixes, type SettingFix } from '../../language/settingFixes.ts';
import { differenceOf } from '../../language/textEdit.ts';
import { type Range, splitLines } from '../../language/textLines.ts';
import { customOperatorsFile } from '../../model/declaredOperator.ts';
import { commands, type InitializationOptions, languageIds } from '../../protocol.ts';
import { stopIfCancelled } from '../answer.ts';
import { languageOf } from '../languageOf.ts';
import { lsp } from '../languageServer.ts';
import type { ServerContext } from '../serverContext.ts';
import { toDiagnostic, toTextEdits } from '../toProto.ts';
import { modelBehind, resolvePath } from '../virtualText.ts';
import type { Request } from './request.ts';
import { isOfText } from './scenario.ts';

export const codeActions: Request = {
  capabilities: () => ({ codeActionProvider: { codeActionKinds: [lsp.CodeActionKind.QuickFix] } }),
  serve: (server) => {
    const { connection, handler, session, texts, documents, includes } = server;
    connection.onCodeAction(
      handler('quick fixes', [], async ({ textDocument, range, context }: lsp.CodeActionParams, token) => {
        const { uri } = textDocument;
        const wanted = context.only ?? [lsp.CodeActionKind.QuickFix];
        if (!wanted.some((kind) => lsp.CodeActionKind.QuickFix.startsWith(kind))) return [];
        const view = await documents.view(uri);
        const recost = await documents.recost(uri);
        stopIfCancelled(token);
        const document = texts.get(uri);
        if (view === undefined || document === undefined) return [];
        const source = document.getText();
        const here = diagnostics(view).filter((diagnostic) => touch(diagnostic.range, range));
        const fixes = (): readonly Fix[] => {
          switch (languageOf(document)) {
            case languageIds.layerSpec:
              // The layers of a binary model are read-only.
              if (modelBehind(uri) !== undefined) return [];
              return layerSpecFixes(readSpecText(source, includes.texts(uri)), view, here, recost);
            case languageIds.onnxText:
              // The text of a binary model is read-only.
              return modelBehind(uri) === undefined ? onnxTextFixes(source, view, here) : [];
            case languageIds.caffePrototxt:
              return caffeFixes(source, view, here);
            default:
              return [];
          }
        };
        const lines = splitLines(source);
        const isSpec = document.languageId === languageIds.layerSpec && modelBehind(uri) === undefined;
        const inScenario = isSpec
          ? []
          : findingSettingFixes(view, here, await documents.recostScenario(uri, view));
        const settingActions = [...dimensionFixes(view, here), ...inScenario].flatMap((fix) =>
          toSettingAction(fix, uri, isSpec ? source : undefined, session.options),
        );
        const textActions = fixes().map(
          ({ title, diagnostic, edits, preferred }): lsp.CodeAction => ({
            title,
            kind: lsp.CodeActionKind.QuickFix,
            diagnostics: [toDiagnostic(diagnostic, session.options)],
            edit: { changes: { [uri]: toTextEdits(lines, edits) } },
            ...(preferred ? { isPreferred: true } : {}),
          }),
        );
        const describing = await descriptionActions(server, uri, operatorSketches(view, here));
        return [...textActions, ...settingActions, ...describing];
      }),
    );
  },
};

/** An edit of a layer spec that says this itself, else a command that writes the settings, where the editor has it. */
function toSettingAction(
  { title, diagnostic, change, preferred }: SettingFix,
  uri: string,
  spec: string | undefined,
  options: InitializationOptions,
): readonly lsp.CodeAction[] {
  const { model } = diagnostic;
  const action = {
    title,
    kind: lsp.CodeActionKind.QuickFix,
    diagnostics: [toDiagnostic(diagnostic, options)],
    ...(preferred ? { isPreferred: true } : {}),
  };
  if (spec !== undefined && isOfText(spec, change, model)) {
    const edit = differenceOf(spec, changeScenario(spec, change, model));
    return edit === undefined
      ? []
      : [{ ...action, edit: { changes: { [uri]: toTextEdits(splitLines(spec), [edit]) } } }];
  }
  const command = { title, command: commands.changeScenario, arguments: [uri, change, model ?? null] };
  return options.hasCommands === true ? [{ ...action, command }] : [];
}

/** Edits of the file that describes custom operators beside the model, which may have to be made. */
async function descriptionActions(
  { session, includes, texts }: ServerContext,
  uri: string,
  sketches: readonly SketchedDiagnostic[],
): Promise<readonly lsp.CodeAction[]> {
  const model = modelBehind(uri) ?? uri;
  const file = resolvePath(model, customOperatorsFile);
  const { documentChanges, resourceOperations = [] } = session.client.workspace?.workspaceEdit ?? {};
  if (sketches.length === 0 || file === undefined || documentChanges !== true) return [];
  await includes.load(model, [customOperatorsFile]);
  const before = includes.reader(model)(customOperatorsFile);
  if (before === undefined && !resourceOperations.includes(lsp.ResourceOperationKind.Create)) return [];
  return sketches.flatMap(({ diagnostic, sketch }) => {
    const text = describeOperator(before ?? '', sketch);
    if (text === undefined) return [];
    const edit = differenceOf(before ?? '', text);
    if (edit === undefined) return [];
    const change = lsp.TextDocumentEdit.create(
      { uri: file, version: texts.get(file)?.version ?? null },
      toTextEdits(splitLines(before ?? ''), [edit]),
    );
    const made = before === undefined ? [lsp.CreateFile.create(file, { ignoreIfExists: true })] : [];
    return [
      {
        title: `Describe \`${sketch.key}\` in ${customOperatorsFile}`,
        kind: lsp.CodeActionKind.QuickFix,
        diagnostics: [toDiagnostic(diagnostic, session.options)],
        edit: { documentChanges: [...made, change] },
      },
    ];
  });
}

function touch(one: Range, other: lsp.Range): boolean {
  const isAfter = (left: lsp.Position, right: lsp.Position): boolean =>
    left.line > right.line || (left.line === right.line && left.character > right.character);
  return !isAfter(one.start, other.end) && !isAfter(other.start, one.end);
}
