/** Options of `layercost scale`. */

import { mostCurves } from '../charts/scalingChart.ts';
import { casesOf, type ListedCase, listsOf } from './listedOptions.ts';
import { onlyFile } from './onlyFile.ts';
import { oneOf, WrongArgument, wholeNumber } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { scenarioOptions } from './scenarioArguments.ts';

const scaleFormats = ['table', 'json', 'markdown', 'csv', 'html'] as const;
export type ScaleFormat = (typeof scaleFormats)[number];

export interface ScaleArguments {
  readonly command: 'scale';
  readonly file: string;
  /** Left out: those that the cluster suggests. */
  readonly gpus: readonly number[] | undefined;
  /** One curve each: a list such as `--cluster a,b` makes several. */
  readonly cases: readonly ListedCase[];
  readonly format: ScaleFormat;
  readonly output: string | undefined;
}

/** Throws `WrongArgument`. */
export function readScaleArguments(rest: readonly string[]): ScaleArguments {
  const { values, positionals } = parseOptions(rest, {
    ...scenarioOptions,
    format: { type: 'string' },
    output: { type: 'string' },
  });
  const { gpus, ...shared } = values;
  const cases = casesOf(shared, listsOf(shared));
  if (cases.length > mostCurves) {
    throw new WrongArgument(
      `the lists have ${cases.length} combinations; at most ${mostCurves} curves are told apart`,
    );
  }
  return {
    command: 'scale',
    file: onlyFile('scale', positionals),
    gpus: gpus?.split(',').map((text) => wholeNumber('--gpus', text, 1) ?? 1),
    cases,
    format: oneOf('--format', values.format, scaleFormats, 'table'),
    output: values.output,
  };
}
