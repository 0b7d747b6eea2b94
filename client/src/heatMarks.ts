/**
 * Marks in the gutter where time, memory or exposed communication goes: a bar of one to four steps, so that height says
 * what colour does. The same costs lead `Layercost: Go to Most Expensive Layer` and its list.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type CostMeasure,
  type CostRow,
  type CostsParams,
  commands,
  listCosts,
} from '../../server/src/protocol.ts';
import { activeModelEditor, type Estimates, isModel } from './estimates.ts';

const measures = ['time', 'memory', 'exposed'] as const satisfies readonly CostMeasure[];
type Measure = CostMeasure;

/** Of the dearest line: what a bar of one, two, three and four steps begins at. */
const levels = [0.05, 0.2, 0.45, 0.75] as const;

export function registerHeatMarks(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  const marks = levels.map((_, level) => decorationOf(level));
  const costsOf = async (document: vscode.TextDocument): Promise<readonly CostRow[]> => {
    await started;
    const params: CostsParams = { uri: client.code2ProtocolConverter.asUri(document.uri) };
    return client.sendRequest<readonly CostRow[]>(listCosts, params);
  };
  const show = async (editor: vscode.TextEditor): Promise<void> => {
    if (!isModel(editor.document)) return;
    const chosen = settingOf(editor.document.uri);
    const { version } = editor.document;
    const rows = chosen === 'off' ? [] : await costsOf(editor.document);
    if (editor.document.version !== version) return;
    const measure = chosen === 'off' ? 'time' : chosen;
    const most = Math.max(0, ...rows.map((row) => amountOf(row, measure)));
    marks.forEach((mark, level) => {
      const here = rows.filter((row) => most > 0 && levelOf(amountOf(row, measure) / most) === level);
      editor.setDecorations(
        mark,
        here.map(({ line }) => new vscode.Range(line, 0, line, 0)),
      );
    });
  };
  const refresh = (uri?: vscode.Uri): void => {
    for (const editor of vscode.window.visibleTextEditors) {
      if (uri === undefined || editor.document.uri.toString() === uri.toString())
        show(editor).catch(() => {});
    }
  };

  /** The place in the list of costs that the cursor is at; the list is by cost, the dearest first. */
  const go = async (step: 'first' | 1 | -1): Promise<void> => {
    const editor = await activeModelEditor();
    const rows = editor === undefined ? [] : await byCost(editor.document);
    if (editor === undefined || rows.length === 0) return tellNothing();
    const here = rows.findIndex(({ line }) => line === editor.selection.active.line);
    const next = step === 'first' || here < 0 ? 0 : (here + step + rows.length) % rows.length;
    const row = rows[next];
    if (row === undefined) return;
    reveal(editor, row);
    vscode.window.setStatusBarMessage(
      vscode.l10n.t('Layercost: {0} of {1} by cost, {2}', next + 1, rows.length, describe(row)),
      5000,
    );
  };
  const byCost = async (document: vscode.TextDocument): Promise<readonly CostRow[]> => {
    const measure = heatMeasure(document.uri);
    const rows = (await costsOf(document)).filter((row) => amountOf(row, measure) > 0);
    return [...rows].sort((left, right) => amountOf(right, measure) - amountOf(left, measure));
  };
  const list = async (): Promise<void> => {
    const editor = await activeModelEditor();
    const rows = editor === undefined ? [] : await byCost(editor.document);
    if (editor === undefined || rows.length === 0) return tellNothing();
    const picked = await vscode.window.showQuickPick(
      rows.map((row) => ({
        label: row.name,
        description: `${row.type}${row.layers > 1 ? ` × ${row.layers}` : ''}`,
        detail: describe(row),
        row,
      })),
      {
        title: vscode.l10n.t('Layercost: Layers by Cost'),
        placeHolder: vscode.l10n.t('Layer to go to'),
        matchOnDescription: true,
      },
    );
    if (picked !== undefined) reveal(editor, picked.row);
  };

  refresh();
  return vscode.Disposable.from(
    ...marks,
    estimates.onChange(refresh),
    vscode.window.onDidChangeVisibleTextEditors(() => refresh()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('layercost.heat')) refresh();
    }),
    vscode.commands.registerCommand(commands.chooseHeat, chooseHeat),
    vscode.commands.registerCommand(commands.goToMostExpensive, () => go('first')),
    vscode.commands.registerCommand(commands.goToNextExpensive, () => go(1)),
    vscode.commands.registerCommand(commands.goToPreviousExpensive, () => go(-1)),
    vscode.commands.registerCommand(commands.listLayersByCost, list),
  );
}

const amountOf = (row: CostRow, measure: Measure): number => row[measure] ?? 0;

const levelOf = (share: number): number => levels.filter((least) => share >= least).length - 1;

/** What costs of a model are sorted by: as its marks, and by time where there are none. */
export function heatMeasure(model: vscode.Uri): Measure {
  const chosen = settingOf(model);
  return chosen === 'off' ? 'time' : chosen;
}

function settingOf(model: vscode.Uri): Measure | 'off' {
  const value = vscode.workspace.getConfiguration('layercost', model).get<string>('heat', 'time');
  return measures.find((measure) => measure === value) ?? (value === 'off' ? 'off' : 'time');
}

function reveal(editor: vscode.TextEditor, { line }: CostRow): void {
  const start = editor.document.lineAt(line).firstNonWhitespaceCharacterIndex;
  const place = new vscode.Position(line, start);
  editor.selection = new vscode.Selection(place, place);
  editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

function tellNothing(): void {
  vscode.window.showInformationMessage(
    vscode.l10n.t('No layer of the active editor has a cost. Open a model that can be costed.'),
  );
}

/** `3.21 ms, 1.4 GiB, 0.2 ms exposed` */
function describe({ time, memory, exposed }: CostRow): string {
  return [
    secondsText(time),
    ...(memory > 0 ? [`${short(memory / 2 ** 20)} MiB`] : []),
    ...(exposed !== null && exposed >= 1e-6
      ? [vscode.l10n.t('{0} of communication exposed', secondsText(exposed))]
      : []),
  ].join(', ');
}

const secondsText = (time: number): string =>
  time >= 1 ? `${short(time)} s` : time >= 1e-3 ? `${short(time * 1e3)} ms` : `${short(time * 1e6)} µs`;
const short = (value: number): string =>
  value >= 1000 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);

async function chooseHeat(): Promise<void> {
  const labels: Readonly<Record<Measure | 'off', string>> = {
    time: vscode.l10n.t('Time'),
    memory: vscode.l10n.t('Memory'),
    exposed: vscode.l10n.t('Exposed communication'),
    off: vscode.l10n.t('Off'),
  };
  const picked = await vscode.window.showQuickPick(
    ([...measures, 'off'] as const).map((value) => ({ label: labels[value], value })),
    { title: vscode.l10n.t('Layercost: Marks in the Gutter') },
  );
  if (picked === undefined) return;
  const target = vscode.workspace.workspaceFolders?.length
    ? vscode.ConfigurationTarget.Workspace
    : vscode.ConfigurationTarget.Global;
  await vscode.workspace.getConfiguration('layercost').update('heat', picked.value, target);
}

function decorationOf(level: number): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    light: { gutterIconPath: bar(level, '#a04a00') },
    dark: { gutterIconPath: bar(level, '#ffb266') },
    gutterIconSize: 'contain',
    ...(level === levels.length - 1
      ? {
          overviewRulerColor: new vscode.ThemeColor('charts.orange'),
          overviewRulerLane: vscode.OverviewRulerLane.Right,
        }
      : {}),
  });
}

/** Four steps, of which the first ones are filled. */
function bar(level: number, color: string): vscode.Uri {
  const steps = levels.map((_, index) => {
    const height = 3 + index * 3;
    const paint = index <= level ? `fill="${color}"` : `fill="none" stroke="${color}" stroke-opacity="0.35"`;
    return `<rect x="${1.5 + index * 3.4}" y="${14 - height}" width="2.4" height="${height}" ${paint}/>`;
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">${steps.join('')}</svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;utf8,${encodeURIComponent(svg)}`);
}
