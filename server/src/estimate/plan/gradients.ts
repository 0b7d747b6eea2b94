/** Gradients in the order backward completes them. */

import type { EmbeddingTable } from '../../analysis/embeddingTables.ts';
import type { ModelAnalysis, Parameter, TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { foldedIndex } from '../../analysis/repetition/foldGraph.ts';
import type { FrozenWeight, Gradient } from '../../frameworks/gradient.ts';
import { bytesInBlocks } from '../../model/blockFormat.ts';
import { bytesOnGpu } from '../../model/elementType.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import { isSameContent } from '../../model/sameContent.ts';
import { type Bytes, bytes } from '../../model/units.ts';

/**
 * A shared parameter's gradient is complete when backward has passed its first use. Backward runs operators in
 * reverse, so operator i is at position n − 1 − i. They are the same list for every batch of a model.
 */
export const gradientsInReadyOrder = (
  { analysis, costs }: TrainingGraph,
  bytesPerElement = 4,
  tables: readonly EmbeddingTable[] = noTables,
): readonly Gradient[] => knownGradients(analysis, { operators: costs.length, bytesPerElement, tables });

const noTables: readonly EmbeddingTable[] = [];

const knownGradients = memoizeRecent(orderGradients, isSameContent);

interface GradientQuestion {
  readonly operators: number;
  readonly bytesPerElement: number;
  /** Those that are not sent whole. */
  readonly tables: readonly EmbeddingTable[];
}

function orderGradients(
  analysis: ModelAnalysis,
  { operators, bytesPerElement, tables }: GradientQuestion,
): readonly Gradient[] {
  // A graph may hold a weight and give it out: nothing computes its gradient.
  if (operators === 0) return [];
  const { parameters } = analysis;
  const last = operators - 1;
  const typeOf = typesOfOperators(analysis);
  const tableOf = new Map(tables.map((table) => [table.index, table]));
  return parameters
    .map(
      (parameter, index): Gradient => ({
        parameter: parameter.name,
        index,
        elements: parameter.elements,
        bytes: parameterBytes(parameter, bytesPerElement),
        readyAfter: last - (parameter.operators[0] ?? last),
        usedFrom: parameter.operators[0] ?? 0,
        ofBatchNorm: typeOf(parameter.operators[0] ?? -1) === 'BatchNormalization',
        ...tableIn(tableOf.get(index)),
        ...(parameter.expertWays === undefined ? {} : { expertWays: parameter.expertWays }),
      }),
    )
    .sort((a, b) => a.readyAfter - b.readyAfter || b.index - a.index);
}

/** Weights that are not trained, in the order of forward. */
export const frozenWeights = (
  { analysis, costs }: TrainingGraph,
  bytesPerElement = 4,
): readonly FrozenWeight[] => knownFrozen(analysis, { operators: costs.length, bytesPerElement });

const knownFrozen = memoizeRecent(orderFrozen, isSameContent);

function orderFrozen(
  analysis: ModelAnalysis,
  { operators, bytesPerElement }: Omit<GradientQuestion, 'tables'>,
): readonly FrozenWeight[] {
  if (operators === 0) return [];
  const runsBackward = backwardOfOperators(analysis);
  return analysis.frozen
    .map((weight, index): FrozenWeight => {
      const [usedFrom = 0] = weight.operators;
      const passed = weight.operators.find(runsBackward);
      return {
        parameter: weight.name,
        index,
        elements: gatheredElements(weight),
        bytes: parameterBytes(weight, bytesPerElement),
        usedFrom,
        ...(passed === undefined ? {} : { passedAfter: operators - 1 - passed }),
        ...(weight.expertWays === undefined ? {} : { expertWays: weight.expertWays }),
      };
    })
    .sort((a, b) => a.usedFrom - b.usedFrom || a.index - b.index);
}

/**
 * Weights in few bits lie in words of half precision, so that what gathers weights of that type gathers them too (transformers 5.18,
 * `bnb_4bit_quant_storage`; bitsandbytes, "FSDP-QLoRA"). Their scales are counted with them.
 */
const gatheredElements = (weight: Parameter): number =>
  weight.format === undefined ? weight.elements : parameterBytes(weight) / 2;

/** Whether what an operator gives receives a gradient, in a folded analysis by the operator that it is a copy of. */
function backwardOfOperators(analysis: ModelAnalysis): (index: number) => boolean {
  const { folded } = analysis;
  const { graph, costing } = folded?.analysis ?? analysis;
  const { requires } = costing.gradients;
  return (index) => {
    const operator = graph.operators[folded === undefined ? index : foldedIndex(folded.layout, index)];
    return operator?.outputs.some((name) => requires.has(name)) === true;
  };
}

const tableIn = (table: EmbeddingTable | undefined): Pick<Gradient, 'table'> =>
  table === undefined ? {} : { table };

/** Of a folded analysis by the operator that each is a copy of: the whole graph is better not made for it. */
function typesOfOperators(analysis: ModelAnalysis): (index: number) => string | undefined {
  const { folded } = analysis;
  if (folded === undefined) return (index) => analysis.graph.operators[index]?.type;
  const { operators } = folded.analysis.graph;
  return (index) => operators[foldedIndex(folded.layout, index)]?.type;
}

/** Bytes of a parameter; `bytesPerElement` holds for those that are fp32 in the file. */
export function parameterBytes(
  { elements, elementType, format }: Pick<Parameter, 'elements' | 'elementType' | 'format'>,
  bytesPerElement = 4,
): Bytes {
  if (format !== undefined) return bytes(elements * bytesInBlocks[format]);
  return bytes(elements * (elementType === 'float32' ? bytesPerElement : bytesOnGpu(elementType)));
}
