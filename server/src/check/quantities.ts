/** What a budget can be about: each quantity of a report, which side of its limit is good, and how it is written. */

import type { Report } from '../estimate/report/report.ts';
import { hasAllWeights } from '../estimate/report/reportText.ts';
import {
  formatBytes,
  formatDuration,
  formatFlops,
  formatPercent,
  formatPrice,
  formatRate,
  formatShortCount,
  formatTime,
} from '../model/format.ts';
import { bytes, flops, seconds } from '../model/units.ts';
import type { Unit } from './amount.ts';

export interface Quantity {
  readonly documentation: string;
  /** Whether a limit is the most or the least that is good. */
  readonly limit: 'at most' | 'at least';
  readonly unit: Unit;
  /** In the base unit; null where it is not known. */
  readonly of: (report: Report) => number | null;
  /** Where it is not exact, a quantity with a limit above is at least what is given, the others at most. */
  readonly isExact: (report: Report) => boolean;
  readonly format: (value: number) => string;
  /** What makes a bound exact, where that is for the scenario to say. */
  readonly advice?: string;
}

const isTimed = ({ totals }: Report): boolean => totals.time.exact;
const isWhole = ({ totals }: Report): boolean => totals.exact;

const startAdvice = '; give `start-seconds` in `run`';

export const quantities = {
  step: {
    documentation: 'Time of a step.',
    limit: 'at most',
    unit: 'time',
    of: ({ totals }) => totals.time.step,
    isExact: isTimed,
    format: (value) => formatTime(seconds(value)),
  },
  exposed: {
    documentation: 'Communication of a step for which GPUs wait.',
    limit: 'at most',
    unit: 'time',
    of: ({ totals }) => totals.time.exposedCommunication,
    isExact: isTimed,
    format: (value) => formatTime(seconds(value)),
  },
  throughput: {
    documentation: 'Samples per second over all GPUs.',
    limit: 'at least',
    unit: 'count',
    of: ({ totals }) => totals.throughput,
    isExact: isTimed,
    format: (value) => formatRate(value),
  },
  efficiency: {
    documentation: 'Weak scaling efficiency.',
    limit: 'at least',
    unit: 'share',
    of: ({ totals }) => totals.scalingEfficiency,
    isExact: isTimed,
    format: formatPercent,
  },
  mfu: {
    documentation: 'Model FLOPs utilisation.',
    limit: 'at least',
    unit: 'share',
    of: ({ totals }) => totals.mfu,
    isExact: isTimed,
    format: formatPercent,
  },
  memory: {
    documentation: 'Memory that a GPU needs: tensors at their peak, driver and framework beside them.',
    limit: 'at most',
    unit: 'size',
    of: ({ totals }) => totals.memory.needed,
    isExact: isWhole,
    format: (value) => formatBytes(bytes(value)),
  },
  parameters: {
    documentation: 'Parameters that are trained.',
    limit: 'at most',
    unit: 'count',
    of: ({ model }) => model.parameters,
    isExact: hasAllWeights,
    format: formatShortCount,
  },
  flops: {
    documentation: 'FLOPs of a step on a GPU, 2 per multiply-add.',
    limit: 'at most',
    unit: 'count',
    of: ({ totals }) => totals.flops.forward + totals.flops.backward,
    isExact: isWhole,
    format: (value) => formatFlops(flops(value)),
  },
  'run-time': {
    documentation: 'Time of the whole run, which the scenario describes.',
    limit: 'at most',
    unit: 'time',
    of: ({ totals }) => totals.run?.time ?? null,
    isExact: ({ totals }) => totals.time.exact && totals.run?.exact === true,
    format: (value) => formatDuration(seconds(value)),
    advice: startAdvice,
  },
  'run-cost': {
    documentation: 'US dollars of the whole run.',
    limit: 'at most',
    unit: 'money',
    of: ({ totals }) => totals.run?.price ?? null,
    isExact: ({ totals }) => totals.time.exact && totals.run?.exact === true,
    format: formatPrice,
    advice: startAdvice,
  },
} as const satisfies Readonly<Record<string, Quantity>>;

export type QuantityName = keyof typeof quantities;

export const quantityNames = Object.keys(quantities).filter(
  (name): name is QuantityName => name in quantities,
);
