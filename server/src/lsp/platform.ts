/** What the server needs of the place it runs in. Node and a browser worker each hand over their own. */

import type { DeviceChoice } from '../benchmark/deviceChoice.ts';
import type { BenchmarkDevice } from '../benchmark/deviceSchema.ts';
import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { ByteSource } from '../formats/byteSource.ts';
import type { FolderEntry } from '../language/textFeatures.ts';
import type { Issue } from '../model/issue.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { Market } from '../model/scenario.ts';
import type { BenchmarkRemedy, ExportPythonResult, ListedResult } from '../protocol.ts';

export interface Platform {
  /** How file bytes travel when the client reads them: a worker takes them as they are, JSON does not. */
  readonly bytesEncoding: 'binary' | 'base64';
  /** Opens a file by its address, or says that only the client can (`undefined`). */
  readonly openFile: (uri: string, bounds?: FileBounds) => FileOpening | undefined;
  /** Entries of a folder by its address, or that only the client can look (`undefined`). */
  readonly listFolder?: (uri: string) => readonly FolderEntry[] | undefined;
  /** Issues of files beside the model; absent where they cannot be looked at. */
  readonly checkNeighbours?: (opened: ModelEstimate['opened'], uri: string) => readonly Issue[];
  /** Resolves once messages that have arrived are seen; a timer does it where the platform has nothing faster. */
  readonly nextTurn?: () => Promise<void>;
  /** Milliseconds that a text rests after a keystroke before its findings are worked out; none without it. */
  readonly restOfTexts?: number;
  /** Address of the page that explains issue codes, for editors that name none. */
  readonly issuesPage?: string;
  /** Runs a model on this machine; absent where no process can be started. */
  readonly benchmark?: Benchmark;
  /** Writes a model of Python as an archive; absent where no process can be started. */
  readonly exportPython?: ExportPython;
  /** A person's own prices, and the day; the same object while neither changes. */
  readonly market?: () => Market;
  /** What benchmarks measured before; absent where no files are kept. */
  readonly results?: KeptResults;
}

/** What a file that a model or a setting names must keep to: whoever wrote the name may mean harm. */
export interface FileBounds {
  /** Bytes. A longer file is refused before it is read. */
  readonly longest: number;
  /** The address of a folder that the file must really lie in, symbolic links followed. */
  readonly inside?: string;
}

export type FileOpening =
  | {
      readonly kind: 'open';
      readonly source: ByteSource;
      /** What happened to the file since it was opened, where that makes what was read wrong. */
      readonly spoiled?: () => Issue | undefined;
      readonly close: () => void;
    }
  | { readonly kind: 'failed'; readonly issue: Issue };

export type Benchmark = (estimate: ModelEstimate, options: BenchmarkOptions) => Promise<BenchmarkOutcome>;

export interface BenchmarkOptions {
  /** Address of the model file, in whose workspace the result is kept. */
  readonly uri: string;
  /** Of several models in the file. */
  readonly model: string | undefined;
  /** The interpreter of the settings; '' for the first that is found. */
  readonly python: string;
  readonly device: DeviceChoice;
  /** Words that reach Python on another machine; none for this one. */
  readonly launcher: readonly string[];
  readonly signal: AbortSignal;
  readonly onProgress: (message: string, fraction: number | undefined) => void;
  /** Everything the runner says beside its events. */
  readonly onLog: (line: string) => void;
}

export type ExportPython = (wish: ExportWish) => Promise<ExportPythonResult>;

export interface ExportWish {
  /** Address of the Python file. */
  readonly uri: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, string>>;
  /** '' for the first that is found. */
  readonly python: string;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
  readonly onLog: (text: string) => void;
}

/** What was measured stays, however the run ended. */
export type BenchmarkOutcome = (
  | { readonly kind: 'done'; readonly summary: string }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly message: string; readonly remedy?: BenchmarkRemedy }
) & {
  /** What was measured and could not be kept in the workspace: it lasts as long as the server. */
  readonly unsaved?: MeasuredOf;
};

/** Benchmark results as files of the workspace of a model, which its address gives. */
export interface KeptResults {
  /** What was measured of this model; `undefined` where nothing was. */
  readonly measuredOf: (uri: string, model: string | undefined) => MeasuredOf | undefined;
  /** All results of the workspace, the newest first, each with whether it is of the estimated model. */
  readonly list: (uri: string, estimate: ModelEstimate) => readonly ListedResult[];
  /** A table; `undefined` where one of them is gone. */
  readonly compare: (uri: string, first: string, second: string) => string | undefined;
  readonly remove: (uri: string, id: string) => void;
}

/** Whether measured times are of a model as it is now. */
export type MeasuredOf = (estimate: ModelEstimate) => MeasuredState;
export type MeasuredState =
  | { readonly kind: 'current'; readonly measurements: LayerMeasurements; readonly device: BenchmarkDevice }
  /** `reason` is one clause: what differs. */
  | { readonly kind: 'stale'; readonly reason: string };
