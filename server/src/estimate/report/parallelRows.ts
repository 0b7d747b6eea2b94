/** How GPUs share a copy of the model, in the rows of a summary. */

import { counted } from '../../model/counted.ts';
import { formatBytes, formatCount, formatPercent, formatShortCount, formatTime } from '../../model/format.ts';
import { bytes, seconds } from '../../model/units.ts';
import type { Report } from './report.ts';

interface Row {
  readonly name: string;
  readonly value: string;
  readonly detail: string;
}

export function parallelRows({ scenario, parallel, totals }: Report): readonly Row[] {
  if (scenario.parallel === undefined || parallel === undefined) return [];
  const { tensor, sequence, context, expert, pipeline, chunks, schedule } = scenario.parallel;
  const step = totals.time.step;
  const ofStep = (time: number): string =>
    step === null
      ? formatTime(seconds(time))
      : `${formatTime(seconds(time))} (${formatPercent(time / step)} of the step)`;
  const [largest] = parallel.whole;
  return [
    {
      name: 'layout',
      value: [
        `tp ${tensor}`,
        ...(sequence ? ['sp'] : []),
        ...(context === 1 ? [] : [`cp ${context}`]),
        `pp ${pipeline}`,
        ...(chunks > 1 ? [`vp ${chunks}`] : []),
        `dp ${parallel.replicas}`,
        ...(expert === 1 ? [] : [`ep ${expert}`]),
      ].join(' '),
      detail: [
        microBatches(parallel.microBatches),
        ...(pipeline === 1 ? [] : [schedule]),
        ...(tensor === 1
          ? []
          : [`collectives of tensor parallelism ${ofStep(parallel.tensorCommunication)}`]),
        ...(context === 1 ? [] : [`exposed context parallelism ${ofStep(parallel.contextCommunication)}`]),
        ...(expert === 1 ? [] : [`all-to-alls of experts ${ofStep(parallel.expertCommunication)}`]),
        ...(pipeline === 1 ? [] : [`pipeline bubble ${ofStep(parallel.bubble)}`]),
        ...(largest === undefined
          ? []
          : [
              `not split: ${counted(parallel.whole.length, 'layer')}, largest \`${largest.layer}\` with ${formatPercent(largest.share)} of forward FLOPs (${largest.reason})`,
            ]),
      ].join(', '),
    },
    ...(pipeline === 1
      ? []
      : parallel.stages.map((stage, index) => ({
          name: `stage ${index + 1}`,
          value: formatBytes(bytes(stage.peak + totals.memory.context)),
          detail: [
            ...(chunks > 1 ? [`rank ${stage.rank + 1}`] : []),
            `\`${stage.first}\` to \`${stage.last}\``,
            `${formatShortCount(stage.parameters)} parameters`,
            `forward ${formatTime(seconds(stage.forward))}`,
            `backward ${formatTime(seconds(stage.backward))}`,
            `${microBatches(stage.alive)} alive`,
            ...(stage.sent === 0 ? [] : [`sends ${formatBytes(bytes(stage.sent))}`]),
          ].join(', '),
        }))),
  ];
}

const microBatches = (number: number): string =>
  `${formatCount(number)} ${number === 1 ? 'micro-batch' : 'micro-batches'}`;
