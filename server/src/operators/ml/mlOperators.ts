/** Classical models: the domain ai.onnx.ml. They run on the host or are small; nothing is trained through them. */

import type { OperatorDefinition } from '../definition.ts';
import { encoders } from './encoders.ts';
import { mapOperators } from './maps.ts';
import { linearModels } from './models.ts';
import { treeEnsembles } from './trees.ts';

export const mlOperators: readonly OperatorDefinition[] = [
  ...encoders,
  ...linearModels,
  ...treeEnsembles,
  ...mapOperators,
];
