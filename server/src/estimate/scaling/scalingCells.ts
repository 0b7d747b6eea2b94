/** The cells of a scaling curve as text: what every rendering that a person reads shares. */

import { type DeviceNoun, deviceNounFor } from '../../model/deviceNoun.ts';
import {
  atLeast,
  atMost,
  formatCount,
  formatDuration,
  formatPercent,
  formatPrice,
  formatRate,
  formatTime,
  significant,
} from '../../model/format.ts';
import { markedMemory } from '../../model/gpuMemory.ts';
import type { StepLimit } from '../../model/stepCost.ts';
import type { Column } from '../report/columns.ts';
import type { Scaling } from './scaleJob.ts';
import type { ScalingPoint } from './scalingCurve.ts';

export interface ScalingColumn extends Column {
  readonly cell: (point: ScalingPoint) => string;
}

/** Weak scaling keeps the batch of each GPU, strong scaling that over all of them. */
export const efficiencyName = (isStrong: boolean): string =>
  isStrong ? 'strong efficiency' : 'weak efficiency';

/** `GPUs`, `CPU nodes`. */
export const countTitle = (device: DeviceNoun): string => deviceNounFor(2, device);
export const batchTitle = (device: DeviceNoun): string => `batch per ${device}`;

/** Columns that have something to say of these points. */
export function scalingColumns({ points, isStrong, device }: Scaling): readonly ScalingColumn[] {
  const right = (title: string, cell: ScalingColumn['cell']): ScalingColumn => ({
    title,
    align: 'right',
    cell,
  });
  const hasRun = points.some(({ runTime }) => runTime !== null);
  const hasPrice = points.some(({ runPrice }) => runPrice !== null);
  return [
    right(countTitle(device), ({ gpus }) => formatCount(gpus)),
    // Beside CPU nodes it would be the same number again.
    ...(device === 'GPU' ? [right('nodes', ({ nodes }) => formatCount(nodes))] : []),
    ...(isStrong ? [right(batchTitle(device), ({ batchPerGpu }) => formatCount(batchPerGpu))] : []),
    right('step', ({ step, exact }) => atLeast(formatTime(step), exact)),
    right('range', ({ stepRange }) =>
      stepRange === null ? '' : `${formatTime(stepRange.low)} to ${formatTime(stepRange.high)}`,
    ),
    right('communication', ({ communication, memoryExact }) =>
      atLeast(formatTime(communication), memoryExact),
    ),
    right('exposed', ({ exposedCommunication }) => formatTime(exposedCommunication)),
    right('throughput', ({ throughput, exact }) => atMost(formatRate(throughput), exact)),
    ...(isStrong
      ? [right('speed-up', ({ speedup }) => (speedup === null ? '?' : `${significant(speedup)} ×`))]
      : []),
    right(efficiencyName(isStrong), ({ scalingEfficiency }) => formatPercent(scalingEfficiency)),
    right('memory', ({ memory, fits, memoryExact }) =>
      markedMemory({ needed: memory, fits, exact: memoryExact }),
    ),
    ...(hasRun
      ? [
          right('run', ({ runTime, runExact }) =>
            runTime === null ? '?' : atLeast(formatDuration(runTime), runExact),
          ),
        ]
      : []),
    ...(hasPrice
      ? [
          right('price', ({ runPrice, runExact }) =>
            runPrice === null ? '?' : atLeast(formatPrice(runPrice), runExact),
          ),
        ]
      : []),
    { title: 'limit', align: 'left', cell: limitText },
  ];
}

/** Of a step that does not fit it is what would limit a GPU with room for it: the memory of the same row says so. */
export const limitText = (point: ScalingPoint): string => textOfLimit(point, limitNames, ' of the step');

/** The same in a word and a share. */
export const shortLimitText = (point: ScalingPoint): string => textOfLimit(point, shortLimitNames, '');

type LimitNames = Readonly<Record<Exclude<StepLimit['kind'], 'compute'>, string>>;

function textOfLimit(
  { exact, limit: { kind, share } }: ScalingPoint,
  names: LimitNames,
  ofWhat: string,
): string {
  if (!exact) return '?';
  return kind === 'compute' ? kind : `${names[kind]}, ${formatPercent(share)}${ofWhat}`;
}

const limitNames: LimitNames = {
  host: 'host launches',
  input: 'input',
  latency: 'message start-up',
  communication: 'message bandwidth',
  server: 'parameter servers',
  imbalance: 'slowest worker',
  pipeline: 'pipeline bubble',
};

const shortLimitNames: LimitNames = {
  host: 'launches',
  input: 'input',
  latency: 'start-up',
  communication: 'bandwidth',
  server: 'servers',
  imbalance: 'slowest worker',
  pipeline: 'bubble',
};

/** Of a curve with missing points: `12 and 20 GPUs could not be costed: ` and why; else ''. */
export function missingText({ missing, issues, device }: Scaling): string {
  const last = missing.at(-1);
  if (last === undefined) return '';
  const list = missing.length === 1 ? `${last}` : `${missing.slice(0, -1).join(', ')} and ${last}`;
  const why = issues.filter(({ severity }) => severity === 'error').map(({ message }) => message);
  return `${list} ${deviceNounFor(last, device)} could not be costed: ${why.join('; ')}`;
}
