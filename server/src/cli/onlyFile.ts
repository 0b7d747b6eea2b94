import { WrongArgument } from './optionValues.ts';

/** The one model file that a command takes. Throws `WrongArgument`. */
export function onlyFile(command: string, positionals: readonly string[]): string {
  const [file, extra] = positionals;
  if (file === undefined)
    throw new WrongArgument(`layercost ${command} needs a model file: layercost ${command} FILE`);
  if (file === '-')
    throw new WrongArgument(
      'standard input cannot be read, because models are read by position; write the model to a file first',
    );
  if (extra !== undefined)
    throw new WrongArgument(`layercost ${command} takes one model file; remove ${extra}`);
  return file;
}
