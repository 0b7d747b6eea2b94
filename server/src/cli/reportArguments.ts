/** Options of `layercost report`. */

import { type ChartName, chartNames } from '../estimate/figures/chartNames.ts';
import { onlyFile } from './onlyFile.ts';
import { oneOf, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from './scenarioArguments.ts';

const reportFormats = ['table', 'json', 'markdown', 'csv', 'html', 'svg', 'trace'] as const;
export type ReportFormat = (typeof reportFormats)[number];

export interface ReportArguments {
  readonly command: 'report';
  readonly file: string;
  readonly format: ReportFormat;
  readonly output: string | undefined;
  /** Characters in a line of the table. */
  readonly width: number | undefined;
  /** Totals and findings without the layers. */
  readonly summary: boolean;
  /** Rows of the table, the most expensive first; all layers in their order where it is absent. */
  readonly top: number | undefined;
  /** Name of the chart that SVG is of. */
  readonly chart: ChartName | undefined;
  readonly scenario: ScenarioArguments;
}

/** Throws `WrongArgument`. */
export function readReportArguments(rest: readonly string[]): ReportArguments {
  const { values, positionals } = parseOptions(rest, {
    ...scenarioOptions,
    format: { type: 'string' },
    output: { type: 'string' },
    width: { type: 'string' },
    summary: { type: 'boolean' },
    top: { type: 'string' },
    chart: { type: 'string' },
  });
  const format = oneOf('--format', values.format, reportFormats, 'table');
  const listsLayers = format === 'table' || format === 'json';
  if (values.summary === true && !listsLayers) {
    throw new WrongArgument(
      `--summary is for the table and JSON; --format ${format} has the totals beside the layers`,
    );
  }
  if (values.top !== undefined && (!listsLayers || values.summary === true)) {
    throw new WrongArgument(
      '--top is for the layers of the table and of JSON; leave out --summary and other formats',
    );
  }
  if ((values.chart !== undefined) !== (format === 'svg')) {
    throw new WrongArgument(`--format svg and --chart go together; charts are ${chartNames.join(', ')}`);
  }
  return {
    command: 'report',
    file: onlyFile('report', positionals),
    format,
    output: values.output,
    chart: values.chart === undefined ? undefined : oneOf('--chart', values.chart, chartNames, 'timeline'),
    width: wholeNumber('--width', values.width, 40),
    summary: values.summary ?? false,
    top: wholeNumber('--top', values.top, 1),
    scenario: readScenario(values, wholeNumber('--gpus', values.gpus, 1)),
  };
}
