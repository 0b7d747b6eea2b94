/**
 * Open documents and their views. A document climbs from text to view in steps that stop as soon as it changes
 * again; requests wait for the view of the present text, and typing waits for nothing.
 */

import type { TextDocument } from 'vscode-languageserver-textdocument';
import { openLayerSpec, openOnnxText } from '../analysis/openModel.ts';
import { estimateModel } from '../estimate/estimateModel.ts';
import type { OnnxTextSpans } from '../formats/onnx-text/readOnnxText.ts';
import { isComplete, keepLastGood } from '../language/keepLastGood.ts';
import { locateOnnxText } from '../language/locateOnnxText.ts';
import type { ModelView } from '../language/modelView.ts';
import { viewLayerSpec } from '../language/viewLayerSpec.ts';
import { viewOnnxText } from '../language/viewOnnxText.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { Scenario } from '../model/scenario.ts';
import { languageIds } from '../protocol.ts';
import type { OnnxFiles } from './onnxFiles.ts';
import { type Settings, scenarioOfSettings } from './settings.ts';
import { fileName, modelBehind } from './virtualText.ts';

export interface OpenDocuments {
  /** A document was opened, edited, or what it depends on changed. */
  touch(document: TextDocument, delay: number): void;
  close(uri: string): void;
  /** The view of the present text, once it is there; `undefined` for a document that is not a model. */
  view(uri: string): Promise<ModelView | undefined>;
  /** Measured times, shown for as long as neither the text nor the scenario's batch or precision changes. */
  keepMeasurements(uri: string, measurements: LayerMeasurements): void;
}

export interface DocumentSources {
  readonly files: OnnxFiles;
  readonly settingsOf: (uri: string) => Promise<Settings>;
  readonly onView: (document: TextDocument, view: ModelView | undefined) => void;
  readonly onFailure: (error: unknown) => void;
}

interface State {
  /** Grows with every change; work started for an older one is dropped. */
  generation: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  ready: Promise<void>;
  settle: () => void;
  settled: boolean;
  shown: ModelView | undefined;
  lastGood: ModelView | undefined;
  measured: { readonly key: string; readonly measurements: LayerMeasurements } | undefined;
}

export function openDocuments(sources: DocumentSources): OpenDocuments {
  const states = new Map<string, State>();

  const run = async (document: TextDocument, state: State): Promise<void> => {
    const { generation } = state;
    const superseded = (): boolean => state.generation !== generation;
    try {
      const view = await makeView(document, state, sources, superseded);
      if (superseded()) return;
      if (view !== undefined) {
        state.shown = keepLastGood(view, state.lastGood);
        if (isComplete(view)) state.lastGood = view;
      }
      sources.onView(document, state.shown);
    } catch (error) {
      sources.onFailure(error);
    }
    if (!superseded()) settleNow(state);
  };

  return {
    touch: (document, delay) => {
      const state = states.get(document.uri) ?? newState();
      states.set(document.uri, state);
      state.generation += 1;
      clearTimeout(state.timer);
      if (state.settled) unsettle(state);
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
    keepMeasurements: (uri, measurements) => {
      const state = states.get(uri);
      const scenario = state?.shown?.estimate.cost?.scenario;
      if (state?.shown === undefined || scenario === undefined) return;
      state.measured = { key: measurementKey(state.shown, scenario), measurements };
    },
  };
}

async function makeView(
  document: TextDocument,
  state: State,
  sources: DocumentSources,
  superseded: () => boolean,
): Promise<ModelView | undefined> {
  const source = modelBehind(document.uri);
  const settings = await sources.settingsOf(source ?? document.uri);
  const request = scenarioOfSettings(settings);
  const measuredView = (make: (measurements: LayerMeasurements | undefined) => ModelView): ModelView => {
    const view = make(state.measured?.measurements);
    const scenario = view.estimate.cost?.scenario;
    if (state.measured === undefined) return view;
    return scenario !== undefined && measurementKey(view, scenario) === state.measured.key
      ? view
      : make(undefined);
  };
  if (source !== undefined) {
    const file = await sources.files.open(source);
    // The editor still shows the text of an older state of the file; it is being told to ask again.
    if (superseded() || document.getText() !== file.text) return undefined;
    await breathe();
    if (superseded()) return undefined;
    const estimate = estimateModel(file.opened, [request]);
    return measuredView((measurements) => viewOnnxText(file, estimate, measurements));
  }
  if (superseded()) return undefined;
  const text = document.getText();
  if (document.languageId === languageIds.onnxText) {
    const opened = openOnnxText(text, fileName(document.uri));
    await breathe();
    if (superseded()) return undefined;
    const located = locateOnnxText(text, opened.onnxSpans ?? noSpans);
    const estimate = estimateModel(opened, [request]);
    return measuredView((measurements) => viewOnnxText(located, estimate, measurements));
  }
  if (document.languageId !== languageIds.layerSpec) return undefined;
  const opened = openLayerSpec(text, fileName(document.uri), { dimensions: settings.dimensions });
  await breathe();
  if (superseded()) return undefined;
  const estimate = estimateModel(opened, [opened.scenario, request]);
  return measuredView((measurements) => viewLayerSpec(text, estimate, measurements));
}

const noSpans: OnnxTextSpans = { nodes: [], values: new Map(), sections: [] };

/** Lets messages that arrived meanwhile be seen, above all the next keystroke. */
const breathe = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** What measured times depend on: the text, and what of the scenario reaches a single GPU's work. */
const measurementKey = (view: ModelView, scenario: Scenario): string =>
  JSON.stringify([
    view.text.lines,
    scenario.batchPerGpu,
    scenario.dimensions,
    scenario.precision,
    scenario.optimizer,
    scenario.mode,
  ]);

function newState(): State {
  const state: State = {
    generation: 0,
    timer: undefined,
    ready: Promise.resolve(),
    settle: () => {},
    settled: true,
    shown: undefined,
    lastGood: undefined,
    measured: undefined,
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
