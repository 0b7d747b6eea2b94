/** Why a benchmark run gave nothing, in words for the person who started it. */

import type { ErrorEvent } from './benchmarkEvents.ts';
import type { FoundPython } from './findPythons.ts';

export type BenchmarkFailureKind =
  | ErrorEvent['kind']
  | 'no-interpreter'
  | 'no-launcher'
  | 'cancelled'
  | 'hang'
  | 'timeout'
  | 'protocol'
  | 'nothing-measured';

export interface BenchmarkFailure {
  readonly kind: BenchmarkFailureKind;
  /** One line: what is wrong, where, what to do. */
  readonly message: string;
  /** The last lines the runner logged; '' where there are none. */
  readonly log: string;
}

/** Each surface says how. */
const choosePython = 'choose another Python';

export function cannotStart(python: string, code: string | undefined): string {
  if (code === 'ENOENT') {
    return `There is no Python at ${python}: install Python 3.9 or newer with torch, or ${choosePython}`;
  }
  if (code === 'EACCES') return `${python} is not an executable file: ${choosePython}`;
  return `${python} could not be started (${code ?? 'unknown reason'}): ${choosePython}`;
}

export const noLauncher = (command: string, code: string | undefined): string =>
  code === 'ENOENT'
    ? `There is no program ${command}, with which the launcher begins: correct the launcher, or leave it out`
    : `${command} of the launcher could not be started (${code ?? 'unknown reason'}): correct the launcher, or leave it out`;

/** The launcher ended before Python said anything. */
export function launcherEnded(
  launcher: readonly string[],
  python: string,
  code: number | null,
  signal: NodeJS.Signals | null,
  logTail: string,
): string {
  return `\`${launcher.join(' ')}\` ended with ${statusOf(code, signal)} before ${python} said anything: check that it starts ${python} there and passes standard input on${lastLineOf(logTail)}`;
}

const statusOf = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal === null ? `exit status ${code ?? 'unknown'}` : `signal ${signal}`;

function lastLineOf(logTail: string): string {
  const line = logTail.trimEnd().split('\n').at(-1)?.trim() ?? '';
  return line === '' ? '' : `; its last line: ${line}`;
}

/** The oldest Python that the runner's sources can be read by. */
const oldestPython = [3, 9] as const;

/** Which Pythons a person can choose instead of `python`, in one sentence. */
export function otherPythons(found: readonly FoundPython[]): string {
  if (found.length === 0) return 'No Python was found in the folders of PATH';
  return `Found: ${found.map(describePython).join(', ')}`;
}

function describePython({ path, version, hasTorch }: FoundPython): string {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < oldestPython[0] || (major === oldestPython[0] && minor < oldestPython[1]);
  const use = isOld ? `older than ${oldestPython.join('.')}` : hasTorch ? 'with torch' : 'without torch';
  return `${path} (${version}, ${use})`;
}

export const cancelled = 'The benchmark was cancelled; the runner and what it started have been stopped';

export function silent(silenceSeconds: number, phase: string): string {
  return `The runner hung: it sent nothing for ${silenceSeconds} s during ${phase} and was stopped. If the GPU is busy with other work, wait for it; otherwise see the log`;
}

export function tookTooLong(totalSeconds: number, phase: string): string {
  return `The benchmark was stopped after ${totalSeconds} s, during ${phase}: lower the batch, or bind symbolic dimensions to smaller values`;
}

export function newerProtocol(theirs: number, ours: number): string {
  return `The runner speaks protocol ${theirs}, this version of Layercost speaks ${ours}: update Layercost, so that both have the same version`;
}

export function notAnEvent(line: string): string {
  const start = line.length > 80 ? `${line.slice(0, 80)}…` : line;
  return `The runner sent ${JSON.stringify(start)}, which is not an event of the protocol, and was stopped: check that the chosen Python is not a wrapper that prints`;
}

export function endedEarly(
  code: number | null,
  signal: NodeJS.Signals | null,
  phase: string,
  logTail: string,
): string {
  const said = lastLineOf(logTail);
  if (signal === 'SIGKILL') {
    return `The system killed the runner (SIGKILL) during ${phase}, probably because memory ran out: lower the batch${said}`;
  }
  return `The runner ended with ${statusOf(code, signal)} during ${phase} before it was done: ${phase === 'start-up' && said === '' ? 'check that the chosen interpreter is Python' : `see the log${said}`}`;
}

/** The message for an `error` event. The runner says what happened; what to do is said here, once. */
export function reported(event: ErrorEvent, python: string, batch: number): string {
  switch (event.kind) {
    case 'torch-missing':
      return `${python} has no torch (${event.message}): install it with \`${python} -m pip install torch\`, or ${choosePython}`;
    case 'no-gpu':
      return `torch of ${python} sees no GPU (${event.message}): install a torch built for this GPU and its driver, or benchmark on the CPU`;
    case 'out-of-memory':
      return `Memory ran out at batch ${batch} (${event.message}): lower the batch, or stop what else uses the device`;
    case 'unsupported-operator':
      return `The runner cannot execute this model (${event.message}): export it with operators of the default ONNX domain`;
    case 'not-shared':
      return `Several processes cannot share this step (${event.message}): choose pytorch-ddp, or measure the step of one`;
    case 'bad-plan':
      return `The runner refused the plan (${event.message}): update Layercost, so that both have the same version`;
    case 'crash':
      return `The runner failed (${event.message}): see the log, and report it with the model if the model runs elsewhere`;
  }
}

export const nothingMeasured = (reason: string): string =>
  `Nothing could be measured: ${reason === '' ? 'the model has no layer that runs on the device' : reason}`;
