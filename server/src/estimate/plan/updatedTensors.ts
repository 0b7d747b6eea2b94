/** The parameters of a training graph as an optimizer sees them, and the part of each that a GPU updates. */

import { embeddingTables } from '../../analysis/embeddingTables.ts';
import type { Parameter, TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { UpdatedTensor } from '../../frameworks/optimizers/optimizerDefinition.ts';
import { optimizerDefinitions } from '../../frameworks/optimizers/optimizers.ts';
import { memoizeOfObject } from '../../model/memoize.ts';
import type { Optimizer } from '../../model/scenario.ts';

/** By index of the parameter. Most optimizers ask for elements alone, and then no whole graph of a folded one is made. */
export const updatedTensors = (training: TrainingGraph, optimizer: Optimizer): readonly UpdatedTensor[] =>
  readsShapes(optimizer) ? shapedTensors(training) : plainTensors(training.analysis.parameters);

function readsShapes(optimizer: Optimizer): boolean {
  if (optimizer === 'none') return false;
  const { update } = optimizerDefinitions[optimizer];
  return update.kind === 'by tensor' && update.readsShapes === true;
}

const plainTensors = memoizeOfObject((parameters: readonly Parameter[]): readonly UpdatedTensor[] =>
  parameters.map(({ elements }) => ({ elements, shape: [], isHidden: false })),
);

const shapedTensors = memoizeOfObject((training: TrainingGraph): readonly UpdatedTensor[] => {
  const tables = embeddingTables(training);
  const lookedUp = new Set(tables.map(({ index }) => index));
  // The head of a language model has a row or a column for each row of its table.
  const ofTables = new Set(tables.map(({ rows, width }) => sides(rows, width)));
  return training.analysis.parameters.map(({ name, elements, operators }, index) => {
    const shape = training.tensors.get(name)?.dimensions ?? [];
    const [rows = 0, columns = 0] = shape;
    const isMatrix = shape.length === 2 && !lookedUp.has(index) && !ofTables.has(sides(rows, columns));
    return { elements, shape, isHidden: isMatrix && operators.some((at) => multiplies(training, at)) };
  });
});

const sides = (rows: number, columns: number): string =>
  `${Math.min(rows, columns)}×${Math.max(rows, columns)}`;

/** Whether an operator multiplies, or hands the matrix on as it is to one that may. */
function multiplies(training: TrainingGraph, operator: number): boolean {
  const cost = training.costs[operator];
  return cost?.kind === 'known' && (cost.forward.flops > 0 || cost.forward.kernels === 0);
}

/** What one of so many GPUs updates: rows, if there are as many, else elements. */
export const shardOf = ({ elements, shape, isHidden }: UpdatedTensor, shards: number): UpdatedTensor =>
  shards === 1
    ? { elements, shape, isHidden }
    : {
        elements: elements / shards,
        shape: shape.map((size, axis) => (axis === 0 ? size / shards : size)),
        isHidden,
      };
