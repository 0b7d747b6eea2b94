/** Options of `layercost convert`. */

import {
  type TargetFormat,
  targetFormats,
  type WeightChoice,
  weightForms,
} from '../analysis/conversionRequest.ts';
import { onlyFile } from './onlyFile.ts';
import { chosen } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';
import { readDimensions, scenarioOptions } from './scenarioArguments.ts';

export interface ConvertArguments {
  readonly command: 'convert';
  readonly file: string;
  readonly to: TargetFormat | undefined;
  readonly output: string | undefined;
  readonly weights: WeightChoice | undefined;
  readonly dimensions: Readonly<Record<string, number>>;
  readonly force: boolean;
}

/** Throws `WrongArgument`. */
export function readConvertArguments(rest: readonly string[]): ConvertArguments {
  const { values, positionals } = parseOptions(rest, {
    to: { type: 'string' },
    output: { type: 'string' },
    weights: { type: 'string' },
    dim: scenarioOptions.dim,
    force: { type: 'boolean' },
  });
  return {
    command: 'convert',
    file: onlyFile('convert', positionals),
    to: chosen('--to', values.to, targetFormats),
    output: values.output,
    weights: chosen('--weights', values.weights, weightForms),
    dimensions: readDimensions(values.dim),
    force: values.force ?? false,
  };
}
