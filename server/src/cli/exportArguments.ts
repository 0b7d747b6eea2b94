/** Options of `layercost export`. */

import { readInputText } from '../export/inputTexts.ts';
import { WrongArgument } from './optionValues.ts';
import { parseOptions } from './parseOptions.ts';

export interface ExportArguments {
  readonly command: 'export';
  readonly target: string;
  readonly output: string | undefined;
  readonly python: string | undefined;
  /** By parameter of `forward`: `int64[batch, 128]`. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** Throws `WrongArgument`. */
export function readExportArguments(rest: readonly string[]): ExportArguments {
  const { values, positionals } = parseOptions(rest, {
    output: { type: 'string' },
    python: { type: 'string' },
    input: { type: 'string', multiple: true },
  });
  const [target, extra] = positionals;
  if (target === undefined || extra !== undefined)
    throw new WrongArgument(
      'layercost export takes one target: FILE.py:NAME, MODULE:NAME, hf:ID, timm:NAME or torchvision:NAME',
    );
  return {
    command: 'export',
    target,
    output: values.output,
    python: values.python,
    inputs: readInputs(values.input ?? []),
  };
}

/** `tokens=int64[batch, 128]`; what is right of the sign is read where the model is. */
function readInputs(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const read = readInputText(text);
      if (read === undefined)
        throw new WrongArgument(
          `--input ${text} is not NAME=TYPE[SIZES], such as --input 'tokens=int64[batch, 128]'`,
        );
      return read;
    }),
  );
}
