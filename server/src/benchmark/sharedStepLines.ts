/** A step that several processes shared, beside the same step without communication, as lines of plain text. */

import { computeOfStep } from '../estimate/computeOfStep.ts';
import { formatBytes, formatTime, significant } from '../model/format.ts';
import type { StepCost } from '../model/stepCost.ts';
import { bytes, type Seconds, seconds, sum } from '../model/units.ts';
import type { BenchmarkMeasurements, MeasuredSharedStep } from './benchmarkMeasurements.ts';

/** `predicted`: the step of as many GPUs, in the scenario. */
export function sharedStepLines(
  { device, wholeStep, notes }: BenchmarkMeasurements,
  { ranks, backend, whole, quartiles }: MeasuredSharedStep,
  predicted: StepCost | undefined,
): string {
  const between = `${formatTime(quartiles.low)} to ${formatTime(quartiles.high)}`;
  const expected = predicted === undefined ? undefined : predictedSharedStep(predicted);
  const beside = (time: Seconds | null | undefined): string =>
    time === undefined ? '' : `, predicted ${formatTime(time)}`;
  return [
    `measured on ${ranks} × ${device.name}, ${device.precision}, torch ${device.torch}, ${backend}`,
    ...(predicted === undefined ? [] : [`predicted for ${predictedOn(predicted)}`]),
    '',
    `step shared by ${String(ranks).padEnd(11)} ${formatTime(whole)} (${between})${beside(expected?.step)}`,
    ...(wholeStep === undefined
      ? []
      : [
          `the same without exchange  ${formatTime(wholeStep.whole)}${beside(expected?.compute)}`,
          `exposed communication      ${formatTime(seconds(Math.max(0, whole - wholeStep.whole)))}${beside(expected?.exposed)}, efficiency ${significant((wholeStep.whole / whole) * 100)} %`,
        ]),
    ...(wholeStep?.peakMemoryBytes === undefined
      ? []
      : [`peak memory of one         ${formatBytes(bytes(wholeStep.peakMemoryBytes))}`]),
    ...(device.kind === 'cpu' ? ['note: processes on one CPU say nothing about GPUs'] : []),
    ...notes.map((note) => `note: ${note}`),
    '',
  ].join('\n');
}

/** `16 × A100 SXM of dgx-a100`. */
export const predictedOn = ({ scenario, gpu }: StepCost): string =>
  `${scenario.gpus} × ${gpu} of ${scenario.cluster}`;

/** Without input, as the runner runs it. */
export function predictedSharedStep(cost: StepCost): {
  readonly step: Seconds | null;
  readonly compute: Seconds | null;
  readonly exposed: Seconds | null;
} {
  const compute = computeOfStep(cost);
  const exposed = cost.totals.time.exposedCommunication;
  return { step: compute === null || exposed === null ? null : sum([compute, exposed]), compute, exposed };
}
