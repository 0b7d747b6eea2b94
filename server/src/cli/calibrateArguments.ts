/** Options of `layercost calibrate`. */

import { type DeviceKind, deviceKinds } from '../benchmark/deviceChoice.ts';
import { oneOf, WrongArgument } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';

export interface CalibrateArguments {
  readonly command: 'calibrate';
  /** Whose workspace has the results; left out, the current folder. */
  readonly folder: string;
  /** Which results count; left out, those of the device of the newest. */
  readonly device: DeviceKind | undefined;
  /** Names of results; none: all of this machine and device. */
  readonly results: readonly string[];
  readonly output: string | undefined;
}

/** Throws `WrongArgument`. */
export function readCalibrateArguments(rest: readonly string[]): CalibrateArguments {
  const { values, positionals } = parseOptions(rest, {
    device: { type: 'string' },
    results: { type: 'string' },
    output: { type: 'string' },
  });
  const [folder = '.', ...more] = positionals;
  if (more.length > 0)
    throw new WrongArgument(
      'layercost calibrate takes at most one folder; --results A,B names benchmark results',
    );
  return {
    command: 'calibrate',
    folder,
    device: values.device === undefined ? undefined : oneOf('--device', values.device, deviceKinds, 'cpu'),
    results: values.results?.split(',') ?? [],
    output: values.output,
  };
}
