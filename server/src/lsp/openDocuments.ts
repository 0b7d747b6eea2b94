/**
 * Open documents and their views. A document climbs from text to view in steps that stop as soon as it changes
 * again; requests wait for the view of the present text, and typing waits for nothing.
 */

import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { Recost } from '../language/fix.ts';
import { isComplete, isReadable, keepLastGood } from '../language/keepLastGood.ts';
import type { ModelView } from '../language/modelView.ts';
import type { ScenarioChange } from '../model/scenarioChange.ts';
import { estimateEarlier } from './estimateEarlier.ts';
import {
  type DocumentCache,
  documentCache,
  makeView,
  recostScenario,
  recostSpec,
  type ViewSources,
} from './makeView.ts';
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

/**
 * An editor asks again by itself after a keystroke, and is the one that asks for a view that was let go of; after
 * anything else it has to be asked to.
 */
export type Cause = 'keystroke' | 'asked' | 'other';

export interface DocumentSources extends ViewSources {
  /** Whether the editor asks for what it shows; else it is sent to it, for documents in the background too. */
  readonly editorAsks: () => boolean;
  readonly onView: (document: TextDocument, view: ModelView | undefined, cause: Cause) => void;
  readonly onFailure: (error: unknown) => void;
}

interface State {
  readonly document: TextDocument;
  cache: DocumentCache;
  /** Grows with every change; work started for an older one is dropped. */
  generation: number;
  /** What the view under way is for: 'other' until the editor has been asked to refresh. */
  cause: Cause;
  /** The document was not used for long, and its view is made again when it is asked for. */
  letGo: boolean;
  /** Milliseconds that the last view took. */
  duration: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  ready: Promise<void>;
  settle: () => void;
  settled: boolean;
  shown: ModelView | undefined;
  lastGood: ModelView | undefined;
}

/** `recent` chooses the documents that are let go of. */
export function openDocuments(
  sources: DocumentSources,
  recent: RecentDocuments = recentDocuments(),
): OpenDocuments {
  const states = new Map<string, State>();
  /** Documents that were let go of are costed one after another, so that memory holds one of them. */
  let background: Promise<void> = Promise.resolve();

  const letGo = (state: State): void => {
    state.letGo = true;
    state.shown = undefined;
    state.lastGood = undefined;
    state.cache = { ...documentCache(), measured: state.cache.measured };
    const source = modelBehind(state.document.uri);
    if (source !== undefined) sources.files.forget(source);
  };

  const use = ({ document, shown }: State): void => {
    for (const uri of recent.use(document.uri, shown?.estimate.training?.costs.length ?? 1)) {
      const state = states.get(uri);
      // One that is being made is used when it is there.
      if (state?.settled === true) letGo(state);
    }
  };

  const run = async (state: State): Promise<void> => {
    const { document, generation } = state;
    const superseded = (): boolean => state.generation !== generation;
    const started = performance.now();
    try {
      const view = await makeView(document, state.cache, sources, superseded);
      if (superseded()) return;
      if (view !== undefined) {
        // Numbers of another scenario are no good ones, only those of another moment of the text are.
        const isOther = state.cause === 'other' && isReadable(view);
        state.shown = isOther ? view : keepLastGood(view, state.lastGood);
        if (isComplete(view)) state.lastGood = view;
      }
      state.duration = performance.now() - started;
      const { shown } = state;
      settleNow(state);
      // Hints that wait are answered before findings are worked out, which a newer keystroke leaves out.
      await sources.nextTurn();
      if (superseded()) return;
      sources.onView(document, shown, state.cause);
      state.cause = 'keystroke';
    } catch (error) {
      sources.onFailure(error);
    }
    if (superseded()) return;
    settleNow(state);
    if (state.letGo) letGo(state);
    else use(state);
  };

  const start = (state: State, cause: Cause): void => {
    state.generation += 1;
    clearTimeout(state.timer);
    if (state.settled) unsettle(state);
    if (cause !== 'keystroke' && state.cause !== 'other') state.cause = cause;
    const delay = cause === 'keystroke' ? quietTime(state.duration) : 0;
    state.timer = setTimeout(() => void run(state), delay);
  };

  /** What a document that nobody looks at depends on has changed. Editors that ask will ask. */
  const startInBackground = (state: State): void => {
    if (sources.editorAsks()) return;
    state.generation += 1;
    state.cause = 'asked';
    if (state.settled) unsettle(state);
    const { generation } = state;
    background = background.then(() => (state.generation === generation ? run(state) : undefined));
  };

  return {
    touch: (document, cause) => {
      const known = states.get(document.uri);
      const state = known?.document === document ? known : newState(document);
      states.set(document.uri, state);
      if (state.letGo && cause === 'other') return startInBackground(state);
      state.letGo = false;
      start(state, cause);
    },
    close: (uri) => {
      const state = states.get(uri);
      if (state === undefined) return;
      state.generation += 1;
      clearTimeout(state.timer);
      settleNow(state);
      states.delete(uri);
      recent.forget(uri);
    },
    view: async (uri) => {
      const state = states.get(uri);
      if (state === undefined) return undefined;
      if (state.letGo) {
        state.letGo = false;
        start(state, 'asked');
      }
      await state.ready;
      const { shown } = state;
      if (state.settled && states.get(uri) === state) use(state);
      return shown;
    },
    shownView: (uri) => states.get(uri)?.shown,
    recost: (uri) => recostSpec(uri, sources),
    recostScenario: (uri, view) => recostScenario(uri, view, sources),
    estimateEarlier: (uri, content, model) =>
      estimateEarlier(modelBehind(uri) ?? uri, content, model, sources),
    keepMeasured: (uri, model, measured) => {
      const known = states.get(uri)?.cache.measured;
      if (measured === undefined) known?.delete(model);
      else known?.set(model, measured);
    },
  };
}

/**
 * How long to wait for the next keystroke: not at all where the numbers are there before a person could type it, else
 * so long that a fast typist is not answered between two keys.
 */
const quietTime = (duration: number): number => (duration < soon ? 0 : Math.min(duration, longestQuiet));
const soon = 150;
const longestQuiet = 150;

function newState(document: TextDocument): State {
  return {
    document,
    letGo: false,
    cache: documentCache(),
    generation: 0,
    cause: 'other',
    duration: 0,
    timer: undefined,
    ready: Promise.resolve(),
    settle: () => {},
    settled: true,
    shown: undefined,
    lastGood: undefined,
  };
}

function unsettle(state: State): void {
  state.settled = false;
  state.ready = new Promise((resolve) => {
    state.settle = resolve;
  });
}

function settleNow(state: State): void {
  state.settled = true;
  state.settle();
}
