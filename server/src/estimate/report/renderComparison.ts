/** Two reports side by side as aligned text: totals first, then the layers that differ most. */

import { counted } from '../../model/counted.ts';
import { formatBytes, formatShortCount, formatTime, significant } from '../../model/format.ts';
import { printable } from '../../model/readableIssues.ts';
import { bytes, seconds } from '../../model/units.ts';
import { type Column, layoutColumns } from './columns.ts';
import { type ComparedLayer, compareLayers, compareTotals } from './compareReports.ts';
import { describeScenario } from './describeScenario.ts';
import type { Report } from './report.ts';
import { type SideNames, sideNames } from './sideNames.ts';
import { describeModel } from './summary.ts';

/** `most` layers at most: more are for a program to read. */
export function comparisonTable(
  left: Report,
  right: Report,
  names: SideNames = sideNames(left, right),
  most = 10,
): string {
  const totals = comparedTotals(left, right, names);
  const indent = Math.max(names.left.length, names.right.length, 5) + 2;
  const side = (name: string, report: Report): string =>
    `${name.padEnd(indent)}${describeModel(report)}\n${' '.repeat(indent)}${describeScenario(report)}`;
  const lines = [
    side(names.left, left),
    side(names.right, right),
    '',
    ...layoutColumns(totals.columns, totals.rows),
    ...layerLines(left, right, names, most),
  ];
  return `${lines.join('\n')}\n`;
}

const totalColumns = ({ left, right }: SideNames): readonly Column[] => [
  { title: '', align: 'left' },
  { title: left, align: 'right' },
  { title: right, align: 'right' },
  { title: `${right} / ${left}`, align: 'right' },
];

interface ComparedTable {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

export const comparedTotals = (left: Report, right: Report, names: SideNames): ComparedTable => ({
  columns: totalColumns(names),
  rows: compareTotals(left, right).map(({ name, text, ratio }) => [
    name,
    text.left,
    text.right,
    ratio === null ? '' : `${significant(ratio)}×`,
  ]),
});

/** The layers that make most of the difference; `less` says how many differ less, `alone` how many are of one side only; '' where none is. */
export function comparedLayers(
  left: Report,
  right: Report,
  names: SideNames,
  most: number,
): ComparedTable & { readonly less: string; readonly alone: string } {
  const { layers, onlyIn } = compareLayers(left, right);
  const largest = Math.abs(layers[0]?.more ?? Number.NaN);
  const shown = layers.slice(0, most).filter((layer) => isWorthShowing(layer, largest));
  const alone = (count: number, where: string): readonly string[] =>
    count === 0 ? [] : [`${counted(count, 'layer')} only in ${where}`];
  const onOneSide = [...alone(onlyIn.left, names.left), ...alone(onlyIn.right, names.right)];
  const more = layers.length - shown.length;
  return {
    columns: layerColumns(names, shown),
    rows: shown.map((layer) => layerRow(layer, shown)),
    less:
      more > 0 && shown.length > 0
        ? `${counted(more, 'other row')} ${more === 1 ? 'differs' : 'differ'} less`
        : '',
    alone: onOneSide.length > 0 ? `Layers are compared by name: ${onOneSide.join(', ')}.` : '',
  };
}

function layerLines(left: Report, right: Report, names: SideNames, most: number): readonly string[] {
  const { columns, rows, less, alone } = comparedLayers(left, right, names, most);
  return [
    ...(rows.length > 0
      ? [
          '',
          'Layers that differ most: forward, backward and exposed communication, repeated layers in one row',
          ...layoutColumns(columns, rows),
          ...(less === '' ? [] : [less]),
        ]
      : ['', 'No layer differs']),
    ...(alone === '' ? [] : ['', alone]),
  ];
}

/** What adds hardly anything to the difference of time is left to a program, unless it is there by itself or keeps another amount. */
const isWorthShowing = ({ more, left, right, parameters, saved }: ComparedLayer, largest: number): boolean =>
  Math.abs(more) >= largest / 100 || left === null || right === null || parameters !== 0 || saved !== 0;

const layerColumns = ({ left, right }: SideNames, shown: readonly ComparedLayer[]): readonly Column[] => [
  { title: 'layer', align: 'left' },
  { title: 'type', align: 'left' },
  { title: left, align: 'right' },
  { title: right, align: 'right' },
  { title: `${right} − ${left}`, align: 'right' },
  ...(shown.some(hasOtherParameters) ? [{ title: 'parameters', align: 'right' } as const] : []),
  ...(shown.some(hasOtherSaved) ? [{ title: 'saved', align: 'right' } as const] : []),
];

const layerRow = (layer: ComparedLayer, shown: readonly ComparedLayer[]): readonly string[] => [
  printable(layer.name),
  printable(layer.type),
  layer.left === null ? 'absent' : timeOf(layer.left),
  layer.right === null ? 'absent' : timeOf(layer.right),
  signed(layer.more, timeOf),
  ...(shown.some(hasOtherParameters) ? [signed(layer.parameters, formatShortCount)] : []),
  ...(shown.some(hasOtherSaved)
    ? [layer.saved === null ? '?' : signed(layer.saved, (size) => formatBytes(bytes(size)))]
    : []),
];

const hasOtherParameters = ({ parameters }: ComparedLayer): boolean => parameters !== 0;
const hasOtherSaved = ({ saved }: ComparedLayer): boolean => saved !== 0;

/** Nothing where nothing differs. */
const signed = (value: number, format: (size: number) => string): string =>
  value === 0 ? '' : `${value < 0 ? '−' : '+'}${format(Math.abs(value))}`;

const timeOf = (time: number): string => formatTime(seconds(time));
