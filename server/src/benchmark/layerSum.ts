/** Whether the layers of a benchmark add up to its step; where they do not, by how much and what is known of why. */

import { formatCount, formatTime, significant } from '../model/format.ts';
import { type Seconds, seconds } from '../model/units.ts';
import type { BenchmarkMeasurements, MeasuredLayer } from './benchmarkMeasurements.ts';
import type { Conditions } from './computation.ts';

export interface LayerSum {
  readonly forward: SummedTime;
  /** Layers, and the sums of gradients that arrive from several of them. */
  readonly backward: SummedTime | undefined;
  readonly both: SummedTime;
}

export interface SummedTime {
  readonly layers: Seconds;
  readonly step: Seconds;
}

/** Of one pass; `undefined` where step or layers were not measured. */
export function layerSum(
  { layers, wholeStep, gradientSums }: Summed,
  { accumulate }: Pick<Conditions, 'accumulate'>,
): LayerSum | undefined {
  if (wholeStep?.forward === undefined || layers.size === 0) return undefined;
  const forward = {
    layers: totalOf(layers, (layer) => layer.forward),
    step: seconds(wholeStep.forward / accumulate),
  };
  if (wholeStep.backward === undefined) return { forward, backward: undefined, both: forward };
  const alone = totalOf(layers, (layer) => layer.backward);
  const backward = {
    layers: gradientSums === undefined ? alone : seconds(alone + gradientSums.seconds),
    step: seconds(wholeStep.backward / accumulate),
  };
  const both = {
    layers: seconds(forward.layers + backward.layers),
    step: seconds(forward.step + backward.step),
  };
  return { forward, backward, both };
}

/** Over this share of the step a difference is explained, and the machine counts as changed. */
const tolerance = 0.1;

/** Lines for a person: the sum, and behind a larger difference what is known of it. */
export function layerSumLines(measured: Summed, conditions: SumConditions): readonly string[] {
  const sum = layerSum(measured, conditions);
  if (sum === undefined) return [];
  const { forward, backward, both } = sum;
  const lines = [
    `layers add up to ${ratio(both)} of the step without update: forward ${text(forward)}${backward === undefined ? '' : `, backward ${text(backward)}`}`,
  ];
  const isExplained = [forward, backward].some(
    (each) => each !== undefined && Math.abs(each.layers / each.step - 1) > tolerance,
  );
  return isExplained
    ? [...lines, ...reasons(measured, sum, conditions).map((reason) => `  ${reason}`)]
    : lines;
}

function reasons(
  { layers, notMeasured, wholeStep, gradientSums }: Summed,
  { forward, backward }: LayerSum,
  { compile, checkpoint, caches }: SumConditions,
): readonly string[] {
  const found: string[] = [];
  const missing = [...notMeasured.keys()].filter((name) => name !== '').length;
  if (missing > 0)
    found.push(
      missing === 1 ? 'one layer was not measured' : `${formatCount(missing)} layers were not measured`,
    );
  if (compile !== null) found.push('the step was compiled, the layers were not');
  if (checkpoint !== 'none')
    found.push('backward of the step recomputes blocks; layers on their own are not recomputed');
  if (caches === 'hot')
    found.push('layers ran with hot caches: what they read was there from the run before, unlike in a step');
  const inStep = totalOf(layers, (layer) => layer.forwardInStep);
  if (inStep > 0) {
    const alone = forward.layers - inStep;
    const between = forward.step - inStep;
    found.push(
      `forward of the layers takes ${formatTime(inStep)} within the network, ${difference(alone)} on their own: caches and memory differ`,
    );
    if (Math.abs(between) > tolerance * forward.step)
      found.push(
        `the timed steps took ${difference(between)} in forward than the layers within the network: the host, or other work on this machine`,
      );
  }
  if (gradientSums !== undefined && gradientSums.count > 0 && backward !== undefined)
    found.push(
      `backward has ${formatTime(gradientSums.seconds)} of sums of ${formatCount(gradientSums.count)} gradients that several layers make`,
    );
  const { again, whole } = wholeStep ?? {};
  if (again !== undefined && whole !== undefined && Math.abs(again / whole - 1) > tolerance)
    found.push(
      `the step took ${significant(again / whole)}× as long after the layers as before them: other work ran, or the clock changed`,
    );
  return found;
}

export type Summed = Pick<BenchmarkMeasurements, 'layers' | 'wholeStep' | 'gradientSums' | 'notMeasured'>;
export type SumConditions = Pick<Conditions, 'accumulate' | 'compile' | 'checkpoint' | 'caches'>;

const totalOf = (layers: Summed['layers'], timeOf: (layer: MeasuredLayer) => Seconds | undefined): Seconds =>
  seconds([...layers.values()].flatMap((layer) => timeOf(layer) ?? []).reduce((sum, time) => sum + time, 0));

const ratio = ({ layers, step }: SummedTime): string => significant(layers / step);
const text = (time: SummedTime): string =>
  `${formatTime(time.layers)} of ${formatTime(time.step)} (${ratio(time)})`;
const difference = (time: number): string =>
  `${formatTime(seconds(Math.abs(time)))} ${time < 0 ? 'less' : 'more'}`;
