/**
 * Open documents and their views. A document climbs from text to view in steps that stop as soon as it changes
 * again; requests wait for the view of the present text, and typing waits for nothing.
 */

import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { Recost } from '../language/fix.ts';
import { isComplete, isReadable, keepLastGood } from '../language/keepLastGood.ts';
import { type ModelView, viewOfModel } from '../language/modelView.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import {
  type DocumentCache,
  documentCache,
  makeView,
  measurementKey,
  recostSpec,
  type ViewSources,
} from './makeView.ts';

export interface OpenDocuments {
  /** A document was opened or edited, or what it depends on changed. */
  touch(document: TextDocument, cause: Cause): void;
  close(uri: string): void;
  /** The view of the present text, once it is there; `undefined` for a document that is not a model. */
  view(uri: string): Promise<ModelView | undefined>;
  /** The view that was made last, whatever was typed since. */
  shownView(uri: string): ModelView | undefined;
  /** How the text of a layer spec is costed: with the settings and files of the open one. */
  recost(uri: string): Promise<Recost>;
  /**
   * Measured times of a model of the document, shown for as long as neither the text nor the scenario's batch or
   * precision changes.
   */
  keepMeasurements(uri: string, model: string | undefined, measurements: LayerMeasurements): void;
}

/** An editor asks again by itself after a keystroke; after anything else it has to be asked to. */
export type Cause = 'keystroke' | 'other';

export interface DocumentSources extends ViewSources {
  readonly onView: (document: TextDocument, view: ModelView | undefined, cause: Cause) => void;
  readonly onFailure: (error: unknown) => void;
}

interface State {
  readonly cache: DocumentCache;
  /** Grows with every change; work started for an older one is dropped. */
  generation: number;
  /** What the view under way is for: 'other' until the editor has been asked to refresh. */
  cause: Cause;
  /** Milliseconds that the last view took. */
  duration: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  ready: Promise<void>;
  settle: () => void;
  settled: boolean;
  shown: ModelView | undefined;
  lastGood: ModelView | undefined;
}

export function openDocuments(sources: DocumentSources): OpenDocuments {
  const states = new Map<string, State>();

  const run = async (document: TextDocument, state: State): Promise<void> => {
    const { generation } = state;
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
      sources.onView(document, state.shown, state.cause);
      state.cause = 'keystroke';
    } catch (error) {
      sources.onFailure(error);
    }
    if (!superseded()) settleNow(state);
  };

  return {
    touch: (document, cause) => {
      const state = states.get(document.uri) ?? newState();
      states.set(document.uri, state);
      state.generation += 1;
      clearTimeout(state.timer);
      if (state.settled) unsettle(state);
      if (cause === 'other') state.cause = cause;
      const delay = cause === 'keystroke' ? quietTime(state.duration) : 0;
      state.timer = setTimeout(() => void run(document, state), delay);
    },
    close: (uri) => {
      const state = states.get(uri);
      if (state === undefined) return;
      state.generation += 1;
      clearTimeout(state.timer);
      settleNow(state);
      states.delete(uri);
    },
    view: async (uri) => {
      const state = states.get(uri);
      await state?.ready;
      return state?.shown;
    },
    shownView: (uri) => states.get(uri)?.shown,
    recost: (uri) => recostSpec(uri, sources),
    keepMeasurements: (uri, model, measurements) => {
      const state = states.get(uri);
      if (state?.shown === undefined) return;
      const view = viewOfModel(state.shown, model);
      const scenario = view.estimate.cost?.scenario;
      if (scenario === undefined) return;
      state.cache.measured.set(model, { key: measurementKey(view, scenario), measurements });
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

function newState(): State {
  const state: State = {
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
  return state;
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
