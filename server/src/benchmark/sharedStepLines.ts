/** A step that several processes shared, beside the same step without communication, as lines of plain text. */

import { formatBytes, formatTime, significant } from '../model/format.ts';
import { bytes, seconds } from '../model/units.ts';
import type { BenchmarkMeasurements, MeasuredSharedStep } from './benchmarkMeasurements.ts';

export function sharedStepLines(
  { device, wholeStep, notes }: BenchmarkMeasurements,
  { ranks, backend, whole, quartiles }: MeasuredSharedStep,
): string {
  const between = `${formatTime(quartiles.low)} to ${formatTime(quartiles.high)}`;
  return [
    `measured on ${ranks} × ${device.name}, ${device.precision}, torch ${device.torch}, ${backend}`,
    '',
    `step shared by ${ranks}           ${formatTime(whole)} (${between})`,
    ...(wholeStep === undefined
      ? []
      : [
          `the same without exchange  ${formatTime(wholeStep.whole)}`,
          `exposed communication      ${formatTime(seconds(Math.max(0, whole - wholeStep.whole)))}, efficiency ${significant((wholeStep.whole / whole) * 100)} %`,
        ]),
    ...(wholeStep?.peakMemoryBytes === undefined
      ? []
      : [`peak memory of one         ${formatBytes(bytes(wholeStep.peakMemoryBytes))}`]),
    ...(device.kind === 'cpu' ? ['note: processes on one CPU say nothing about GPUs'] : []),
    ...notes.map((note) => `note: ${note}`),
    '',
  ].join('\n');
}
