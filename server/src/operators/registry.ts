/** The operators Layercost knows, by domain, type and operator-set version. */

import { memoize } from '../model/memoize.ts';
import { contribOperators } from './contrib/contribOperators.ts';
import { controlFlowOperators } from './controlflow/controlFlow.ts';
import { declaredDomain, declaredOperator } from './declared/declaredOperator.ts';
import type { OperatorDefinition } from './definition.ts';
import { generators } from './generator/generators.ts';
import { binaryOperators, variadicOperators } from './math/binary.ts';
import { clip } from './math/clip.ts';
import { einsum } from './math/einsum.ts';
import { matmuls } from './math/matmul.ts';
import { signalOperators } from './math/signal.ts';
import { torchProducts } from './math/torchProducts.ts';
import { unaryOperators } from './math/unary.ts';
import { mlOperators } from './ml/mlOperators.ts';
import { attentionOperators } from './nn/attention.ts';
import { convolutions } from './nn/convolution.ts';
import { dropout } from './nn/dropout.ts';
import { linearAttentionOperators } from './nn/linearAttention.ts';
import { losses } from './nn/losses.ts';
import { normalizations } from './nn/normalization.ts';
import { pools } from './nn/pooling.ts';
import { rotaryEmbeddings } from './nn/rotaryEmbedding.ts';
import { swiGlu } from './nn/swiGlu.ts';
import { quantizations } from './quantization/quantization.ts';
import { recurrentOperators } from './recurrent/recurrent.ts';
import { stateSpaceOperators } from './recurrent/stateSpace.ts';
import { reductionOperators } from './reduction/reductions.ts';
import { sequenceOperators } from './sequence/sequences.ts';
import { experimentalOperators } from './tensor/experimental.ts';
import { indexingOperators } from './tensor/indexing.ts';
import { reshapingOperators } from './tensor/reshaping.ts';
import { resizingOperators } from './tensor/resizing.ts';
import { shapeOperators } from './tensor/shapes.ts';
import { slicingOperators } from './tensor/slicing.ts';
import { textOperators } from './text/text.ts';
import { optimizerOperators } from './training/optimizers.ts';

/**
 * The definition that holds for `type` in version `opset` of `domain`: the newest that is not newer than it.
 * Where all are newer, the oldest: a file that claims too old a version still says what it means. `undefined` where
 * the operator is not known. 'ai.onnx' is the default domain's other name.
 */
export function findOperator(domain: string, type: string, opset: number): OperatorDefinition | undefined {
  const versions = versionsOf(domain, type);
  return versions?.find((definition) => definition.since <= opset) ?? versions?.at(-1);
}

/** The newest definition of an operator, for what is true of all its versions; `undefined` where it is not known. */
export const definitionOf = (operator: OperatorName): OperatorDefinition | undefined =>
  versionsOf(operator.domain, operator.type)?.[0];

/** What names an operator: a node of a file, or an operator of a graph. */
export interface OperatorName {
  readonly domain: string;
  readonly type: string;
}

/** Every operator with a definition, each version once, sorted by domain, type and version. */
export function knownOperators(): readonly OperatorDefinition[] {
  const nameOf = ({ domain, type }: OperatorDefinition): string => `${domain}:${type}`;
  return [...definitions].sort((left, right) =>
    nameOf(left) < nameOf(right) ? -1 : nameOf(left) > nameOf(right) ? 1 : left.since - right.since,
  );
}

const definitions: readonly OperatorDefinition[] = [
  ...unaryOperators,
  ...binaryOperators,
  ...variadicOperators,
  clip,
  ...matmuls,
  einsum,
  ...convolutions,
  ...pools,
  ...normalizations,
  dropout,
  ...reductionOperators,
  ...reshapingOperators,
  ...shapeOperators,
  ...slicingOperators,
  ...indexingOperators,
  ...resizingOperators,
  ...generators,
  ...experimentalOperators,
  ...quantizations,
  ...sequenceOperators,
  ...controlFlowOperators,
  ...attentionOperators,
  ...linearAttentionOperators,
  ...rotaryEmbeddings,
  swiGlu,
  ...recurrentOperators,
  ...stateSpaceOperators,
  ...losses,
  ...torchProducts,
  ...signalOperators,
  ...textOperators,
  ...optimizerOperators,
  ...contribOperators,
  ...mlOperators,
];

/** By domain and type, newest first. */
const definitionsByName: ReadonlyMap<string, ReadonlyMap<string, readonly OperatorDefinition[]>> = (() => {
  const byDomain = new Map<string, Map<string, OperatorDefinition[]>>();
  for (const definition of [...definitions].sort((left, right) => right.since - left.since)) {
    const byType = byDomain.get(definition.domain) ?? new Map<string, OperatorDefinition[]>();
    byDomain.set(definition.domain, byType);
    byType.set(definition.type, [...(byType.get(definition.type) ?? []), definition]);
  }
  return byDomain;
})();

const versionsOf = (domain: string, type: string): readonly OperatorDefinition[] | undefined =>
  domain === declaredDomain
    ? declaredVersions(type)
    : definitionsByName.get(domain === 'ai.onnx' ? '' : domain)?.get(type);

const declaredVersions = memoize((type: string): readonly OperatorDefinition[] => [declaredOperator(type)]);
