/** The custom operators that a file beside a model describes, for models with operators that are not known. */

import {
  type ReadCustomOperators,
  readCustomOperatorsBeside,
} from '../formats/custom-operators/readCustomOperators.ts';
import { customOperatorsFile } from '../model/declaredOperator.ts';
import type { IncludedFiles } from './includedFiles.ts';

/** `undefined` where there is no such file. */
export type OperatorsBeside = (model: string) => Promise<ReadCustomOperators | undefined>;

export const operatorsBeside =
  (includes: IncludedFiles): OperatorsBeside =>
  async (model) => {
    await includes.load(model, [customOperatorsFile]);
    const text = includes.reader(model)(customOperatorsFile);
    return text === undefined ? undefined : readCustomOperatorsBeside(text);
  };
