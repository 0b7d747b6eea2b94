/**
 * What client and server say to each other beyond LSP. The only file of the server that the client imports;
 * names and shapes only, so that it adds nothing to a bundle.
 */

import type { PlanGoal } from './estimate/planner/chooseLayout.ts';
import type { GlanceRow } from './estimate/report/glance.ts';
import type { LayoutChoice } from './language/layoutChoices.ts';
import type { CostMeasure } from './language/moduleCosts.ts';
import type { DeviceNoun } from './model/deviceNoun.ts';
import type { ScenarioChange } from './model/scenarioChange.ts';
import type { StepLimit } from './model/stepCost.ts';

export type { CostRow } from './language/costRows.ts';
export type { DimensionChoice } from './language/dimensionChoices.ts';
export type { LayoutChoice } from './language/layoutChoices.ts';
export type { CostMeasure, ModuleCost } from './language/moduleCosts.ts';
export type { ScenarioChange };

/** Scheme of the read-only text of a binary model, produced by the server. */
export const onnxTextScheme = 'onnx-text';

/** Scheme of the same model as layers, in the words of a layer spec. */
export const onnxLayersScheme = 'onnx-layers';

/** Appended to the path of the binary model to name its layers. */
export const onnxLayersSuffix = '.layers.yaml';

/** Appended to the path of the binary model to name its text. The query holds the whole address of the file. */
export const onnxTextSuffix = '.onnxtxt';

export const languageIds = {
  onnxText: 'onnx-text',
  layerSpec: 'layer-spec',
  caffePrototxt: 'caffe-prototxt',
} as const;

/** View type of the editor that stands for a binary model and makes way for its text. */
export const onnxEditor = 'layercost.onnx';

/** Commands as the palette and code lenses know them. */
export const commands = {
  showReport: 'layercost.showReport',
  showScaling: 'layercost.showScaling',
  chooseCluster: 'layercost.chooseCluster',
  chooseGpus: 'layercost.chooseGpus',
  chooseBatch: 'layercost.chooseBatch',
  choosePrecision: 'layercost.choosePrecision',
  chooseFramework: 'layercost.chooseFramework',
  planParallelism: 'layercost.planParallelism',
  compareRevision: 'layercost.compareRevision',
  benchmark: 'layercost.benchmark',
  costThisModel: 'layercost.costThisModel',
  benchmarkResults: 'layercost.benchmarkResults',
  newSpec: 'layercost.newSpec',
  openConfig: 'layercost.openConfig',
  chooseHeat: 'layercost.chooseHeat',
  goToMostExpensive: 'layercost.goToMostExpensive',
  goToNextExpensive: 'layercost.goToNextExpensive',
  goToPreviousExpensive: 'layercost.goToPreviousExpensive',
  listLayersByCost: 'layercost.listLayersByCost',
  readCost: 'layercost.readCost',
  setDimensions: 'layercost.setDimensions',
  changeScenario: 'layercost.changeScenario',
  listFixes: 'layercost.listFixes',
  showLog: 'layercost.showLog',
  openBinary: 'layercost.openAsBinary',
  showOnnxText: 'layercost.showOnnxText',
  showLayers: 'layercost.showLayers',
  saveLayerSpec: 'layercost.saveAsLayerSpec',
} as const;

/** Opens the page of an issue: its path below `docs`, such as `findings/out-of-memory.md`. Links of diagnostics call it. */
export const explainIssue = 'layercost.explainIssue';

/** Begins the name of the server's worker in a browser, which is also that of a lock it holds as long as it lives. */
export const workerLock = 'layercost-server-';

/** `initializationOptions` of `initialize`. Every part may be absent: another editor sends none of it. */
export interface InitializationOptions {
  /** Whether the person trusts the workspace; the benchmark runs nowhere else. */
  readonly trusted?: boolean;
  /** Address of the page that explains issue codes, or `command:` with one that shows a page; diagnostics link to it. */
  readonly issuesPage?: string;
  /** Whether the client answers `readBytes` and `listFolder`. */
  readonly readsBytes?: boolean;
  /** Whether the client knows `commands`; lenses are plain text otherwise. */
  readonly hasCommands?: boolean;
  /** Characters that the client shows of the hints of a line, where it cuts them off. */
  readonly longestHint?: number;
}

/** Server to client: the bytes of a file the server cannot open itself. */
export const readBytes = 'layercost/readBytes';
export interface ReadBytesParams {
  readonly uri: string;
  /** `base64` where the connection carries JSON only. */
  readonly encoding: 'binary' | 'base64';
  /** Bytes; a longer file is not read. */
  readonly longest?: number;
}
export type ReadBytesResult =
  | { readonly bytes: Uint8Array | string }
  /** Why the file cannot be read, as the file system says it. */
  | { readonly failure: string };

/** Server to client: what is in a folder the server cannot look into; nothing where the client cannot either. */
export const listFolder = 'layercost/listFolder';
export interface ListFolderParams {
  readonly uri: string;
}
export interface ListFolderResult {
  readonly entries: readonly { readonly name: string; readonly isFolder: boolean }[];
}

/** Client to server: what can be chosen in the picker. */
export const listClusters = 'layercost/listClusters';
export interface ClusterChoice {
  readonly name: string;
  readonly title: string;
  readonly gpu: string;
  readonly gpusPerNode: number;
  /** GPUs of one node are linked, nodes are networked. */
  readonly links: string;
  /** Whether there can be more nodes than one. */
  readonly isNetworked: boolean;
  readonly kind: 'cluster' | 'gpu';
}

/** Client to server: the frameworks that can be chosen. */
export const listFrameworks = 'layercost/listFrameworks';
export interface FrameworkChoiceItem {
  readonly name: string;
  readonly documentation: string;
  /** What of a step it overlaps. */
  readonly overlaps: string;
}

/** Client to server: the dimensions of a model that a scenario gives values, those without one first. */
export const listDimensions = 'layercost/listDimensions';
export interface DimensionsParams {
  readonly uri: string;
  /** Which model of a text that holds several; the first where none is named. */
  readonly model?: string;
}
/** Client to server: the lines of an open document with what they cost, in order of lines. */
export const listCosts = 'layercost/listCosts';
export interface CostsParams {
  readonly uri: string;
}

/** Client to server: the modules of an open model with what they cost, the most expensive first; nothing where it has no cost. */
export const listModules = 'layercost/listModules';
export interface ModulesParams extends DimensionsParams {
  readonly measure: CostMeasure;
}

/** Client to server: what the lines of a Python file cost in the open models that were exported from it. */
export const costPythonLines = 'layercost/costPythonLines';
export interface PythonLinesParams {
  /** Path of the file, on any machine. */
  readonly path: string;
  /** As the editor shows it. */
  readonly text: string;
}
export interface PythonLinesResult {
  readonly lines: readonly {
    /** Counted from 0. */
    readonly line: number;
    readonly text: string;
    /** Markdown. */
    readonly details: string;
    /** A function or class: the sum of its lines. */
    readonly isGroup: boolean;
  }[];
}

/** Client to server: where a change of an open model's scenario is to be written. */
export const placeScenarioChange = 'layercost/placeScenarioChange';
export interface ScenarioChangeParams extends DimensionsParams {
  readonly change: ScenarioChange;
}
export type ScenarioChangePlace =
  /** In the text, which has a scenario of its own: these changes of it, as LSP's `TextEdit`. */
  | { readonly kind: 'text'; readonly edits: readonly PlainTextEdit[] }
  /** In the settings, of this file. */
  | { readonly kind: 'settings'; readonly file: string };
export interface PlainTextEdit {
  readonly range: { readonly start: PlainPosition; readonly end: PlainPosition };
  readonly newText: string;
}
interface PlainPosition {
  readonly line: number;
  readonly character: number;
}

/** Client to server: a page about an open document, as Markdown, as an aligned table in plain text, or as HTML with charts. */
export const makeReport = 'layercost/report';
/** The cost of every layer, or the step by number of GPUs. */
export type ReportPage = 'report' | 'scaling';
export interface ReportParams {
  readonly uri: string;
  readonly page: ReportPage;
  /** Which model of a text that holds several; the first where none is named. */
  readonly model?: string;
  readonly format: 'markdown' | 'text' | 'html';
  /** Of the script and style of an HTML page: nothing without it runs. */
  readonly nonce?: string;
  /** Tried, not written: the HTML page is of the scenario with it. */
  readonly change?: ScenarioChange;
  /** Tried before it: the page draws their scaling curves beside those of the scenario and of `change`. */
  readonly compared?: readonly ScenarioChange[];
}
export interface ReportResult {
  readonly text: string;
  readonly name: string;
  /** Beside an HTML page: the lines of the text and the layers that stand on them. */
  readonly layerLines?: readonly LayerLines[];
  /** Why there is no report: nothing of the model could be costed. The text says so too. */
  readonly refusal?: string;
  /** Beside an HTML page: its scenario and what it comes to, to go back to it. */
  readonly tried?: TriedScenario;
}

export interface TriedScenario {
  readonly label: string;
  /** Step and throughput in words. */
  readonly result: string;
  /** Values by key of `ScenarioChange`. */
  readonly values: Readonly<Record<string, string>>;
  /** Samples per second. */
  readonly throughput: number | null;
  readonly fits: boolean;
}

/** Client to server: the totals of an open model with a change of its scenario that is written nowhere. */
export const tryScenario = 'layercost/tryScenario';
export interface TryScenarioResult {
  readonly rows: readonly GlanceRow[];
  /** What limits the step. */
  readonly sentence: string;
  /** Why it cannot be costed. */
  readonly refusal?: string;
}

export interface LayerLines {
  /** By name, in order. */
  readonly layers: readonly string[];
  /** From 0; the first is the one to show. */
  readonly lines: readonly number[];
}

/** Client to server: the layer spec of a `config.json` of transformers, or of the metadata of a GGUF file. */
export const writeConfigSpec = 'layercost/configSpec';
export type ConfigSpecParams = {
  readonly name: string;
} & (
  | { readonly text: string }
  /** Address of a GGUF file, of which the server reads the header. */
  | { readonly weights: string }
);
export interface ConfigSpecResult {
  /** Absent where no spec can be written. */
  readonly spec?: string;
  /** What is wrong with the config, or is left out of the spec; one sentence. */
  readonly problem?: string;
}

/** Client to server: where a line of a model's text stands in the other one, of its operators and of its layers. */
export const findCounterpart = 'layercost/findCounterpart';
export interface CounterpartParams {
  /** Address of the binary model. */
  readonly model: string;
  readonly from: 'layers' | 'text';
  /** Counted from 0. */
  readonly line: number;
}
export interface CounterpartResult {
  readonly line: number;
}

/** Client to server: a binary model as a layer spec that can be saved. */
export const writeLayerSpec = 'layercost/writeLayerSpec';
export interface LayerSpecParams {
  /** Address of the binary model. */
  readonly model: string;
}
export interface LayerSpecResult {
  readonly text: string;
  /** What keeps lines from being a layer spec, one sentence each. */
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/** Server to client, after every estimate of an open document. */
export const estimated = 'layercost/estimated';
export interface EstimatedParams extends ModelSummary {
  readonly uri: string;
  /** Of a text that holds several models: each with its lines, in order; the first is the one above. */
  readonly models?: readonly PartSummary[];
}
export interface PartSummary extends ModelSummary {
  readonly name: string;
  readonly firstLine: number;
  readonly lastLine: number;
}
export interface ModelSummary {
  readonly summary: ScenarioSummary | undefined;
  /** Worst thing the person should know about the numbers: nothing, lower bounds, or no cost at all. */
  readonly state: 'exact' | 'at-least' | 'no-cost';
  /** One line for the language status. */
  readonly detail: string;
}
export interface ScenarioSummary {
  readonly cluster: string;
  readonly clusterTitle: string;
  readonly gpus: number;
  /** The same in words: `8 GPUs`, `1 CPU node`. */
  readonly devices: string;
  /** What is counted: the client has its own words for each. */
  readonly device: DeviceNoun;
  readonly gpusPerNode: number;
  readonly batch: number;
  /** Samples of a step over all GPUs and passes. */
  readonly globalBatch: number;
  readonly precision: string;
  /** By name, without its options. */
  readonly framework: string;
  /** How GPUs share copies of the model, such as `tp8 · pp4 · dp16`; absent where each has a copy. */
  readonly layout?: string;
  /** What keeps the step from being faster, or from running; absent where a part of it is unknown. */
  readonly limit?: { readonly kind: StepLimit['kind'] | 'memory'; readonly share: number };
  /** Keys that the layer spec sets itself, so that the settings do not reach them. */
  readonly fixedByModel: readonly string[];
}

/** Client to server: the parallel layouts of an open model on so many GPUs, the best for a goal first. Cancellation ends the search. */
export const planLayouts = 'layercost/planLayouts';
export interface PlanLayoutsParams extends DimensionsParams {
  /** Name of a built-in cluster; left out, that of the scenario. */
  readonly cluster?: string;
  /** Each number is searched. */
  readonly gpus: readonly number[];
  /** Samples of a step over all GPUs. */
  readonly globalBatch: number;
  /** Only the framework of the scenario is tried. */
  readonly keepsFramework: boolean;
  readonly goal: PlanGoal;
}
export type PlanLayoutsResult =
  | {
      readonly kind: 'planned';
      /** How many were costed and fit. */
      readonly searched: string;
      readonly layouts: readonly LayoutChoice[];
    }
  /** Why there is none, and what to do. */
  | { readonly kind: 'none'; readonly message: string };

/** Server to client while layouts are searched. */
export const planProgress = 'layercost/planProgress';
export interface PlanProgressParams {
  readonly uri: string;
  /** Layouts costed until now. */
  readonly costed: number;
}

/** Client to server: an open model beside an earlier state of its file, as an HTML page without a script. */
export const compareEarlier = 'layercost/compareEarlier';
export interface CompareEarlierParams extends DimensionsParams {
  /** The file as it was, in base64. */
  readonly content: string;
  /** What the page calls that state. */
  readonly earlier: string;
  /** Of the page's style: nothing without it holds. */
  readonly nonce: string;
}
export type CompareEarlierResult =
  | { readonly html: string; readonly refusal?: undefined }
  /** Why one of both cannot be costed. */
  | { readonly html?: undefined; readonly refusal: string };

/** Server to client: a request failed inside the server. Sent once for each kind of failure. */
export const serverProblem = 'layercost/problem';
export interface ServerProblemParams {
  readonly message: string;
}

/** Client to server: the person trusts the workspace now. */
export const trustGranted = 'layercost/trustGranted';

/** Client to server: runs the open model on this machine. Cancellation ends the run. */
export const runBenchmark = 'layercost/benchmark';
export interface BenchmarkParams {
  readonly uri: string;
  /** The interpreter that the editor's Python extension has chosen; the setting goes before it. */
  readonly python?: string;
  /** Which model of a text that holds several; the first where none is named. */
  readonly model?: string;
}
export type BenchmarkResult =
  | { readonly kind: 'done'; readonly summary: string }
  | { readonly kind: 'cancelled' }
  /** What went wrong and what to do. */
  | { readonly kind: 'failed'; readonly message: string; readonly remedy?: BenchmarkRemedy };
/** What would help: another interpreter, or a workspace that is trusted. */
export type BenchmarkRemedy = 'python' | 'trust';

/** Server to client while a benchmark runs. */
export const benchmarkProgress = 'layercost/benchmarkProgress';
export interface BenchmarkProgressParams {
  readonly uri: string;
  readonly message: string;
  /** Share done, from 0 to 1, where it is known. */
  readonly fraction?: number;
}

/** Client to server: writes a model of Python as an archive of `torch.export`, in the person's own interpreter. */
export const exportPython = 'layercost/exportPython';
export interface ExportPythonParams {
  /** Of the Python file. */
  readonly uri: string;
  /** A class or function of the file, called without arguments. */
  readonly name: string;
  /** The interpreter that the editor's Python extension has chosen; the setting goes before it. */
  readonly python?: string;
  /** What `forward` is called with, as a person wrote it: `tokens=int64[batch, 128]; mask=bool[batch, 128]`. */
  readonly inputs?: string;
}
export type ExportPythonResult =
  | {
      readonly kind: 'done';
      readonly archive: string;
      readonly notes: readonly string[];
      /** What `forward` was called with, as `inputs` of the request takes it. */
      readonly inputs: string;
    }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly message: string; readonly remedy?: BenchmarkRemedy | 'inputs' };

/** Server to client while an export runs. */
export const exportProgress = 'layercost/exportProgress';
export interface ExportProgressParams {
  readonly uri: string;
  readonly message: string;
}

/** Client to server: the kept benchmark results of the workspace of a model, the newest first. */
export const listResults = 'layercost/benchmarkResults';
export interface ListResultsParams {
  readonly uri: string;
  /** Which model of a text that holds several; the first where none is named. */
  readonly model?: string;
}
export interface ListResultsResult {
  readonly results: readonly ListedResult[];
}
export interface ListedResult {
  readonly id: string;
  /** Address of the file that holds it. */
  readonly file: string;
  /** The model file, the step and the layers that were measured. */
  readonly title: string;
  /** Device, precision, batch and versions. */
  readonly measuredWith: string;
  /** Why it is not of the model as it is now; absent where it is. */
  readonly stale?: string;
  /** Why its run ended before everything was measured. */
  readonly endedEarly?: string;
}

/** Client to server: two kept results as a table. */
export const compareResults = 'layercost/compareBenchmarkResults';
export interface CompareResultsParams {
  readonly uri: string;
  readonly first: string;
  readonly second: string;
}
export interface CompareResultsResult {
  /** Absent where one of them is gone. */
  readonly text?: string;
}

/** Client to server: removes a kept result. */
export const removeResult = 'layercost/removeBenchmarkResult';
export interface RemoveResultParams {
  readonly uri: string;
  readonly id: string;
}
