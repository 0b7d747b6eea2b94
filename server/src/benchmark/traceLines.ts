/** What a traced step shows, as lines of plain text: kernels by layer, and how long the device waited. */

import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { formatCount, formatTime } from '../model/format.ts';
import { seconds } from '../model/units.ts';
import type { LayerKernels, MeasuredTrace } from './runTrace.ts';

/** `order`: the layers as the model has them. */
export function traceLines(
  { device, step, layers, untraced, notes }: MeasuredTrace,
  order: readonly string[],
): string {
  const what = step.onDevice ? 'kernels' : 'operators';
  const total = step.busy;
  const rows = order.flatMap((name) => {
    const found = layers.get(name);
    if (found === undefined) return [];
    const { forward, backward } = found;
    const time = (forward?.seconds ?? nothing) + (backward?.seconds ?? nothing);
    return [
      [name, ...cells(forward), ...cells(backward), `${((time / total) * 100).toFixed(1)} %`, longest(found)],
    ];
  });
  const idle = step.span - step.busy;
  return [
    `traced on ${device.name}, ${device.precision}, torch ${device.torch}`,
    '',
    ...layoutColumns(columns(what), rows),
    '',
    `update        ${formatTime(seconds(step.update.seconds))} in ${formatCount(step.update.kernels)} ${what}`,
    `of no layer   ${formatTime(seconds(step.others.seconds))} in ${formatCount(step.others.kernels)} ${what}`,
    ...(step.onDevice
      ? [
          `the device    busy ${formatTime(seconds(step.busy))} of ${formatTime(seconds(step.span))}; it waited ${formatTime(seconds(idle))} for the host, which the profiler slows, at most ${formatTime(seconds(step.longestGap))} at once`,
        ]
      : ['note: no kernels of a GPU were seen; the times are those of operators on the host']),
    ...(untraced === undefined
      ? []
      : [
          `without the profiler the step takes ${formatTime(seconds(untraced))}${step.onDevice ? `; the device waits ${formatTime(seconds(Math.max(0, untraced - step.busy)))} of it` : ''}`,
        ]),
    ...notes.map((note) => `note: ${note}`),
    '',
  ].join('\n');
}

/** What launches nothing takes no time. */
const nothing = 0;

const cells = (kernels: LayerKernels['forward']): string[] =>
  kernels === undefined ? ['', ''] : [formatCount(kernels.kernels), formatTime(seconds(kernels.seconds))];

/** Names of kernels with template parameters are as long as a page. */
function longest({ forward, backward }: LayerKernels): string {
  const isBackward = forward === undefined || (backward?.seconds ?? nothing) > forward.seconds;
  const slower = isBackward ? backward : forward;
  const name = (slower?.longest ?? '').replaceAll(places, '');
  return name.length > 60 ? `${name.slice(0, 59)}…` : name;
}

/** Where PyTorch and cuDNN keep their kernels, which tells nobody which one it is. */
const places = /^void |\b(?:at::native|cudnn::engines_precompiled|at)::|\(anonymous namespace\)::/g;

const columns = (what: string): readonly Column[] => {
  const right = (title: string): Column => ({ title, align: 'right' });
  return [
    { title: 'layer', align: 'left' },
    right(`forward ${what}`),
    right('time'),
    right(`backward ${what}`),
    right('time'),
    right('of the step'),
    { title: 'longest of the slower pass', align: 'left' },
  ];
};
