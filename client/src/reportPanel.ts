/**
 * The report of a model beside it, or its scaling curve, as a page with charts that follows the model: a changed text or scenario replaces what
 * the page shows and leaves what its reader chose. A click on a layer goes to its line; the line at the cursor marks its layer.
 */

import * as vscode from 'vscode';
import type {
  LayerLines,
  ReportPage,
  ReportResult,
  ScenarioChange,
  TryScenarioResult,
} from '../../server/src/protocol.ts';
import { type PanelMessage, readPanelMessage } from './panelMessage.ts';

/** A page of one model; of a text that holds several, of the one that is named. */
export interface PageOfModel {
  readonly page: ReportPage;
  readonly model: vscode.Uri;
  readonly part: string | undefined;
}

export interface ReportedModel extends PageOfModel {
  readonly title: string;
}

/** What of a scenario is written nowhere: the change that a page shows, and those that it is compared with. */
export interface TriedChanges {
  readonly change: ScenarioChange;
  readonly compared: readonly ScenarioChange[];
}

/** What a panel asks of the server, and what of it is written down. */
export interface PanelActions {
  /** The page of the scenario with a change that is written nowhere. */
  readonly askForPage: (
    reported: ReportedModel,
    tried: TriedChanges,
    nonce: string,
    token: vscode.CancellationToken,
  ) => Promise<ReportResult | null>;
  /** Its totals alone, which takes a fraction of the time. */
  readonly tryChange: (
    reported: ReportedModel,
    change: ScenarioChange,
    token: vscode.CancellationToken,
  ) => Promise<TryScenarioResult | null>;
  readonly keepChange: (reported: ReportedModel, change: ScenarioChange) => Promise<void>;
  /** The page says nothing: its script does not run. */
  readonly staySilent: (reported: ReportedModel) => Promise<void>;
}

export interface ReportPanels extends vscode.Disposable {
  /** Opens the panel of the model beside it, or shows the one that is open. */
  readonly show: (reported: ReportedModel, page: ReportResult, nonce: string) => void;
  /** Something about the model is new. */
  readonly refresh: (model: vscode.Uri) => void;
}

export function reportPanels(actions: PanelActions): ReportPanels {
  const open = new Map<string, OpenPanel>();
  /** What was tried in the report is drawn in the scaling page of the same model too. */
  const triedIn = (reported: PageOfModel): readonly ScenarioChange[] =>
    reported.page === 'scaling' ? (open.get(keyOf({ ...reported, page: 'report' }))?.compared() ?? []) : [];
  const shareTried = (reported: PageOfModel): void => {
    if (reported.page === 'report') open.get(keyOf({ ...reported, page: 'scaling' }))?.refresh();
  };
  return {
    show: (reported, page, nonce) => {
      const key = keyOf(reported);
      const known = open.get(key);
      if (known !== undefined) {
        known.reveal();
        return;
      }
      open.set(
        key,
        openPanel(
          reported,
          page,
          nonce,
          {
            ...actions,
            askForPage: (of, tried, ...rest) =>
              actions.askForPage(of, { ...tried, compared: [...tried.compared, ...triedIn(of)] }, ...rest),
          },
          () => shareTried(reported),
          () => {
            open.delete(key);
            shareTried(reported);
          },
        ),
      );
      if (triedIn(reported).length > 0) open.get(key)?.refresh();
    },
    refresh: (model) => {
      for (const panel of open.values()) if (panel.model === model.toString()) panel.refresh();
    },
    dispose: () => {
      for (const panel of [...open.values()]) panel.dispose();
    },
  };
}

export const newNonce = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

const keyOf = ({ page, model, part }: PageOfModel): string => `${page} ${model.toString()} ${part ?? ''}`;

interface OpenPanel extends vscode.Disposable {
  readonly model: string;
  readonly reveal: () => void;
  readonly refresh: () => void;
  /** What was tried in it. */
  readonly compared: () => readonly ScenarioChange[];
}

/** A text that is typed into is asked about when it rests so long, in milliseconds. */
const rest = 250;

/** Scenarios that were tried and are drawn beside the one that is shown. */
const mostCompared = 5;

/** A page that has said nothing for so long will not, in milliseconds. */
const silence = 15_000;

function openPanel(
  reported: ReportedModel,
  first: ReportResult,
  nonce: string,
  actions: PanelActions,
  hasTried: () => void,
  closed: () => void,
): OpenPanel {
  const panel = vscode.window.createWebviewPanel(
    'layercost.report',
    reported.title,
    { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
    { enableScripts: true, localResourceRoots: [], enableFindWidget: true },
  );
  let page = first;
  let wasVisible = true;
  /** What is tried, and written nowhere. */
  let change: ScenarioChange = {};
  /** What was tried before it. */
  let compared: readonly ScenarioChange[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asking: vscode.CancellationTokenSource | undefined;
  panel.webview.html = page.text;
  const silent = setTimeout(() => void actions.staySilent(reported), silence);

  /** Asks what the last question asks; an older one is given up. */
  const latest = async <Answer>(
    ask: (token: vscode.CancellationToken) => Promise<Answer | null>,
  ): Promise<Answer | null> => {
    asking?.cancel();
    const source = new vscode.CancellationTokenSource();
    asking = source;
    const answer = await ask(source.token).catch(() => null);
    return source.token.isCancellationRequested ? null : answer;
  };
  const load = async (): Promise<void> => {
    const next = await latest((token) => actions.askForPage(reported, { change, compared }, nonce, token));
    if (next === null) return;
    if (next.refusal !== undefined) {
      // A text that cannot be costed for a moment leaves the last page; of a scenario that is tried it says why.
      await panel.webview.postMessage({ kind: 'tried', rows: [], sentence: '', refusal: next.refusal });
      return;
    }
    page = next;
    await panel.webview.postMessage({ kind: 'page', html: page.text, tried: page.tried });
  };
  const totals = async (): Promise<void> => {
    const tried = await latest((token) => actions.tryChange(reported, change, token));
    if (tried !== null) await panel.webview.postMessage({ kind: 'tried', ...tried });
  };
  const answer = async (message: PanelMessage): Promise<void> => {
    switch (message.kind) {
      case 'open':
        return goToLayer(reported.model, page.layerLines ?? [], message.layer);
      case 'try':
        change = message.change;
        clearTimeout(timer);
        if (!message.whole) return totals();
        compared = [...compared.filter((each) => !isEqual(each, change)), change].slice(-mostCompared);
        hasTried();
        return load();
      case 'save':
        return savePicture(reported.model, message.name, message.data);
      case 'keep':
        await actions.keepChange(reported, message.change);
        change = {};
        // They were changes of another scenario.
        compared = [];
        hasTried();
        return load();
      case 'ready':
        clearTimeout(silent);
        await panel.webview.postMessage({ kind: 'first', tried: page.tried });
        return markAt(vscode.window.activeTextEditor);
    }
  };
  const markAt = (editor: vscode.TextEditor | undefined): void => {
    if (editor === undefined || editor.document.uri.toString() !== reported.model.toString()) return;
    const layer = layerAt(page.layerLines ?? [], editor.selection.active.line);
    void panel.webview.postMessage({ kind: 'mark', layer: layer ?? '' });
  };
  const subscriptions = vscode.Disposable.from(
    panel.webview.onDidReceiveMessage((message: unknown) => void answer(readPanelMessage(message))),
    panel.onDidChangeViewState(() => {
      // A hidden page is thrown away, and made again from the text it began with.
      if (panel.visible && !wasVisible) panel.webview.html = page.text;
      wasVisible = panel.visible;
    }),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => markAt(textEditor)),
  );
  panel.onDidDispose(() => {
    clearTimeout(timer);
    clearTimeout(silent);
    asking?.cancel();
    subscriptions.dispose();
    closed();
  });
  return {
    model: reported.model.toString(),
    reveal: () => panel.reveal(undefined, true),
    compared: () => compared,
    refresh: () => {
      clearTimeout(timer);
      timer = setTimeout(() => void load(), rest);
    },
    dispose: () => panel.dispose(),
  };
}

const isEqual = (one: ScenarioChange, other: ScenarioChange): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** The first layer that stands on a line. */
const layerAt = (layerLines: readonly LayerLines[], line: number): string | undefined =>
  layerLines.find(({ lines }) => lines.includes(line))?.layers[0];

async function goToLayer(model: vscode.Uri, layerLines: readonly LayerLines[], layer: string): Promise<void> {
  const line = layerLines.find(({ layers }) => layers.includes(layer))?.lines[0];
  if (line !== undefined) await goToLine(model, line);
}

/** Shows a line of a model in the editor that shows the model, else in the first group. */
export async function goToLine(model: vscode.Uri, line: number): Promise<void> {
  const shown = vscode.window.visibleTextEditors.find(
    ({ document }) => document.uri.toString() === model.toString(),
  );
  await vscode.window.showTextDocument(shown?.document ?? (await vscode.workspace.openTextDocument(model)), {
    viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One,
    selection: new vscode.Range(line, 0, line, 0),
  });
}

/** Beside the model, unless the person says otherwise; a model without a folder has no place to propose. */
async function savePicture(model: vscode.Uri, name: string, data: string): Promise<void> {
  const folder =
    vscode.workspace.getWorkspaceFolder(model)?.uri ?? vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog({
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
    filters: { PNG: ['png'] },
  });
  if (target === undefined) return;
  await vscode.workspace.fs.writeFile(
    target,
    Uint8Array.from(atob(data), (character) => character.charCodeAt(0)),
  );
}
