/**
 * `layercost calibrate`: fits kernel times of this machine to its kept benchmark results, and writes them as a profile. With
 * `--device`, chosen kernels are run first.
 */

import { existsSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { fitFactors } from '../benchmark/calibration/fitFactors.ts';
import { fitHost, type HostTiming, hostTimingOf } from '../benchmark/calibration/fitHost.ts';
import { fitKernels, type KernelTiming } from '../benchmark/calibration/fitKernels.ts';
import { fitLink, type LinkFile } from '../benchmark/calibration/fitLink.ts';
import { hostOfProgram } from '../benchmark/calibration/hostOfProgram.ts';
import { type MachineFile, machineProfile } from '../benchmark/calibration/machineProfile.ts';
import { requestOfConditions } from '../benchmark/calibration/requestOfConditions.ts';
import type { KnownKernels } from '../benchmark/calibration/timedRows.ts';
import { timingsOfRun } from '../benchmark/calibration/timingsOfRun.ts';
import { computationOf } from '../benchmark/computation.ts';
import type { DeviceKind } from '../benchmark/deviceChoice.ts';
import type { BenchmarkDevice } from '../benchmark/deviceSchema.ts';
import { planBenchmark } from '../benchmark/planBenchmark.ts';
import type { SavedCollectives } from '../benchmark/savedCollectives.ts';
import type { SavedResult } from '../benchmark/savedResult.ts';
import { computeOfStep } from '../estimate/computeOfStep.ts';
import { planStep } from '../estimate/plan/planStep.ts';
import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { gpuOfDevice } from '../hardware/gpuOfDevice.ts';
import type { KernelRates } from '../hardware/kernelRates.ts';
import { kernelTime } from '../hardware/kernelTime.ts';
import { readClusterProfile } from '../hardware/readClusterProfile.ts';
import { formatCount, formatTime, significant } from '../model/format.ts';
import type { Seconds } from '../model/units.ts';
import { keptCollectives } from '../node/collectivesFile.ts';
import { machineFile } from '../node/machineFile.ts';
import { type ResultFile, readResults, thisMachine, workspaceOf } from '../node/resultFiles.ts';
import type { CalibrateArguments, CalibrationRunArguments } from './calibrateArguments.ts';
import { measureCollectives } from './collectivesCommand.ts';
import { costModelFile, type ModelFile, openModelFile, withoutFiles } from './costFile.ts';
import { measureKernels } from './measureKernels.ts';
import { printData, printMessage } from './streams.ts';
import { writeOutput } from './writeOutput.ts';

export async function runCalibrateCommand(given: CalibrateArguments): Promise<number> {
  const workspace = workspaceOf(given.folder);
  if (!existsSync(workspace)) {
    printMessage(`layercost: there is no folder ${given.folder}; check the path`);
    return 2;
  }
  if (given.run !== undefined && !(await measureMachine(workspace, given.run))) return 1;
  const { usable, skipped } = usableResults(given, readResults(workspace).results);
  for (const line of skipped) printMessage(`layercost: ${line}`);
  const runs = await openRuns(workspace, usable);
  const collectives = usableCollectives(workspace, runs[0]?.result.device);
  const device = runs[0]?.result.device ?? collectives?.device;
  if (device === undefined) {
    printMessage(
      'layercost: no benchmark result can be used; give --device, such as --device cuda, to time kernels for a minute, or run layercost benchmark FILE on three models or more',
    );
    return 1;
  }
  const profile = profileOf(runs, device, collectives);
  if (profile === undefined) {
    printMessage(
      `layercost: ${device.name} has no profile: describe it in a cluster profile (docs/clusters.md)`,
    );
    return 1;
  }
  const output = given.output ?? machineFile(workspace);
  if (!writeOutput(output, `${JSON.stringify(profile, null, 1)}\n`, 'w')) return 1;
  const ofKernels = runs.length === 0 ? [] : [...kindLines(profile), '', ...modelLines(runs, profile)];
  printData(`${[...ofKernels, ...hostLines(profile), ...linkLines(profile), ''].join('\n')}`);
  printMessage(`wrote ${output}: layercost report FILE --cluster ${output}`);
  return 0;
}

/** Whether kernels were measured, and collectives where they were asked for. */
async function measureMachine(workspace: string, run: CalibrationRunArguments): Promise<boolean> {
  if (!(await measureKernels(workspace, run))) return false;
  const { ranks, seconds } = run;
  if (ranks === undefined) return true;
  const { measurements } = await measureCollectives(
    workspace,
    { ...run, device: 'cuda', ranks, nodes: undefined },
    seconds / 4,
  );
  return measurements !== undefined;
}

function usableResults(
  { device, results: named }: CalibrateArguments,
  results: readonly ResultFile[],
): { readonly usable: readonly ResultFile[]; readonly skipped: readonly string[] } {
  const here = thisMachine();
  const usable: ResultFile[] = [];
  const skipped: string[] = named
    .filter((name) => !results.some(({ id }) => id === name))
    .map((name) => `there is no result ${name}`);
  for (const each of results) {
    const { id, result } = each;
    if (named.length > 0 && !named.includes(id)) continue;
    const reason = whyNotUsable(
      result,
      here.processor,
      device ?? usable[0]?.result.device.kind,
      usable[0]?.result,
    );
    if (reason === undefined) usable.push(each);
    else skipped.push(`${id} is left out: ${reason}`);
  }
  return { usable, skipped };
}

function whyNotUsable(
  { machine, device, computation: { conditions }, layers }: SavedResult,
  processor: string,
  kind: DeviceKind | undefined,
  first: SavedResult | undefined,
): string | undefined {
  const processorHere =
    machine.launcher === undefined ? processor : (first?.machine.processor ?? machine.processor);
  if (machine.processor !== processorHere) return `it was measured on ${machine.processor}`;
  if (machine.launcher !== undefined && device.kind === 'cpu')
    return 'it was measured on the processor of another machine';
  if (kind !== undefined && device.kind !== kind) return `it was measured on ${device.name}`;
  if (first !== undefined && device.name !== first.device.name) return `it was measured on ${device.name}`;
  if (first !== undefined && device.torch !== first.device.torch)
    return `it was measured with torch ${device.torch}`;
  if (conditions.compile !== null) return 'the step was compiled';
  if (conditions.checkpoint !== 'none') return 'blocks were recomputed';
  if (conditions.caches !== 'cold') return 'caches were hot';
  return layers.length === 0 ? 'no layer was measured' : undefined;
}

interface Run {
  readonly result: SavedResult;
  readonly file: ModelFile;
  readonly timings: readonly KernelTiming[];
  readonly host: HostTiming | undefined;
}

async function openRuns(workspace: string, results: readonly ResultFile[]): Promise<readonly Run[]> {
  const runs: Run[] = [];
  for (const { id, result } of results) {
    const opened = await openRun(join(workspace, result.file), result);
    if (typeof opened === 'string') printMessage(`layercost: ${id} is left out: ${opened}`);
    else runs.push(opened);
  }
  return runs;
}

async function openRun(path: string, result: SavedResult): Promise<Run | string> {
  const request = requestOfConditions(result.computation);
  const file = await openModelFile(path, { request, ...withoutFiles }, () => {});
  if (file === undefined) return `${result.file} cannot be read`;
  const { training, scenario, cluster } = costModelFile(file, request);
  if (training === undefined || scenario === undefined || cluster === undefined)
    return `${result.file} cannot be costed`;
  const now = computationOf(planBenchmark(training, scenario), scenario);
  if (now.fingerprint !== result.computation.fingerprint) return 'the model computes something else now';
  const plan = planStep(training, scenario, cluster);
  const names = training.analysis.layers.map(({ name }) => name);
  const layers = new Map(result.layers.map(({ position, ...times }) => [names[position] ?? '', times]));
  const measured = { ...result, layers };
  return { result, file, timings: timingsOfRun(plan, measured), host: hostTimingOf(plan, measured) };
}

/** Of the device of the results; a machine without a GPU has no link that a profile describes. */
function usableCollectives(
  workspace: string,
  device: BenchmarkDevice | undefined,
): SavedCollectives | undefined {
  const kept = keptCollectives(workspace);
  if (kept === undefined || kept.device.kind === 'cpu') return undefined;
  if (device === undefined || device.name === kept.device.name) return kept;
  printMessage(`layercost: the collectives are left out: they were measured on ${kept.device.name}`);
  return undefined;
}

function nodeOf(collectives: SavedCollectives | undefined): {
  readonly gpus: number;
  readonly link?: LinkFile | undefined;
} {
  const ranks = collectives?.rows[0]?.ranks;
  if (collectives === undefined || ranks === undefined) return { gpus: 1 };
  const { device, rows, measuredAt } = collectives;
  const pcie = gpuOfDevice(device.name, device.memoryBytes)?.hostLink?.value;
  const source = `layercost collectives, torch ${device.torch}, ${measuredAt.slice(0, 10)}`;
  const link = fitLink(rows, pcie === undefined ? undefined : pcie / 1e9, source);
  return link === undefined ? { gpus: 1 } : { gpus: ranks, link };
}

function hostLines({ host }: MachineFile): readonly string[] {
  const launch = host?.launch;
  if (launch === undefined) return [];
  const { microseconds, low = microseconds, high = microseconds } = launch;
  return [
    '',
    `host: ${significant(microseconds)} µs to launch a kernel, ${significant(low)} to ${significant(high)} from model to model`,
  ];
}

function linkLines({ link, gpusPerNode }: MachineFile): readonly string[] {
  if (link === undefined) return [];
  const text = (given: LinkFile['busBandwidthGBs'] | undefined): string =>
    significant(typeof given === 'object' ? given.value : (given ?? Number.NaN));
  return [
    '',
    `link of ${typeof gpusPerNode === 'object' ? gpusPerNode.value : gpusPerNode} GPUs: ${text(link.busBandwidthGBs)} GB/s of bus bandwidth, ${text(link.latencyMicroseconds)} µs for a step of a ring, taken for ${link.kind}`,
  ];
}

function profileOf(
  fitted: readonly Run[],
  device: BenchmarkDevice,
  collectives?: SavedCollectives,
): MachineFile | undefined {
  const [processor] = cpus();
  const files = [...new Set(fitted.map(({ result }) => result.file))].sort();
  const measuredAt = fitted[0]?.result.measuredAt ?? '';
  const source = `layercost calibrate: ${files.join(', ')}; ${device.precision}, torch ${device.torch}, ${measuredAt.slice(0, 10)}`;
  return machineProfile(
    device,
    {
      megahertz: processor === undefined || processor.speed === 0 ? 2500 : processor.speed,
      memoryGiB: totalmem() / 2 ** 30,
    },
    source,
    kindsOf(fitted, knownKernels(device)),
    nodeOf(collectives),
    fitHost(
      fitted.flatMap(({ host }) => host ?? []),
      source,
    ),
  );
}

const kindsOf = (
  fitted: readonly Run[],
  known: KnownKernels | undefined,
): ReadonlyMap<string, KernelRates> =>
  known === undefined
    ? fitKernels(fitted.flatMap(({ timings }) => timings))
    : fitFactors(
        fitted.map(({ result, timings }) => ({ model: result.file, timings })),
        known,
      );

/** Of a GPU that has a profile. */
function knownKernels({ kind, name, memoryBytes }: BenchmarkDevice): KnownKernels | undefined {
  const gpu = kind === 'cuda' ? gpuOfDevice(name, memoryBytes) : undefined;
  return gpu && ((work) => kernelTime(gpu, work).time);
}

function kindLines({ kernels }: MachineFile): readonly string[] {
  const right = (title: string): Column => ({ title, align: 'right' });
  const text = (value: number | undefined): string => (value === undefined ? '' : significant(value));
  return layoutColumns(
    [
      { title: 'kernel', align: 'left' },
      right('GFLOP/s'),
      right('GB/s'),
      right('µs per launch'),
      right('of the profile'),
      right('range'),
      right('timings'),
    ],
    Object.entries(kernels?.kinds ?? {}).map(([kind, rates]) => [
      kind,
      text(rates.gflops),
      text(rates.gbytesPerSecond),
      text(rates.microseconds),
      rates.factor === undefined ? '' : `${significant(rates.factor)}×`,
      `${significant(rates.low)}–${significant(rates.high)}`,
      formatCount(rates.measurements),
    ]),
  );
}

/** Each model as the others predict it: what was fitted to a model says nothing of the next. */
function modelLines(runs: readonly Run[], whole: MachineFile): readonly string[] {
  const right = (title: string): Column => ({ title, align: 'right' });
  const { kernels: _, host: __, ...plain } = whole;
  const rows = runs.map((run) => {
    const others = profileOf(
      runs.filter(({ result }) => result.file !== run.result.file),
      run.result.device,
    );
    const measured = run.result.step?.whole;
    const cell = (predicted: Seconds | undefined): readonly string[] => [
      predicted === undefined ? '' : formatTime(predicted),
      predicted === undefined || measured === undefined ? '' : significant(predicted / measured),
    ];
    return [
      run.result.file,
      String(run.result.computation.conditions.batch),
      measured === undefined ? '' : formatTime(measured),
      ...cell(stepOf(run, plain)),
      ...cell(others === undefined || others.kernels === undefined ? undefined : stepOf(run, others)),
      ...cell(stepOf(run, whole)),
    ];
  });
  return layoutColumns(
    [
      { title: 'model', align: 'left' },
      right('batch'),
      right('step measured'),
      right('uncalibrated'),
      right('ratio'),
      right('by the others'),
      right('ratio'),
      right('calibrated'),
      right('ratio'),
    ],
    rows,
  );
}

function stepOf({ result, file }: Run, profile: MachineFile): Seconds | undefined {
  const { cluster } = readClusterProfile(JSON.stringify(profile));
  const { cost } = costModelFile(
    { ...file, customCluster: cluster && hostOfProgram(cluster) },
    requestOfConditions(result.computation),
  );
  return cost === undefined ? undefined : (computeOfStep(cost) ?? undefined);
}
