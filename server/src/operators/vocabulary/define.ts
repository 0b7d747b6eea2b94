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
  readonly dimensions: OperatorDefinition['dimensions'];
  readonly cost: (context: CostContext) => OperatorCost;
}

/** A definition of the default domain, from its first version, unless it says otherwise. */
export const define = (definition: Definition): OperatorDefinition => ({
  domain: '',
  since: 1,
  ...definition,
});

/** A definition that a later version of the operator set no longer has. What it gives is still inferred. */
export const withdrawn = (
  version: number,
  successor: string,
  definition: OperatorDefinition,
): OperatorDefinition => ({
  ...definition,
  infer: (context) => {
    const inference = definition.infer(context);
    if (context.opset < version || inference.problem !== undefined) return inference;
    const message = `${definition.type} was withdrawn in version ${version}; use ${successor}`;
    return { ...inference, problem: { code: 'graph/invalid-operator', message } };
  },
});

/** The domain of ONNX Runtime's own operators (docs/ContribOperators.md of microsoft/onnxruntime). */
export const contribDomain = 'com.microsoft';

/** A definition of an operator of ONNX Runtime; the documentation names its source by itself. */
export const defineContrib = (definition: Omit<Definition, 'domain' | 'since'>): OperatorDefinition =>
  define({
    ...definition,
    domain: contribDomain,
    documentation: `${definition.documentation} (ONNX Runtime contrib, ${definition.type}-1)`,
  });
