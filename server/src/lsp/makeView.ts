/**
 * From the text of a document to its view: read, open, estimate. The work is done in steps and dropped as soon as
 * another change supersedes it.
 */

import type { TextDocument } from 'vscode-languageserver-textdocument';
import { type AnalysisCache, analysisCache } from '../analysis/analysisCache.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import { openCaffe, openOnnxTextInSteps, openSpecInSteps } from '../analysis/openModel.ts';
import { type EstimateCache, estimateCache } from '../estimate/estimateCache.ts';
import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { ReadCustomOperators } from '../formats/custom-operators/readCustomOperators.ts';
import { readFrameworkDescription } from '../formats/framework/readFrameworkDescription.ts';
import { ReadingCache } from '../formats/layer-spec/readingCache.ts';
import { readLayerSpec } from '../formats/layer-spec/readLayerSpec.ts';
import { modelNames } from '../formats/layer-spec/selectModel.ts';
import type { ReadSpec } from '../formats/layer-spec/specReading.ts';
import type { OnnxTextSpans } from '../formats/onnx-text/textSpans.ts';
import type { Recost } from '../language/fix.ts';
import { locateOnnxText } from '../language/locateOnnxText.ts';
import { joinViews, type ModelView } from '../language/modelView.ts';
import { viewCaffe } from '../language/viewCaffe.ts';
import { viewLayerSpec } from '../language/viewLayerSpec.ts';
import { viewOnnxLayers } from '../language/viewOnnxLayers.ts';
import { viewOnnxText } from '../language/viewOnnxText.ts';
import { LoweringCache } from '../lowering/layer-spec/loweringCache.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { ScenarioChange } from '../model/scenarioChange.ts';
import { finish, type Steps } from '../model/steps.ts';
import { languageIds } from '../protocol.ts';
import { costOfDevice } from './costOfDevice.ts';
import { type IncludedFiles, openWithIncludes } from './includedFiles.ts';
import { languageOf } from './languageOf.ts';
import type { OnnxFiles } from './onnxFiles.ts';
import { operatorsBeside, withOperatorsBeside } from './operatorsBeside.ts';
import type { MeasuredOf, Platform } from './platform.ts';
import { runSteps } from './runSteps.ts';
import { type Settings, scenarioOfSettings, withScenario } from './settings.ts';
import { estimateWith, settingsScenario, type UserProfiles } from './settingsScenario.ts';
import { fileName, modelBehind, showsLayers } from './virtualText.ts';

export interface ViewSources extends UserProfiles {
  readonly files: OnnxFiles;
  readonly settingsOf: (uri: string) => Promise<Settings>;
  readonly includes: IncludedFiles;
  /** What benchmarks measured of a model file before. */
  readonly keptResults: Platform['results'];
  /** Lets messages that arrived meanwhile be handled. */
  readonly nextTurn: () => Promise<void>;
}

/** What is kept of a document from one keystroke to the next. */
export interface DocumentCache {
  /** The lines of a layer spec that were read. */
  readonly reading: ReadingCache;
  /** By model; `undefined` for a document of one model. */
  readonly models: Map<string | undefined, ModelCache>;
  /** By model, as `models`: what was measured and no file keeps. */
  readonly measured: Map<string | undefined, MeasuredOf>;
}

interface ModelCache {
  readonly lowering: LoweringCache;
  readonly analyses: AnalysisCache;
  readonly estimates: EstimateCache;
}

export const documentCache = (): DocumentCache => ({
  reading: new ReadingCache(),
  models: new Map(),
  measured: new Map(),
});

const modelCache = (): ModelCache => ({
  lowering: new LoweringCache(),
  analyses: analysisCache(),
  estimates: estimateCache(),
});

/** `undefined` where the work was superseded or the document is not a model. */
export async function makeView(
  document: TextDocument,
  cache: DocumentCache,
  sources: ViewSources,
  superseded: () => boolean,
): Promise<ModelView | undefined> {
  const source = modelBehind(document.uri);
  const settings = await sources.settingsOf(source ?? document.uri);
  const scenario = await settingsScenario(settings, source ?? document.uri, sources);
  const run = <Result>(steps: Steps<Result>): Promise<Result | undefined> =>
    runSteps(steps, sources.nextTurn, superseded);
  const costed = (opened: OpenedModel, estimates?: EstimateCache): Promise<ModelEstimate | undefined> =>
    run(estimateWith(opened, scenario, estimates));
  const view = async (
    estimate: ModelEstimate | undefined,
    make: (estimate: ModelEstimate, measured: LayerMeasurements | undefined) => ModelView,
    model?: string,
  ): Promise<ModelView | undefined> => {
    if (estimate === undefined) return undefined;
    const states = [
      cache.measured.get(model),
      sources.keptResults?.measuredOf(source ?? document.uri, model),
    ].map((measured) => measured?.(estimate));
    const current = states.find((state) => state?.kind === 'current');
    const stale = states.find((state) => state?.kind === 'stale');
    const made = make(estimate, current?.measurements);
    if (current === undefined) return stale === undefined ? made : { ...made, staleBenchmark: stale.reason };
    if (estimate.scenario === undefined) return made;
    const ofDevice = await run(
      costOfDevice(estimate.opened, scenario.request, estimate.scenario, current.device),
    );
    return ofDevice === undefined ? made : { ...made, costOfDevice: ofDevice };
  };

  if (source !== undefined) {
    const file = await sources.files.open(source);
    const layers = showsLayers(document.uri) ? file.layers() : undefined;
    // The editor still shows the text of an older state of the file, and is being asked to fetch the new one.
    if (superseded() || document.getText() !== (layers ?? file).text) return undefined;
    return view(await costed(file.opened), (estimate, measured) =>
      layers === undefined
        ? viewOnnxText(file, estimate, measured)
        : viewOnnxLayers(layers, estimate, measured),
    );
  }
  if (superseded()) return undefined;
  const text = document.getText();
  switch (languageOf(document)) {
    case languageIds.onnxText: {
      const open = (operators?: ReadCustomOperators) =>
        run(openOnnxTextInSteps(text, fileName(document.uri), operators && { operators }));
      const first = await open();
      const opened =
        first && (await withOperatorsBeside(first, document.uri, operatorsBeside(sources.includes), open));
      if (opened === undefined) return undefined;
      const located = locateOnnxText(text, opened.onnxSpans ?? noSpans);
      return view(await costed(opened), (estimate, measured) => viewOnnxText(located, estimate, measured));
    }
    case languageIds.caffePrototxt: {
      const opened = openCaffe(text, fileName(document.uri), settings.dimensions);
      await sources.nextTurn();
      if (superseded()) return undefined;
      return view(await costed(opened), (estimate, measured) => viewCaffe(text, estimate, measured));
    }
    case languageIds.layerSpec:
      break;
    default:
      return undefined;
  }
  const read = readLayerSpec(text, cache.reading);
  const names = read.spec === undefined ? [] : modelNames(read.spec);
  const models: readonly (string | undefined)[] = names.length === 0 ? [undefined] : names;
  const openSpec = specReader(document.uri, settings, sources.includes);
  const views: ModelView[] = [];
  for (const model of models) {
    const known = cache.models.get(model) ?? modelCache();
    cache.models.set(model, known);
    const opened = await openWithIncludes(sources.includes, document.uri, () =>
      superseded() ? undefined : run(openSpec(read, model, known)),
    );
    const estimate = opened && (await costed(opened, known.estimates));
    const made = await view(estimate, (costs, measured) => viewLayerSpec(text, costs, measured), model);
    if (made === undefined) return undefined;
    views.push(made);
  }
  // Models that are renamed again and again leave their caches behind.
  for (const known of cache.models.keys()) if (!models.includes(known)) cache.models.delete(known);
  return joinViews(views);
}

const noSpans: OnnxTextSpans = { nodes: [], values: new Map(), sections: [] };

/** How another text of an open layer spec is costed: with the settings and files of the open one. */
export async function recostSpec(uri: string, sources: ViewSources): Promise<Recost> {
  const settings = await sources.settingsOf(uri);
  const scenario = await settingsScenario(settings, uri, sources);
  return (text, model) => {
    const openSpec = specReader(uri, settings, sources.includes);
    return finish(estimateWith(finish(openSpec(readLayerSpec(text), model)), scenario));
  };
}

/** How the model of a view is costed with a change of its scenario: as if the settings of its file said so. */
export async function recostScenario(
  uri: string,
  view: ModelView,
  sources: ViewSources,
): Promise<(change: ScenarioChange) => ModelEstimate> {
  const source = modelBehind(uri) ?? uri;
  const settings = await sources.settingsOf(source);
  const { cluster, request } = await settingsScenario(settings, source, sources);
  const { model } = view.estimate.asked;
  return (change) => {
    const changed = scenarioOfSettings(withScenario(settings, { ...change }).settings);
    // The description of a framework was read from the file that the settings name.
    const framework = change.framework === undefined ? request.framework : changed.framework;
    const { market } = request;
    const asked = { ...changed, ...(framework && { framework }), ...(market && { market }) };
    return finish(estimateWith(model, { request: asked, cluster }));
  };
}

/** Opens models of a layer spec with what its document depends on. */
const specReader =
  (uri: string, settings: Settings, includes: IncludedFiles) =>
  (read: ReadSpec, model: string | undefined, cache?: ModelCache): Steps<OpenedModel> =>
    openSpecInSteps(read, fileName(uri), {
      dimensions: settings.dimensions,
      readInclude: includes.reader(uri),
      readFramework: readFrameworkDescription,
      model,
      memory: cache?.lowering,
      analyses: cache?.analyses,
    });
