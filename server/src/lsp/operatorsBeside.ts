/** The custom operators that a file beside a model describes, for models with operators that are not known. */

import { hasUnknownOperators } from '../analysis/describeOperators.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import {
  type ReadCustomOperators,
  readCustomOperatorsBeside,
} from '../formats/custom-operators/readCustomOperators.ts';
import { customOperatorsFile } from '../model/declaredOperator.ts';
import type { IncludedFiles } from './includedFiles.ts';

/** The model, opened again with what `operatorsOf` its address gives where it has operators that are not known. */
export async function withOperatorsBeside<Opened extends OpenedModel | undefined>(
  model: OpenedModel,
  uri: string,
  operatorsOf: OperatorsBeside,
  openAgain: (operators: ReadCustomOperators) => Opened | Promise<Opened>,
): Promise<OpenedModel | Opened> {
  const operators = hasUnknownOperators(model) ? await operatorsOf(uri) : undefined;
  return operators === undefined ? model : openAgain(operators);
}

/** `undefined` where there is no such file. */
export type OperatorsBeside = (model: string) => Promise<ReadCustomOperators | undefined>;

export const operatorsBeside =
  (includes: IncludedFiles): OperatorsBeside =>
  async (model) => {
    await includes.load(model, [customOperatorsFile]);
    const text = includes.reader(model)(customOperatorsFile);
    return text === undefined ? undefined : readCustomOperatorsBeside(text);
  };
