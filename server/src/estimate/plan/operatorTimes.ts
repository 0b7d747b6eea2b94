/** GPU time of every operator, forward and backward, from its kernels. */

import { type FoldLayout, unfoldColumn } from '../../analysis/repetition/foldGraph.ts';
import type { LoweredGraph } from '../../frameworks/behaviour.ts';
import type { GpuProfile } from '../../hardware/clusterProfile.ts';
import { type DoubtCause, kernelWidth } from '../../hardware/kernelDoubt.ts';
import type { TimeBasis } from '../../hardware/kernels/bodyTime.ts';
import { type KernelTime, kernelTime } from '../../hardware/kernelTime.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { floatAt } from '../../model/at.ts';
import type { Bound, Estimate } from '../../model/estimate.ts';
import type { Seconds } from '../../model/units.ts';

/** Columns aligned with the operators of the graph, in seconds. */
export interface PassTimes {
  readonly middle: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly launches: Float64Array;
  /** The middle value by what bounds it. */
  readonly compute: Float64Array;
  readonly memory: Float64Array;
  readonly launch: Float64Array;
  /** The middle value on curves measured on this GPU, on those of another, and on a roofline. */
  readonly onOwn: Float64Array;
  readonly onOther: Float64Array;
  readonly onRoofline: Float64Array;
  /** By how much they may be off as parts of a step, in seconds (`stepSpread.ts`). */
  readonly doubtStepsLow: Float64Array;
  readonly doubtStepsHigh: Float64Array;
  readonly doubtMatmul: Float64Array;
  readonly doubtConvolution: Float64Array;
  readonly doubtOther: Float64Array;
  readonly doubtRoofline: Float64Array;
  /** What operators take longer that are taken for one kernel, if they are several. */
  readonly doubtAssumed: Float64Array;
  /** Bytes moved. */
  readonly bytes: Float64Array;
}

export interface OperatorTimes {
  readonly forward: PassTimes;
  readonly backward: PassTimes;
  /** Of backward, the gradients of weights: a pipeline may put them off. */
  readonly weight: WeightTimes;
}

export type WeightTimes = Pick<PassTimes, 'middle' | 'low' | 'high' | 'launches'>;

/** An operator of unknown cost takes no time here; it is listed elsewhere. */
export function operatorTimes(gpu: GpuProfile, lowered: LoweredGraph): OperatorTimes {
  const count = lowered.operators.length;
  const forward = emptyTimes(count);
  const backward = emptyTimes(count);
  const weight = emptyWeights(count);
  const times = new Map<KernelWork, KernelTime>();
  /** Operators share kernels; each is timed once. */
  const timeOf = (kernel: KernelWork): KernelTime => {
    let time = times.get(kernel);
    if (time === undefined) {
      time = kernelTime(gpu, kernel);
      times.set(kernel, time);
    }
    return time;
  };
  lowered.operators.forEach((operator, index) => {
    if (operator === undefined) return;
    for (const kernel of operator.forward) addKernel(forward, index, kernel, timeOf(kernel));
    for (const kernel of operator.backwardData) addKernel(backward, index, kernel, timeOf(kernel));
    for (const kernel of operator.backwardWeight) {
      addKernel(backward, index, kernel, timeOf(kernel));
      addWeight(weight, index, kernel, timeOf(kernel));
    }
    if (operator.assumed === undefined) return;
    const highOf = (kernels: readonly KernelWork[]): number =>
      kernels.reduce((total, kernel) => total + timeOf(kernel).high, 0);
    // What may be several kernels takes their time at most.
    raiseTo(forward, index, highOf(operator.assumed.forward));
    if (operator.backwardData.length > 0) raiseTo(backward, index, highOf(operator.assumed.backward));
  });
  return { forward, backward, weight };
}

/** The same, but for the backward of some operators, which takes no time. */
export function withoutBackward(
  { forward, backward, weight }: OperatorTimes,
  operators: readonly number[],
): OperatorTimes {
  const silenced = (column: Float64Array): Float64Array => {
    const copy = column.slice();
    for (const index of operators) copy[index] = 0;
    return copy;
  };
  return { forward, backward: mapColumns(backward, silenced), weight: mapWeights(weight, silenced) };
}

/** Of length 1. */
export interface UpdateTimes extends PassTimes {
  /** What the host does for it, in launches: those of its kernels and what it does for each parameter. */
  readonly hostLaunches: number;
  /** The host waits for the GPU before it launches it. */
  readonly hostWaits: boolean;
  /** For which the optimizer runs on the host; left out, it runs on the GPU. */
  readonly onHost?: Estimate<Seconds>;
}

/**
 * The same where a kernel is launched when the one before has ended: its launch, in seconds, passes before it runs, and nothing is
 * launched ahead.
 */
export function launchedOneByOne(
  { forward, backward, weight }: OperatorTimes,
  launch: Estimate<Seconds>,
): OperatorTimes {
  const after = (times: WeightTimes, bound: Bound): Float64Array =>
    times[bound].map((time, index) => time + floatAt(times.launches, index) * launch[bound]);
  const ofPass = (times: PassTimes): PassTimes =>
    columnsBy((key) => {
      if (key === 'middle' || key === 'low' || key === 'high') return after(times, key);
      if (key === 'launches') return new Float64Array(times.launches.length);
      if (key !== 'launch') return times[key];
      return times.launch.map((time, index) => time + floatAt(times.launches, index) * launch.middle);
    });
  return {
    forward: ofPass(forward),
    backward: ofPass(backward),
    weight: {
      middle: after(weight, 'middle'),
      low: after(weight, 'low'),
      high: after(weight, 'high'),
      launches: new Float64Array(weight.launches.length),
    },
  };
}

/** The kernels of one piece of work, as columns of length 1. */
export function kernelTimes(gpu: GpuProfile, kernels: readonly KernelWork[]): PassTimes {
  const times = emptyTimes(1);
  for (const kernel of kernels) addKernel(times, 0, kernel, kernelTime(gpu, kernel));
  return times;
}

/** Kernels in the columns of the operators they belong to; those of equal size are timed once. */
export function timesByOperator(
  gpu: GpuProfile,
  operators: number,
  work: readonly { readonly operator: number; readonly kernel: KernelWork }[],
): PassTimes {
  const times = columnsBy(() => new Float64Array(operators));
  const known = new Map<number, KernelTime>();
  for (const { operator, kernel } of work) {
    const time = known.get(kernel.bytes) ?? kernelTime(gpu, kernel);
    known.set(kernel.bytes, time);
    addKernel(times, operator, kernel, time);
  }
  return times;
}

/** Column by column, each pass by its weight. */
export function addedTimes(
  left: PassTimes,
  leftWeight: number,
  right: PassTimes,
  rightWeight: number,
): PassTimes {
  // A loop, not a callback for each element: a plan of layouts adds up columns of whole models by the thousand.
  const added = (key: keyof PassTimes): Float64Array => {
    const [one, other] = [left[key], right[key]];
    const sums = new Float64Array(one.length);
    for (let index = 0; index < sums.length; index += 1)
      sums[index] = leftWeight * floatAt(one, index) + rightWeight * floatAt(other, index);
    return sums;
  };
  return columnsBy(added);
}

/** Times of the folded graph for the operators of the whole one. */
export function unfoldTimes(layout: FoldLayout, { forward, backward, weight }: OperatorTimes): OperatorTimes {
  const unfolded = (column: Float64Array): Float64Array => unfoldColumn(layout, column);
  return {
    forward: mapColumns(forward, unfolded),
    backward: mapColumns(backward, unfolded),
    weight: mapWeights(weight, unfolded),
  };
}

export const mapWeights = (
  { middle, low, high, launches }: WeightTimes,
  of: (column: Float64Array) => Float64Array,
): WeightTimes => ({ middle: of(middle), low: of(low), high: of(high), launches: of(launches) });

const mapColumns = (pass: PassTimes, of: (column: Float64Array) => Float64Array): PassTimes =>
  columnsBy((key) => of(pass[key]));

/** Every column by its name, made when it is first read: of most layouts of a plan only times and launches are. */
export function columnsBy(of: (key: keyof PassTimes) => Float64Array): PassTimes {
  const made = new Map<keyof PassTimes, Float64Array>();
  const column = (key: keyof PassTimes): Float64Array => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const own = of(key);
    made.set(key, own);
    return own;
  };
  return {
    get middle() {
      return column('middle');
    },
    get low() {
      return column('low');
    },
    get high() {
      return column('high');
    },
    get launches() {
      return column('launches');
    },
    get compute() {
      return column('compute');
    },
    get memory() {
      return column('memory');
    },
    get launch() {
      return column('launch');
    },
    get onOwn() {
      return column('onOwn');
    },
    get onOther() {
      return column('onOther');
    },
    get onRoofline() {
      return column('onRoofline');
    },
    get doubtStepsLow() {
      return column('doubtStepsLow');
    },
    get doubtStepsHigh() {
      return column('doubtStepsHigh');
    },
    get doubtMatmul() {
      return column('doubtMatmul');
    },
    get doubtConvolution() {
      return column('doubtConvolution');
    },
    get doubtOther() {
      return column('doubtOther');
    },
    get doubtRoofline() {
      return column('doubtRoofline');
    },
    get doubtAssumed() {
      return column('doubtAssumed');
    },
    get bytes() {
      return column('bytes');
    },
  };
}

/** Read kernel by kernel: plain columns. */
const emptyTimes = (count: number): PassTimes => ({ ...columnsBy(() => new Float64Array(count)) });

function emptyWeights(count: number): WeightTimes {
  const column = () => new Float64Array(count);
  return { middle: column(), low: column(), high: column(), launches: column() };
}

function addWeight(
  weight: WeightTimes,
  index: number,
  kernel: KernelWork,
  { time, low, high }: KernelTime,
): void {
  addTo(weight.middle, index, time);
  addTo(weight.low, index, low);
  addTo(weight.high, index, high);
  addTo(weight.launches, index, kernel.launches);
}

function addKernel(
  times: PassTimes,
  index: number,
  kernel: KernelWork,
  { time, low, high, doubt, bound, basis }: KernelTime,
): void {
  addTo(times.middle, index, time);
  addTo(times.low, index, low);
  addTo(times.high, index, high);
  addTo(times.launches, index, kernel.launches);
  addTo(times.bytes, index, kernel.bytes);
  if (bound !== 'none') addTo(times[bound], index, time);
  addTo(times[columnOf[basis]], index, time);
  const width = kernelWidth(doubt);
  if (doubt.cause === 'steps') {
    addTo(times.doubtStepsLow, index, time * width.low);
    addTo(times.doubtStepsHigh, index, time * width.high);
  } else addTo(times[doubtColumnOf[doubt.cause]], index, time * width.high);
}

const columnOf = {
  measured: 'onOwn',
  architecture: 'onOther',
  generation: 'onOther',
  roofline: 'onRoofline',
} as const satisfies Record<TimeBasis, keyof PassTimes>;

const doubtColumnOf = {
  matmul: 'doubtMatmul',
  convolution: 'doubtConvolution',
  other: 'doubtOther',
  roofline: 'doubtRoofline',
} as const satisfies Record<Exclude<DoubtCause, 'steps'>, keyof PassTimes>;

function raiseTo({ high, doubtAssumed }: PassTimes, index: number, least: number): void {
  const raised = least - floatAt(high, index);
  if (raised <= 0) return;
  addTo(high, index, raised);
  addTo(doubtAssumed, index, raised);
}

function addTo(column: Float64Array, index: number, amount: number): void {
  column[index] = floatAt(column, index) + amount;
}
