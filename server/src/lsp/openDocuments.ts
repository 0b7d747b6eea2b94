/**
 * Open documents and their views. A document climbs from text to view in steps that stop as soon as it changes
 * again; requests wait for the view of the present text, and typing waits for nothing.
 */

import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { Recost } from '../language/fix.ts';
import type { ModelView } from '../language/modelView.ts';
import type { ScenarioChange } from '../model/scenarioChange.ts';
import { type Cause, DocumentState } from './documentState.ts';
import { estimateEarlier } from './estimateEarlier.ts';
import { makeView, recostScenario, recostSpec, type ViewSources } from './makeView.ts';
import type { MeasuredOf } from './platform.ts';
import { type RecentDocuments, recentDocuments } from './recentDocuments.ts';
import { modelBehind } from './virtualText.ts';

export interface OpenDocuments {
  /** A document was opened or edited, or what it depends on changed. */
  touch(document: TextDocument, cause: Cause): void;
  close(uri: string): void;
  /** The view of the present text, once it is there; `undefined` for a document that is not a model. */
  view(uri: string): Promise<ModelView | undefined>;
  /** The view that was made last, whatever was typed since; `undefined` also where it was let go of. */
  shownView(uri: string): ModelView | undefined;
  /** How the text of a layer spec is costed: with the settings and files of the open one. */
  recost(uri: string): Promise<Recost>;
  /** How a shown model is costed with something of its scenario changed. */
  recostScenario(uri: string, view: ModelView): Promise<(change: ScenarioChange) => ModelEstimate>;
  /** The cost of an earlier state of the file behind a document, or of one of its models. */
  estimateEarlier(uri: string, content: Uint8Array, model: string | undefined): Promise<ModelEstimate>;
  /** Measured times of a model of the document that no file keeps; `undefined` forgets older ones. */
  keepMeasured(uri: string, model: string | undefined, measured: MeasuredOf | undefined): void;
}

export interface DocumentSources extends ViewSources {
  /** Whether the editor asks for what it shows; else it is sent to it, for documents in the background too. */
  readonly editorAsks: () => boolean;
  readonly onView: (document: TextDocument, view: ModelView | undefined, cause: Cause) => void;
  readonly onFailure: (error: unknown) => void;
}

/** `recent` chooses the documents that are let go of. */
export const openDocuments = (
  sources: DocumentSources,
  recent: RecentDocuments = recentDocuments(),
): OpenDocuments => new DocumentsInSteps(sources, recent);

class DocumentsInSteps implements OpenDocuments {
  private readonly states = new Map<string, DocumentState>();
  /** Documents that were let go of are costed one after another, so that memory holds one of them. */
  private background: Promise<void> = Promise.resolve();

  constructor(
    private readonly sources: DocumentSources,
    private readonly recent: RecentDocuments,
  ) {}

  touch(document: TextDocument, cause: Cause): void {
    const known = this.states.get(document.uri);
    const state = known?.document === document ? known : new DocumentState(document);
    this.states.set(document.uri, state);
    if (state.letGo && cause === 'other') {
      this.startInBackground(state);
      return;
    }
    state.letGo = false;
    this.start(state, cause);
  }

  close(uri: string): void {
    const state = this.states.get(uri);
    if (state === undefined) return;
    state.supersede();
    state.settle();
    this.states.delete(uri);
    this.recent.forget(uri);
  }

  async view(uri: string): Promise<ModelView | undefined> {
    const state = this.states.get(uri);
    if (state === undefined) return undefined;
    if (state.letGo) {
      state.letGo = false;
      this.start(state, 'asked');
    }
    await state.ready;
    const { shown } = state;
    if (state.settled && this.states.get(uri) === state) this.use(state);
    return shown;
  }

  shownView(uri: string): ModelView | undefined {
    return this.states.get(uri)?.shown;
  }

  recost(uri: string): Promise<Recost> {
    return recostSpec(uri, this.sources);
  }

  recostScenario(uri: string, view: ModelView): Promise<(change: ScenarioChange) => ModelEstimate> {
    return recostScenario(uri, view, this.sources);
  }

  estimateEarlier(uri: string, content: Uint8Array, model: string | undefined): Promise<ModelEstimate> {
    return estimateEarlier(modelBehind(uri) ?? uri, content, model, this.sources);
  }

  keepMeasured(uri: string, model: string | undefined, measured: MeasuredOf | undefined): void {
    const known = this.states.get(uri)?.cache.measured;
    if (measured === undefined) known?.delete(model);
    else known?.set(model, measured);
  }

  private start(state: DocumentState, cause: Cause): void {
    state.supersede();
    state.unsettle();
    if (cause !== 'keystroke' && state.cause !== 'other') state.cause = cause;
    const delay = cause === 'keystroke' ? quietTime(state.duration) : 0;
    state.timer = setTimeout(() => void this.run(state), delay);
  }

  /** What a document that nobody looks at depends on has changed. Editors that ask will ask. */
  private startInBackground(state: DocumentState): void {
    if (this.sources.editorAsks()) return;
    state.generation += 1;
    state.cause = 'asked';
    state.unsettle();
    const { generation } = state;
    this.background = this.background.then(() =>
      state.generation === generation ? this.run(state) : undefined,
    );
  }

  private async run(state: DocumentState): Promise<void> {
    const { generation } = state;
    const superseded = (): boolean => state.generation !== generation;
    try {
      await this.showView(state, superseded);
    } catch (error) {
      this.sources.onFailure(error);
    }
    if (superseded()) return;
    state.settle();
    if (state.letGo) this.letGo(state);
    else this.use(state);
  }

  private async showView(state: DocumentState, superseded: () => boolean): Promise<void> {
    const { document } = state;
    const started = performance.now();
    const view = await makeView(document, state.cache, this.sources, superseded);
    if (superseded()) return;
    if (view !== undefined) state.show(view);
    state.duration = performance.now() - started;
    const { shown } = state;
    state.settle();
    // Hints that wait are answered before findings are worked out, which a newer keystroke leaves out.
    await this.sources.nextTurn();
    if (superseded()) return;
    this.sources.onView(document, shown, state.cause);
    state.cause = 'keystroke';
  }

  private use({ document, shown }: DocumentState): void {
    for (const uri of this.recent.use(document.uri, shown?.estimate.training?.costs.length ?? 1)) {
      const state = this.states.get(uri);
      // One that is being made is used when it is there.
      if (state?.settled === true) this.letGo(state);
    }
  }

  private letGo(state: DocumentState): void {
    state.forgetViews();
    const source = modelBehind(state.document.uri);
    if (source !== undefined) this.sources.files.forget(source);
  }
}

/**
 * How long to wait for the next keystroke: not at all where the numbers are there before a person could type it, else
 * so long that a fast typist is not answered between two keys.
 */
const quietTime = (duration: number): number => (duration < soon ? 0 : Math.min(duration, longestQuiet));
const soon = 150;
const longestQuiet = 150;
