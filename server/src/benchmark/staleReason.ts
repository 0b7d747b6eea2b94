/** Why a kept result is not one of this model in this scenario on this machine. */

import type { Computation, Conditions } from './computation.ts';
import type { Machine } from './machine.ts';
import type { SavedResult } from './savedResult.ts';

/** One clause for a person; `undefined` where the result may stand beside this prediction. */
export function staleReason(
  saved: Pick<SavedResult, 'machine' | 'computation'>,
  now: Computation,
  here: Machine,
): string | undefined {
  const { machine, computation } = saved;
  // A launcher measures elsewhere on purpose; what ran there is named beside its times.
  if (machine.launcher === undefined && machineKeys.some((key) => machine[key] !== here[key]))
    return machine.name === here.name
      ? `measured on another machine of this name: ${machine.processor}`
      : `measured on ${machine.name}, not on ${here.name}`;
  const differing = conditionNames.filter(([key]) => computation.conditions[key] !== now.conditions[key]);
  if (differing.length > 0)
    return differing
      .map(([key, name]) => differs(name, computation.conditions[key], now.conditions[key]))
      .join(', ');
  if (computation.fingerprint === now.fingerprint) return undefined;
  const dimensions = Object.entries(now.dimensions).filter(
    ([name, value]) => computation.dimensions[name] !== undefined && computation.dimensions[name] !== value,
  );
  return dimensions.length > 0
    ? dimensions.map(([name, value]) => differs(name, computation.dimensions[name], value)).join(', ')
    : 'the model computes something else now';
}

const differs = (name: string, measured: Value | undefined, now: Value): string =>
  `measured with ${name} ${text(measured)}, not ${text(now)}`;

type Value = Conditions[keyof Conditions];
const text = (value: Value | undefined): string =>
  value === null || value === undefined ? 'none' : String(value);

const machineKeys = ['name', 'platform', 'processor', 'cores'] as const;

/** The names that the scenario has for them. */
const conditionNames: readonly (readonly [keyof Conditions, string])[] = [
  ['batch', 'batch'],
  ['mode', 'mode'],
  ['precision', 'precision'],
  ['optimizer', 'optimizer'],
  ['accumulate', 'accumulate'],
  ['channelsLast', 'channels-last'],
  ['compile', 'compile'],
  ['optimizerKernels', 'optimizer-kernels'],
  ['clipsNorm', 'clip-norm'],
  ['addsGradients', 'added gradients'],
  ['weights', 'weights'],
  ['convTf32', 'conv-tf32'],
  ['checkpoint', 'checkpoint'],
  ['caches', 'caches'],
];
