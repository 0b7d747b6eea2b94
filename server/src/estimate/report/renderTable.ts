/** The report as aligned text for a terminal. */

import { atLeast, formatBytes, formatFlops, formatShortCount } from '../../model/format.ts';
import { bytes, flops } from '../../model/units.ts';
import { type Column, layoutColumns } from './columns.ts';
import type { LayerReport, Report } from './report.ts';
import { describeModel, describeScenario, summarize, timeText } from './summary.ts';

/**
 * One line per layer that costs something, the totals, the findings. Layers without any cost (views, shape
 * arithmetic) are counted, not listed. Plain text without colours, so that it can be piped and compared.
 */
export function renderTable(report: Report): string {
  const training = report.scenario.mode === 'training';
  const communicates = training && report.scenario.gpus > 1;
  const listed = report.layers.filter(costsSomething);
  const columns = tableColumns(training, communicates);
  const free = report.layers.length - listed.length;
  return [
    describeModel(report),
    describeScenario(report),
    '',
    ...layoutColumns(
      columns,
      listed.map((layer) => tableRow(layer, training, communicates)),
    ),
    ...(free > 0 ? [`${free} more without cost (views, shape arithmetic)`] : []),
    '',
    ...summaryLines(report),
    ...unknownLines(report),
    ...findingLines(report),
    '',
  ].join('\n');
}

/** Whether a layer does any work, or may: what is unknown is listed too. */
export function costsSomething(layer: LayerReport): boolean {
  return (
    layer.flops.forward !== 0 || layer.bytes.forward !== 0 || layer.parameters > 0 || layer.time.forward !== 0
  );
}

function tableColumns(training: boolean, communicates: boolean): Column[] {
  return [
    { title: 'layer', align: 'left' },
    { title: 'type', align: 'left' },
    { title: 'output', align: 'left' },
    { title: 'params', align: 'right' },
    { title: 'forward', align: 'right' },
    ...(training ? [{ title: 'backward', align: 'right' } as const] : []),
    { title: 'time', align: 'right' },
    { title: 'bound', align: 'left' },
    ...(training ? [{ title: 'saved', align: 'right' } as const] : []),
    ...(communicates
      ? [{ title: 'all-reduce', align: 'right' } as const, { title: 'exposed', align: 'right' } as const]
      : []),
  ];
}

function tableRow(layer: LayerReport, training: boolean, communicates: boolean): string[] {
  const { backwardData, backwardWeight } = layer.flops;
  const backward = backwardData === null || backwardWeight === null ? null : backwardData + backwardWeight;
  const time =
    layer.time.forward === null || layer.time.backward === null
      ? null
      : layer.time.forward + layer.time.backward;
  const bounded = (text: string): string => (text === '' || text === '?' ? text : atLeast(text, layer.exact));
  const communicated = layer.time.communication !== 0;
  return [
    layer.name,
    layer.type,
    shapeText(layer.output.shape),
    layer.parameters === 0 ? '' : formatShortCount(layer.parameters),
    bounded(flopsText(layer.flops.forward)),
    ...(training ? [bounded(flopsText(backward))] : []),
    bounded(timeText(time)),
    layer.bound === 'none' ? '' : layer.bound,
    ...(training ? [layer.memory.activations === null ? '?' : sizeText(layer.memory.activations)] : []),
    ...(communicates
      ? [
          communicated ? timeText(layer.time.communication) : '',
          communicated ? timeText(layer.time.exposedCommunication) : '',
        ]
      : []),
  ];
}

/** `64×256×56×56`; a symbol by name, `?` where unknown. */
export function shapeText(shape: LayerReport['output']['shape']): string {
  if (shape === null) return '?';
  return shape.length === 0 ? 'scalar' : shape.map((dimension) => dimension ?? '?').join('×');
}

const flopsText = (count: number | null): string =>
  count === null ? '?' : count === 0 ? '' : formatFlops(flops(count));

const sizeText = (size: number): string => (size === 0 ? '' : formatBytes(bytes(size)));

function summaryLines(report: Report): string[] {
  const rows = summarize(report);
  const names = Math.max(...rows.map((row) => row.name.length));
  const values = Math.max(...rows.map((row) => [...row.value].length));
  return rows.map(
    (row) =>
      `${row.name.padEnd(names)}  ${row.value}${' '.repeat(values - [...row.value].length)}  ${row.detail}`,
  );
}

function unknownLines(report: Report): string[] {
  const { unknown } = report.totals;
  if (unknown.length === 0) return [];
  const shown = unknown.slice(0, 10).map((part) => `  ${part.operator}: ${part.reason}`);
  const rest = unknown.length - shown.length;
  return [
    '',
    `Not counted, so totals are lower bounds (${unknown.length}):`,
    ...shown,
    ...(rest > 0 ? [`  and ${rest} more; --format json lists all`] : []),
  ];
}

function findingLines(report: Report): string[] {
  return report.findings.flatMap((finding) => [
    '',
    `${finding.severity} ${finding.code}: ${finding.message}`,
    ...(finding.fix === '' ? [] : [`  ${finding.fix}`]),
  ]);
}
