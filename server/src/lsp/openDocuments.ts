/**
 * Open documents and their views. A document climbs from text to view in steps that stop as soon as it changes
 * again; requests wait for the view of the present text, and typing waits for nothing.
 */

import type { TextDocument } from 'vscode-languageserver-textdocument';
import { type AnalysisCache, analysisCache } from '../analysis/analysisCache.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import { openCaffe, openOnnxTextInSteps, openSpecInSteps } from '../analysis/openModel.ts';
import { type EstimateCache, estimateCache } from '../estimate/estimateCache.ts';
import { estimateInSteps, type ModelEstimate } from '../estimate/estimateModel.ts';
import { readFrameworkDescription } from '../formats/framework/readFrameworkDescription.ts';
import { ReadingCache } from '../formats/layer-spec/readingCache.ts';
import { type ReadSpec, readLayerSpec } from '../formats/layer-spec/readLayerSpec.ts';
import { modelNames } from '../formats/layer-spec/selectModel.ts';
import type { OnnxTextSpans } from '../formats/onnx-text/textSpans.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { Recost } from '../language/fix.ts';
import { isComplete, isReadable, keepLastGood } from '../language/keepLastGood.ts';
import { locateOnnxText } from '../language/locateOnnxText.ts';
import { joinViews, type ModelView, viewOfModel } from '../language/modelView.ts';
import { viewCaffe } from '../language/viewCaffe.ts';
import { viewLayerSpec } from '../language/viewLayerSpec.ts';
import { viewOnnxText } from '../language/viewOnnxText.ts';
import { LoweringCache } from '../lowering/layer-spec/loweringCache.ts';
import type { FrameworkDescription } from '../model/frameworkDescription.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { Scenario, ScenarioRequest } from '../model/scenario.ts';
import { finish, type Steps } from '../model/steps.ts';
import { languageIds } from '../protocol.ts';
import type { IncludedFiles } from './includedFiles.ts';
import type { OnnxFiles } from './onnxFiles.ts';
import { runSteps } from './runSteps.ts';
import { type Settings, scenarioOfSettings } from './settings.ts';
import type { OwnFiles, OwnFramework, UserCluster } from './userProfiles.ts';
import { fileName, modelBehind } from './virtualText.ts';

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

/** An editor asks again by itself after a keystroke; after anything else it has to be told to. */
export type Cause = 'keystroke' | 'other';

export interface DocumentSources {
  readonly files: OnnxFiles;
  readonly settingsOf: (uri: string) => Promise<Settings>;
  readonly clusters: OwnFiles<ClusterProfile>;
  readonly frameworks: OwnFiles<FrameworkDescription>;
  readonly includes: IncludedFiles;
  /** Lets messages that arrived meanwhile be seen. */
  readonly nextTurn: () => Promise<void>;
  readonly onView: (document: TextDocument, view: ModelView | undefined, cause: Cause) => void;
  readonly onFailure: (error: unknown) => void;
}

interface State {
  /** What was read of the lines of a layer spec, for the next keystroke. */
  readonly reading: ReadingCache;
  /** What was found out about them, by model. */
  readonly memories: Map<string | undefined, ModelCache>;
  /** Grows with every change; work started for an older one is dropped. */
  generation: number;
  /** What the view under way is for: 'other' until the editor was told. */
  cause: Cause;
  /** Milliseconds that the last view took. */
  duration: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  ready: Promise<void>;
  settle: () => void;
  settled: boolean;
  shown: ModelView | undefined;
  lastGood: ModelView | undefined;
  /** By model. */
  readonly measured: Map<string | undefined, Measured>;
}

/** What is kept of a model of a layer spec from one keystroke to the next. */
interface ModelCache {
  readonly lowering: LoweringCache;
  readonly analyses: AnalysisCache;
  readonly estimates: EstimateCache;
}

const newCache = (): ModelCache => ({
  lowering: new LoweringCache(),
  analyses: analysisCache(),
  estimates: estimateCache(),
});

interface Measured {
  /** Of what the times depend on. */
  readonly key: string;
  readonly measurements: LayerMeasurements;
}

export function openDocuments(sources: DocumentSources): OpenDocuments {
  const states = new Map<string, State>();

  const run = async (document: TextDocument, state: State): Promise<void> => {
    const { generation } = state;
    const superseded = (): boolean => state.generation !== generation;
    const started = performance.now();
    try {
      const view = await makeView(document, state, sources, superseded);
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
    recost: async (uri) => {
      const settings = await sources.settingsOf(uri);
      const own = await ownScenario(settings, uri, sources);
      return (text, model) => {
        const spec = specReader(uri, settings, sources.includes);
        return finish(estimateWith(finish(spec(readLayerSpec(text), model)), own));
      };
    },
    keepMeasurements: (uri, model, measurements) => {
      const state = states.get(uri);
      if (state?.shown === undefined) return;
      const view = viewOfModel(state.shown, model);
      const scenario = view.estimate.cost?.scenario;
      if (scenario === undefined) return;
      state.measured.set(model, { key: measurementKey(view, scenario), measurements });
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

async function makeView(
  document: TextDocument,
  state: State,
  sources: DocumentSources,
  superseded: () => boolean,
): Promise<ModelView | undefined> {
  const source = modelBehind(document.uri);
  const settings = await sources.settingsOf(source ?? document.uri);
  const own = await ownScenario(settings, source ?? document.uri, sources);
  const estimate = (opened: OpenedModel, memory?: EstimateCache): Steps<ModelEstimate> =>
    estimateWith(opened, own, memory);
  const unlessSuperseded = <Result>(steps: Steps<Result>): Promise<Result | undefined> =>
    runSteps(steps, sources.nextTurn, superseded);
  const measuredView = (
    make: (measurements: LayerMeasurements | undefined) => ModelView,
    model?: string,
  ): ModelView => {
    const measured = state.measured.get(model);
    const view = make(measured?.measurements);
    const scenario = view.estimate.cost?.scenario;
    if (measured === undefined) return view;
    return scenario !== undefined && measurementKey(view, scenario) === measured.key ? view : make(undefined);
  };
  if (source !== undefined) {
    const file = await sources.files.open(source);
    // The editor still shows the text of an older state of the file; it is being told to ask again.
    if (superseded() || document.getText() !== file.text) return undefined;
    const costed = await unlessSuperseded(estimate(file.opened));
    if (costed === undefined) return undefined;
    return measuredView((measurements) => viewOnnxText(file, costed, measurements));
  }
  if (superseded()) return undefined;
  const text = document.getText();
  if (document.languageId === languageIds.onnxText) {
    const opened = await unlessSuperseded(openOnnxTextInSteps(text, fileName(document.uri)));
    if (opened === undefined) return undefined;
    const located = locateOnnxText(text, opened.onnxSpans ?? noSpans);
    const costed = await unlessSuperseded(estimate(opened));
    if (costed === undefined) return undefined;
    return measuredView((measurements) => viewOnnxText(located, costed, measurements));
  }
  if (document.languageId === languageIds.caffePrototxt) {
    const opened = openCaffe(text, fileName(document.uri), settings.dimensions);
    await sources.nextTurn();
    if (superseded()) return undefined;
    const costed = await unlessSuperseded(estimate(opened));
    if (costed === undefined) return undefined;
    return measuredView((measurements) => viewCaffe(text, costed, measurements));
  }
  if (document.languageId !== languageIds.layerSpec) return undefined;
  const read = readLayerSpec(text, state.reading);
  const names = read.spec === undefined ? [] : modelNames(read.spec);
  const models: readonly (string | undefined)[] = names.length === 0 ? [undefined] : names;
  const openSpec = specReader(document.uri, settings, sources.includes);
  const views: ModelView[] = [];
  for (const model of models) {
    const memory = state.memories.get(model) ?? newCache();
    state.memories.set(model, memory);
    let opened = await unlessSuperseded(openSpec(read, model, memory));
    // Included files may include others; a chain is as deep as people write it.
    for (let round = 0; opened !== undefined && round < deepestInclude; round += 1) {
      if (!(await sources.includes.load(document.uri, opened.includes ?? []))) break;
      if (superseded()) return undefined;
      opened = await unlessSuperseded(openSpec(read, model, memory));
    }
    const costed = opened && (await unlessSuperseded(estimate(opened, memory.estimates)));
    if (costed === undefined) return undefined;
    views.push(measuredView((measurements) => viewLayerSpec(text, costed, measurements), model));
  }
  // Models that are renamed again and again leave their memories behind.
  for (const known of state.memories.keys()) if (!models.includes(known)) state.memories.delete(known);
  return joinViews(views);
}

const deepestInclude = 16;

/** Opens models of a layer spec with what its document depends on. */
const specReader =
  (uri: string, settings: Settings, includes: IncludedFiles) =>
  (read: ReadSpec, model: string | undefined, memory?: ModelCache): Steps<OpenedModel> =>
    openSpecInSteps(read, fileName(uri), {
      dimensions: settings.dimensions,
      readInclude: includes.reader(uri),
      readFramework: readFrameworkDescription,
      model,
      memory: memory?.lowering,
      analyses: memory?.analyses,
    });

/** What the settings ask for, with the files that they name. */
interface OwnScenario {
  readonly request: ScenarioRequest;
  readonly cluster: UserCluster | undefined;
}

async function ownScenario(
  settings: Settings,
  model: string,
  { clusters, frameworks }: DocumentSources,
): Promise<OwnScenario> {
  const request = scenarioOfSettings(settings);
  const cluster = await clusters.of(settings.cluster, model);
  const described = await frameworks.of(request.framework?.name ?? '', model);
  return { request: described === undefined ? request : withDescription(request, described), cluster };
}

function withDescription(request: ScenarioRequest, { value, issues }: OwnFramework): ScenarioRequest {
  const { name = '', options = {} } = request.framework ?? {};
  const framework =
    value === undefined
      ? { name, options, problems: issues }
      : { name: value.name, options, description: value };
  return { ...request, framework };
}

/** What the model asks for goes before the settings, a cluster by name before a profile of one's own. */
function* estimateWith(
  opened: OpenedModel,
  { request, cluster: own }: OwnScenario,
  memory?: EstimateCache,
): Steps<ModelEstimate> {
  const asked = opened.scenario.cluster;
  if (own === undefined || (asked !== undefined && asked !== own.value?.name))
    return yield* estimateInSteps(opened, [opened.scenario, request], undefined, undefined, memory);
  const estimate = yield* estimateInSteps(opened, [opened.scenario, request], own.value, undefined, memory);
  // A path is no cluster's name: what is wrong with its file says more.
  const issues =
    own.value === undefined
      ? estimate.issues.filter(({ code }) => code !== 'scenario/unknown-cluster')
      : estimate.issues;
  return { ...estimate, issues: [...issues, ...own.issues] };
}

const noSpans: OnnxTextSpans = { nodes: [], values: new Map(), sections: [] };

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
    reading: new ReadingCache(),
    memories: new Map(),
    generation: 0,
    cause: 'other',
    duration: 0,
    timer: undefined,
    ready: Promise.resolve(),
    settle: () => {},
    settled: true,
    shown: undefined,
    lastGood: undefined,
    measured: new Map(),
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
