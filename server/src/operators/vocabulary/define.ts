/** Definitions of the default ONNX domain, with what most of them share. */

import type { OperatorDefinition } from '../definition.ts';
import { noRule } from './facts.ts';

export type Definition = Omit<OperatorDefinition, 'domain' | 'since'> &
  Partial<Pick<OperatorDefinition, 'domain' | 'since'>>;

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

/** The domain of what PyTorch has and ONNX does not: what Layercost reads is lowered to its operators, no file can have them. */
export const ownDomain = 'layercost';

/** The domain of ONNX Runtime's own operators (docs/ContribOperators.md of microsoft/onnxruntime). */
export const contribDomain = 'com.microsoft';

/** A definition of an operator of ONNX Runtime; the documentation names its source by itself. Few have a rule to run. */
export const defineContrib = (
  definition: Omit<Definition, 'domain' | 'since' | 'runner'> & Partial<Pick<Definition, 'runner'>>,
): OperatorDefinition =>
  define({
    runner: noRule.onnxRuntime,
    ...definition,
    domain: contribDomain,
    documentation: `${definition.documentation} (ONNX Runtime contrib, ${definition.type}-1)`,
  });
