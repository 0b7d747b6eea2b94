/** Options of `layercost benchmark` and `layercost collectives`, which run on a machine with Python. */

import { type DeviceChoice, deviceKinds, isDeviceChoice } from '../benchmark/deviceChoice.ts';
import { launcherWords } from '../benchmark/launcherWords.ts';
import type { Nodes } from '../benchmark/runnerCommand.ts';
import { onlyFile } from './onlyFile.ts';
import { oneOf, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from './scenarioArguments.ts';

export interface BenchmarkArguments {
  readonly command: 'benchmark';
  readonly file: string;
  readonly python: string | undefined;
  readonly device: DeviceChoice;
  /** Words that reach Python on another machine; none for this one. */
  readonly launcher: readonly string[];
  /** As a step leaves them, or as the run before of the same layer. */
  readonly caches: 'cold' | 'hot';
  /** Where the step is written as Python. */
  readonly keep: string | undefined;
  /** Where the trace of a step is written; layers are then not timed alone. */
  readonly trace: string | undefined;
  /** Processes of each machine that share the step; one measures it by itself where it is absent. */
  readonly ranks: number | undefined;
  readonly nodes: Nodes | undefined;
  readonly format: 'table' | 'json';
  readonly scenario: ScenarioArguments;
}

export interface CollectivesArguments {
  readonly command: 'collectives';
  /** Processes of each machine. */
  readonly ranks: number;
  readonly nodes: Nodes | undefined;
  readonly python: string | undefined;
  readonly device: DeviceChoice;
  /** Words that reach Python on another machine; none for this one. */
  readonly launcher: readonly string[];
  readonly format: 'table' | 'json';
}

/** Throws `WrongArgument`. */
export function readBenchmarkArguments(rest: readonly string[]): BenchmarkArguments {
  const { values, positionals } = parseOptions(rest, {
    ...scenarioOptions,
    format: { type: 'string' },
    python: { type: 'string' },
    device: { type: 'string' },
    launcher: { type: 'string' },
    caches: { type: 'string' },
    keep: { type: 'string' },
    trace: { type: 'string' },
    ranks: { type: 'string' },
    nodes: { type: 'string' },
    rendezvous: { type: 'string' },
  });
  return {
    command: 'benchmark',
    file: onlyFile('benchmark', positionals),
    python: values.python,
    keep: values.keep,
    trace: readTrace(values),
    ranks: readRanks(values.ranks, values.nodes),
    nodes: readNodes(values),
    device: readDevice(values.device, values.ranks),
    launcher: launcherWords(values.launcher ?? ''),
    caches: oneOf('--caches', values.caches, ['cold', 'hot'], 'cold'),
    format: oneOf('--format', values.format, ['table', 'json'], 'table'),
    scenario: readScenario(values, wholeNumber('--gpus', values.gpus, 1)),
  };
}

/** Throws `WrongArgument`. */
export function readCollectivesArguments(rest: readonly string[]): CollectivesArguments {
  const { values, positionals } = parseOptions(rest, {
    format: { type: 'string' },
    python: { type: 'string' },
    device: { type: 'string' },
    launcher: { type: 'string' },
    ranks: { type: 'string' },
    nodes: { type: 'string' },
    rendezvous: { type: 'string' },
  });
  if (positionals.length > 0) throw new WrongArgument('layercost collectives takes no file');
  const ranks = readRanks(values.ranks, values.nodes);
  if (ranks === undefined)
    throw new WrongArgument('layercost collectives needs --ranks N: one process for each GPU');
  return {
    command: 'collectives',
    ranks,
    nodes: readNodes(values),
    python: values.python,
    device: readDevice(values.device, values.ranks),
    launcher: launcherWords(values.launcher ?? ''),
    format: oneOf('--format', values.format, ['table', 'json'], 'table'),
  };
}

/** One process has nobody to exchange with, unless on several machines. */
function readRanks(text: string | undefined, nodes: string | undefined): number | undefined {
  return wholeNumber('--ranks', text, nodes === undefined ? 2 : 1);
}

function readNodes({
  nodes,
  rendezvous,
  ranks,
  launcher,
}: {
  readonly nodes?: string | undefined;
  readonly rendezvous?: string | undefined;
  readonly ranks?: string | undefined;
  readonly launcher?: string | undefined;
}): Nodes | undefined {
  const count = wholeNumber('--nodes', nodes, 2);
  if (count === undefined) {
    if (rendezvous !== undefined) throw new WrongArgument('--rendezvous is of several nodes: add --nodes N');
    return undefined;
  }
  if (ranks === undefined) throw new WrongArgument('--nodes needs --ranks N: the GPUs of each node');
  if (launcher === undefined)
    throw new WrongArgument(
      '--nodes needs a launcher that starts Python on each: --launcher "srun --nodes 2 --ntasks-per-node 1"',
    );
  if (rendezvous === undefined || !/^([\w.-]+|\[[\da-f:]+\]):\d+$/i.test(rendezvous))
    throw new WrongArgument(
      '--nodes needs an address of one of them that all reach: --rendezvous node01:29500',
    );
  return { count, rendezvous };
}

/** A trace is of one step of one process. */
function readTrace({
  trace,
  ...others
}: {
  readonly trace?: string | undefined;
  readonly ranks?: string | undefined;
  readonly keep?: string | undefined;
}): string | undefined {
  const [other] = (['ranks', 'keep'] as const).filter((name) => others[name] !== undefined);
  if (trace !== undefined && other !== undefined)
    throw new WrongArgument(`--trace and --${other} are two runs; give one of them`);
  return trace;
}

const sharedDevices: readonly string[] = ['auto', 'cuda', 'cpu'];

/** A kind of device, or one of several GPUs. */
function readDevice(text = 'auto', ranks: string | undefined): DeviceChoice {
  if (ranks !== undefined && !sharedDevices.includes(text))
    throw new WrongArgument(
      `--ranks runs on cuda or cpu, not on ${text}: each process takes the GPU of its number`,
    );
  if (isDeviceChoice(text)) return text;
  throw new WrongArgument(
    `--device ${text} is none of auto, ${deviceKinds.join(', ')}; one of several GPUs is cuda:0, cuda:1 and so on`,
  );
}
