/** Options of `layercost calibrate`. */

import { type DeviceKind, deviceKinds, isDeviceChoice, kindOfChoice } from '../benchmark/deviceChoice.ts';
import { launcherWords } from '../benchmark/launcherWords.ts';
import { precisions } from '../model/scenario.ts';
import type { KernelRun } from './measureKernels.ts';
import { chosen, positiveNumber, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';

export interface CalibrateArguments {
  readonly command: 'calibrate';
  /** Whose workspace has the results; left out, the current folder. */
  readonly folder: string;
  /** Which results count; left out, those of the device of the newest. */
  readonly device: DeviceKind | undefined;
  /** Kernels to run before results are read; left out, none. */
  readonly run: CalibrationRunArguments | undefined;
  /** Names of results; none: all of this machine and device. */
  readonly results: readonly string[];
  readonly output: string | undefined;
}

export interface CalibrationRunArguments extends KernelRun {
  /** GPUs over which collectives are timed too; left out, none are. */
  readonly ranks: number | undefined;
}

const textOption = { type: 'string' } as const;
const runOptions = {
  seconds: textOption,
  precision: textOption,
  ranks: textOption,
  python: textOption,
  launcher: textOption,
} as const;

/** Throws `WrongArgument`. */
export function readCalibrateArguments(rest: readonly string[]): CalibrateArguments {
  const { values, positionals } = parseOptions(rest, {
    ...runOptions,
    device: textOption,
    results: textOption,
    output: textOption,
  });
  const [folder = '.', ...more] = positionals;
  if (more.length > 0)
    throw new WrongArgument(
      'layercost calibrate takes at most one folder; --results A,B names benchmark results',
    );
  const device = readDevice(values.device);
  const runs = device !== undefined && values.results === undefined;
  const [unused] = Object.keys(runOptions).filter((name) => name in values);
  if (!runs && unused !== undefined)
    throw new WrongArgument(
      `--${unused} is of a run of kernels: give --device, such as --device cuda, and no --results`,
    );
  return {
    command: 'calibrate',
    folder,
    device: device === undefined ? undefined : kindOfChoice(device),
    run: runs ? readRun(device, values) : undefined,
    results: values.results?.split(',') ?? [],
    output: values.output,
  };
}

function readDevice(text: string | undefined): KernelRun['device'] | undefined {
  if (text === undefined) return undefined;
  if (isDeviceChoice(text) && text !== 'auto') return text;
  throw new WrongArgument(
    `--device ${text} is none of ${deviceKinds.join(', ')}; one of several GPUs is cuda:0, cuda:1 and so on`,
  );
}

function readRun(
  device: KernelRun['device'],
  {
    seconds,
    precision,
    ranks,
    python,
    launcher = '',
  }: { readonly [Option in keyof typeof runOptions]?: string | undefined },
): CalibrationRunArguments {
  if (ranks !== undefined && device !== 'cuda')
    throw new WrongArgument('--ranks times collectives over GPUs: give it with --device cuda');
  return {
    device,
    seconds: positiveNumber('--seconds', seconds) ?? 60,
    precision: chosen('--precision', precision, precisions),
    ranks: wholeNumber('--ranks', ranks, 2),
    python,
    launcher: launcherWords(launcher),
  };
}
