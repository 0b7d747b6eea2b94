/** What whoever starts the Python runner says, and what comes of it. */

import type { BenchmarkEvent, DeviceEvent } from './benchmarkEvents.ts';
import type { BenchmarkFailure } from './benchmarkFailure.ts';
import type { DeviceChoice } from './deviceChoice.ts';
import type { FoundPython } from './findPythons.ts';
import type { Nodes } from './runnerCommand.ts';

export interface RunnerOptions {
  /** Folder of the runner: `dist/runner` in what ships. */
  readonly runner: string;
  /** Interpreter, `python3` unless given (`python` on Windows). */
  readonly python?: string;
  /** `auto` unless given. */
  readonly device?: DeviceChoice;
  /** Words that reach Python on another machine; it needs none of Layercost's files. */
  readonly launcher?: readonly string[];
  /** Machines that the launcher reaches at once; one unless given. */
  readonly nodes?: Nodes;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BenchmarkProgress) => void;
  /** What the runner logs, as it comes. */
  readonly onLog?: (text: string) => void;
  /** The runner reports every second; silence this long means that it hangs. 60 unless given. */
  readonly silenceSeconds?: number;
  /** The Pythons of this machine, asked for where the chosen one cannot be used. */
  readonly findPythons?: () => Promise<readonly FoundPython[]>;
}

export interface BenchmarkProgress {
  /** What is being done, such as `step 3 of 10` or a layer's name, after the device once it is known. */
  readonly message: string;
  /** Between 0 and 1; does not fall. */
  readonly fraction: number;
}

export interface RunnerOutcome<Measurements> {
  /** What was measured; with a failure, what arrived before it. Absent where nothing was. */
  readonly measurements?: Measurements;
  readonly failure?: BenchmarkFailure;
}

export type ResultEvent = Exclude<BenchmarkEvent, { event: 'hello' | 'progress' | 'error' }>;

/** What the events of one run say, put together. */
export interface Collected<Measurements> {
  add(event: ResultEvent): void;
  readonly device: DeviceEvent | undefined;
  /** The runner said that nothing follows. */
  readonly done: boolean;
  /** `undefined` where nothing was measured. */
  readonly measurements: Measurements | undefined;
  /** Why the first of what could not be measured was not; '' where nothing is known. */
  readonly firstReason: string;
}

export interface Run extends RunnerOptions {
  readonly totalSeconds: number;
  /** For the messages of a run that does not fit. */
  readonly batch: number;
  /** Processes of each machine, started by `torchrun`. */
  readonly ranks?: number;
}
