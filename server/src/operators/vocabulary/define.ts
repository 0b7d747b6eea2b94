/** Definitions of the default ONNX domain, with what most of them share. */

import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';

export interface Definition {
  readonly type: string;
  readonly domain?: string;
  readonly since?: number;
  readonly documentation: string;
  readonly infer: (context: InferenceContext) => Inference;
  readonly cost: (context: CostContext) => OperatorCost;
}

/** A definition of the default domain, from its first version, unless it says otherwise. */
export const define = (definition: Definition): OperatorDefinition => ({
  domain: '',
  since: 1,
  ...definition,
});
