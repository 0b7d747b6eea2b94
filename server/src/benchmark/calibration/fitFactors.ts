/**
 * Factors to what the profile of a GPU says of its kernels, one for each kind, fitted to timings that hold several kernels each.
 *
 * What a kind takes of a model over what the profile says differs from model to model, by shapes that no curve knows. So models count, not
 * timings: random effects with moments (DerSimonian, Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials 7, 1986).
 * The factor of a kind is drawn towards 1 by how far models differ in it, and how far they differ is drawn towards what all kinds have
 * (Smyth, "Linear models and empirical Bayes methods", Statistical Applications in Genetics and Molecular Biology 3, 2004).
 *
 * A timing of several kinds is divided among them by what they are predicted to take, which is repeated as the factors change.
 */

import { stepDoubts } from '../../hardware/kernelDoubt.ts';
import type { KernelRates } from '../../hardware/kernelRates.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { measuredKind } from '../../hardware/measuredKernels.ts';
import { type Seconds, seconds } from '../../model/units.ts';
import type { KernelTiming } from './fitKernels.ts';

/** What a profile says of a kernel. */
export type KnownKernels = (work: KernelWork) => Seconds;

export interface TimedModel {
  /** Runs of one file count as one model. */
  readonly model: string;
  readonly timings: readonly KernelTiming[];
}

export function fitFactors(
  models: readonly TimedModel[],
  known: KnownKernels,
): ReadonlyMap<string, KernelRates> {
  const rows = models.flatMap(({ model, timings }) =>
    timings.filter(({ time }) => time > 0).map((timing) => rowOf(model, timing, known)),
  );
  const { kinds } = fitRows(rows);
  // Every step has the doubt that is always there besides.
  const ofStep = Math.sqrt(Math.max(0, (tenths * stepError(rows)) ** 2 - stepDoubts.always ** 2));
  const scale = ofStep / meanWidth(rows, kinds);
  const counted = countKinds(rows);
  return new Map(
    [...kinds].map(([kind, { factor, spread }]) => {
      const width = Math.exp(scale * spread);
      return [
        kind,
        {
          perFlop: seconds(0),
          perByte: seconds(0),
          perLaunch: seconds(0),
          ofProfile: factor,
          low: 1 / width,
          high: width,
          measurements: counted.get(kind) ?? Number.NaN,
        },
      ];
    }),
  );
}

/** Standard deviations of natural logarithms, of an H200 and 16 networks (`measured/benchmark-layers-h200.csv`). */
const prior = {
  /** Of the factors of kinds. */
  factors: 0.1,
  /** Of one kind from model to model, and how many models this counts for. */
  models: 0.18,
  count: 4,
  /** Of whole steps that calibration has not seen. */
  steps: 0.07,
} as const;

/** From the middle to the 10th and the 90th percentile, in standard deviations. */
const tenths = 1.28;

/** What no kind of kernel is off by: beyond, a model runs other kernels. */
const farthest = Math.log(20);

interface Row {
  readonly model: string;
  readonly of: KernelTiming['of'];
  readonly time: number;
  /** By kind: what the profile says. */
  readonly known: ReadonlyMap<string, number>;
}

function rowOf(model: string, { kernels, time, of }: KernelTiming, knownTime: KnownKernels): Row {
  const known = new Map<string, number>();
  for (const work of kernels) add(known, measuredKind(work), knownTime(work));
  return { model, of, time, known };
}

interface FittedKind {
  readonly factor: number;
  /** Standard deviation of the logarithm, of a further model. */
  readonly spread: number;
}

interface Fit {
  readonly kinds: ReadonlyMap<string, FittedKind>;
  readonly starts: ReadonlyMap<Row['of'], number>;
}

const rounds = 8;

function fitRows(rows: readonly Row[]): Fit {
  let fit: Fit = { kinds: new Map(), starts: new Map() };
  for (let round = 0; round < rounds; round += 1) {
    const starts = startsOf(rows, fit.kinds);
    fit = { starts, kinds: fitKinds(divide(rows, { ...fit, starts })) };
  }
  return fit;
}

const factorOf = (kinds: Fit['kinds'], kind: string): number => kinds.get(kind)?.factor ?? 1;

const predicted = ({ known }: Row, kinds: Fit['kinds']): number => {
  let sum = 0;
  for (const [kind, time] of known) sum += factorOf(kinds, kind) * time;
  return sum;
};

/**
 * What a pass of a layer alone takes beside its kernels, by the shortest ones: the GPU takes longer to start a kernel that follows
 * none, and a processor calls Python.
 */
function startsOf(rows: readonly Row[], kinds: Fit['kinds']): Fit['starts'] {
  const found = new Map<Row['of'], number>();
  for (const of of ['forward', 'backward'] as const) {
    const own = rows.filter((row) => row.of === of && row.known.size > 0);
    const shortest = Math.min(...own.map(({ time }) => time));
    const left = own
      .filter(({ time }) => time < short * shortest)
      .map((row) => row.time - predicted(row, kinds))
      .sort((one, other) => one - other);
    const middle = left[left.length >> 1];
    if (middle !== undefined && left.length >= few) found.set(of, Math.max(0, middle));
  }
  return found;
}

/** Over the shortest timing: of longer ones a start is no part that can be told. */
const short = 4;
const few = 5;

/** A timing that is further from what is fitted counts less: mostly it holds kernels that the prediction does not know. */
const farOff = 0.1;

const startOf = (starts: Fit['starts'], of: Row['of']): number => {
  const start = starts.get(of);
  return start === undefined ? 0 : start;
};

/** Without its start; of the shortest, a part stays. */
const net = ({ time, of }: Row, starts: Fit['starts']): number =>
  Math.max(time - startOf(starts, of), 0.3 * time);

/** By kind and model: what was measured and what the profile says, in seconds. */
type Divided = ReadonlyMap<
  string,
  ReadonlyMap<string, { readonly measured: number; readonly known: number; readonly share: number }>
>;

function divide(rows: readonly Row[], { kinds, starts }: Fit): Divided {
  const measured = new Map<string, Map<string, number>>();
  const known = new Map<string, Map<string, number>>();
  const totals = new Map<string, number>();
  for (const row of rows) {
    const whole = predicted(row, kinds);
    if (whole === 0) continue;
    const time = net(row, starts);
    const weight = Math.min(1, farOff / Math.abs(Math.log(time / whole)));
    add(totals, row.model, time);
    for (const [kind, own] of row.known) {
      add(innerOf(measured, kind), row.model, (weight * time * factorOf(kinds, kind) * own) / whole);
      add(innerOf(known, kind), row.model, weight * own);
    }
  }
  return new Map(
    [...known].map(([kind, models]) => [
      kind,
      new Map(
        [...models]
          .filter(([, own]) => own > 0)
          .map(([model, own]) => {
            const time = measured.get(kind)?.get(model) ?? Number.NaN;
            return [model, { measured: time, known: own, share: time / (totals.get(model) ?? Number.NaN) }];
          }),
      ),
    ]),
  );
}

/** No kind says more than this of how far kinds differ. */
const most = 0.2;

function fitKinds(divided: Divided): Fit['kinds'] {
  const kinds = [...divided]
    .filter(([, models]) => models.size > 0)
    .map(([kind, models]) => ({ kind, ...moments([...models.values()]) }));
  const freedom = kinds.reduce((sum, { count }) => sum + count - 1, 0);
  const squares = kinds.reduce((sum, { variance, count }) => sum + Math.min(variance, most) * (count - 1), 0);
  const pooled = (prior.count * prior.models ** 2 + squares) / (prior.count + freedom);
  return new Map(
    kinds.map(({ kind, mean, variance, count }) => {
      const own = (prior.count * pooled + (count - 1) * variance) / (prior.count + count - 1);
      const told = prior.factors ** 2 / (prior.factors ** 2 + own / count);
      return [
        kind,
        { factor: Math.exp(told * mean), spread: Math.sqrt(own + (1 - told) * prior.factors ** 2) },
      ];
    }),
  );
}

interface Moments {
  readonly mean: number;
  /** Between models, unbiased; 0 of one model. */
  readonly variance: number;
  /** How many models weighted alike would tell as much. */
  readonly count: number;
}

/** Of logarithms of measured over known. A model counts by what the kind takes of it. */
function moments(
  models: readonly { readonly measured: number; readonly known: number; readonly share: number }[],
): Moments {
  const values = models.map(({ measured, known, share }) => ({
    weight: share,
    ratio: Math.max(-farthest, Math.min(farthest, Math.log(measured / known))),
  }));
  const weights = values.reduce((sum, { weight }) => sum + weight, 0);
  const mean = values.reduce((sum, { weight, ratio }) => sum + weight * ratio, 0) / weights;
  const count = weights ** 2 / values.reduce((sum, { weight }) => sum + weight ** 2, 0);
  const around = values.reduce((sum, { weight, ratio }) => sum + weight * (ratio - mean) ** 2, 0) / weights;
  return { mean, variance: count > 1.01 ? (around * count) / (count - 1) : 0, count };
}

/** Standard deviation of the logarithm of a model's time over what the others predict of it. */
function stepError(rows: readonly Row[]): number {
  const models = [...new Set(rows.map(({ model }) => model))];
  const errors =
    models.length < 3
      ? []
      : models.map((model) => {
          const { kinds, starts } = fitRows(rows.filter((row) => row.model !== model));
          const own = rows.filter((row) => row.model === model && row.known.size > 0);
          const measured = own.reduce((sum, row) => sum + net(row, starts), 0);
          return Math.log(measured / own.reduce((sum, row) => sum + predicted(row, kinds), 0));
        });
  const squares = errors.reduce((sum, error) => sum + Math.min(error, 3 * prior.steps) ** 2, 0);
  return Math.sqrt((prior.count * prior.steps ** 2 + squares) / (prior.count + errors.length));
}

/** What the spreads of its kinds add up to in a step, as ranges of steps are made; the mean of the models. */
function meanWidth(rows: readonly Row[], kinds: Fit['kinds']): number {
  const wide = new Map<string, number>();
  const whole = new Map<string, number>();
  for (const row of rows) {
    for (const [kind, time] of row.known) {
      const own = factorOf(kinds, kind) * time;
      add(whole, row.model, own);
      const fitted = kinds.get(kind);
      if (fitted !== undefined) add(wide, row.model, own * fitted.spread);
    }
  }
  const shares = [...wide].map(([model, sum]) => sum / (whole.get(model) ?? Number.NaN));
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function countKinds(rows: readonly Row[]): ReadonlyMap<string, number> {
  const counted = new Map<string, number>();
  for (const { known } of rows) for (const kind of known.keys()) add(counted, kind, 1);
  return counted;
}

function add(sums: Map<string, number>, key: string, value: number): void {
  const before = sums.get(key);
  sums.set(key, before === undefined ? value : before + value);
}

function innerOf(maps: Map<string, Map<string, number>>, key: string): Map<string, number> {
  const inner = maps.get(key) ?? new Map<string, number>();
  maps.set(key, inner);
  return inner;
}
