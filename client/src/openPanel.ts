/** One panel with the page of a model: what its reader tries, what it asks the server, and what its page is sent. */

import * as vscode from 'vscode';
import type {
  LayerLines,
  ReportPage,
  ReportResult,
  ScenarioChange,
  TryScenarioResult,
} from '../../server/src/protocol.ts';
import { goToLine } from './goToLine.ts';
import { type PanelMessage, readPanelMessage } from './panelMessage.ts';
import { savePicture } from './savePicture.ts';

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

/** What others learn of a panel. */
export interface PanelListener {
  /** Something was tried in it, or is tried no longer. */
  readonly tried: () => void;
  readonly closed: () => void;
}

/** A text that is typed into is asked about when it rests so long, in milliseconds. */
const rest = 250;

/** Scenarios that were tried and are drawn beside the one that is shown. */
const mostCompared = 5;

/** A page that has said nothing for so long will not, in milliseconds. */
const silence = 15_000;

export class OpenPanel implements vscode.Disposable {
  readonly model: string;
  private readonly panel: vscode.WebviewPanel;
  private readonly silent: ReturnType<typeof setTimeout>;
  private wasVisible = true;
  /** What is tried, and written nowhere. */
  private change: ScenarioChange = {};
  /** What was tried before it. */
  private tried: readonly ScenarioChange[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asking: vscode.CancellationTokenSource | undefined;

  private readonly nonce: string;
  private page: ReportResult;

  /** The script of the page runs by the nonce that the page was asked for with. */
  constructor(
    private readonly reported: ReportedModel,
    { page, nonce }: { readonly page: ReportResult; readonly nonce: string },
    private readonly actions: PanelActions,
    private readonly listener: PanelListener,
  ) {
    this.model = reported.model.toString();
    this.page = page;
    this.nonce = nonce;
    this.panel = vscode.window.createWebviewPanel(
      'layercost.report',
      reported.title,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, localResourceRoots: [], enableFindWidget: true },
    );
    this.panel.webview.html = page.text;
    this.silent = setTimeout(() => void actions.staySilent(reported), silence);
    const subscriptions = vscode.Disposable.from(
      this.panel.webview.onDidReceiveMessage(
        (message: unknown) => void this.answer(readPanelMessage(message)),
      ),
      this.panel.onDidChangeViewState(() => this.showAgain()),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.markAt(textEditor)),
    );
    this.panel.onDidDispose(() => {
      subscriptions.dispose();
      this.close();
    });
  }

  reveal(): void {
    this.panel.reveal(undefined, true);
  }

  refresh(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.load(), rest);
  }

  /** What was tried in it. */
  compared(): readonly ScenarioChange[] {
    return this.tried;
  }

  dispose(): void {
    this.panel.dispose();
  }

  private close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.silent);
    this.asking?.cancel();
    this.listener.closed();
  }

  private async answer(message: PanelMessage): Promise<void> {
    const { model } = this.reported;
    switch (message.kind) {
      case 'open':
        return goToLayer(model, this.page.layerLines ?? [], message.layer);
      case 'try':
        return this.tryChange(message.change, message.whole);
      case 'save':
        return savePicture(model, message.name, message.data);
      case 'keep':
        await this.actions.keepChange(this.reported, message.change);
        this.change = {};
        // They were changes of another scenario.
        this.tried = [];
        this.listener.tried();
        return this.load();
      case 'ready':
        clearTimeout(this.silent);
        await this.panel.webview.postMessage({ kind: 'first', tried: this.page.tried });
        return this.markAt(vscode.window.activeTextEditor);
    }
  }

  /** Shows the totals of a change, or its whole page. */
  private async tryChange(change: ScenarioChange, isWhole: boolean): Promise<void> {
    this.change = change;
    clearTimeout(this.timer);
    if (!isWhole) return this.showTotals();
    const others = this.tried.filter((each) => !isEqual(each, change));
    this.tried = [...others, change].slice(-mostCompared);
    this.listener.tried();
    return this.load();
  }

  private async load(): Promise<void> {
    const asked = { change: this.change, compared: this.tried };
    const next = await this.latest((token) =>
      this.actions.askForPage(this.reported, asked, this.nonce, token),
    );
    if (next === null) return;
    if (next.refusal !== undefined) {
      // A text that cannot be costed for a moment leaves the last page; of a scenario that is tried it says why.
      const refused = { kind: 'tried', rows: [], sentence: '', refusal: next.refusal };
      await this.panel.webview.postMessage(refused);
      return;
    }
    this.page = next;
    await this.panel.webview.postMessage({ kind: 'page', html: next.text, tried: next.tried });
  }

  private async showTotals(): Promise<void> {
    const tried = await this.latest((token) => this.actions.tryChange(this.reported, this.change, token));
    if (tried !== null) await this.panel.webview.postMessage({ kind: 'tried', ...tried });
  }

  /** Asks what the last question asks; an older one is given up. */
  private async latest<Answer>(
    ask: (token: vscode.CancellationToken) => Promise<Answer | null>,
  ): Promise<Answer | null> {
    this.asking?.cancel();
    const source = new vscode.CancellationTokenSource();
    this.asking = source;
    const answer = await ask(source.token).catch(() => null);
    return source.token.isCancellationRequested ? null : answer;
  }

  /** A hidden page is thrown away, and made again from the text it began with. */
  private showAgain(): void {
    if (this.panel.visible && !this.wasVisible) this.panel.webview.html = this.page.text;
    this.wasVisible = this.panel.visible;
  }

  /** Marks the layer at the cursor. */
  private markAt(editor: vscode.TextEditor | undefined): void {
    if (editor === undefined || editor.document.uri.toString() !== this.model) return;
    const layer = layerAt(this.page.layerLines ?? [], editor.selection.active.line);
    void this.panel.webview.postMessage({ kind: 'mark', layer: layer ?? '' });
  }
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
