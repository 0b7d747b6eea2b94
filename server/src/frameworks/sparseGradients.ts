/** What frameworks make of a table whose gradient is rows: how many rows that has, and what the optimizer passes over. */

import { differentRows, everyLookup, type RowsSent } from './embeddingTables.ts';
import type { RowOptimizer } from './optimizers/optimizerDefinition.ts';

/** Elements of a table that a GPU holds: all, those of the rows that arrive, and those of the different rows among them. */
export interface TableElements {
  readonly whole: number;
  readonly came: number;
  readonly met: number;
}

/** Elements that an optimizer reads and writes where a gradient is rows, and its kernels. */
export type UpdateOfRows = (
  optimizer: RowOptimizer,
  elements: TableElements,
) => {
  readonly touched: number;
  readonly launches: number;
  /** Most of it in the order of memory, because the whole table is passed over. */
  readonly passesWhole?: true;
};

/** What a framework makes of a table whose gradient is rows. */
export interface SparseGradients {
  /** Rows of the gradient of one GPU. */
  readonly rows: RowsSent;
  readonly update: UpdateOfRows;
}

/** What an optimizer keeps for each element. */
export const statesOf: Readonly<Record<RowOptimizer, number>> = { sgd: 0, momentum: 1, adagrad: 1, adam: 2 };

/** One kernel over the rows: FBGEMM, split table batched embeddings. */
export const fusedUpdate: UpdateOfRows = (optimizer, { came, met }) => ({
  touched: came + 2 * (1 + statesOf[optimizer]) * met,
  launches: 1,
});

/** The same where each row comes once: MXNet's `lazy_update`, its default. */
const lazyUpdate: UpdateOfRows = (optimizer, { met, ...elements }) =>
  fusedUpdate(optimizer, { ...elements, came: met, met });

/**
 * SGD adds the rows that arrive; Adam of PyTorch refuses sparse gradients, and SparseAdam sorts and adds rows that are alike,
 * then passes over the different ones (PyTorch 2.x torch/optim/_functional.py, `sparse_adam`, counted operand by operand).
 * Momentum keeps a sparse buffer that grows to the whole table, whose rows are all passed. Adagrad sorts and adds in the same way
 * (torch/optim/adagrad.py, `_single_tensor_adagrad`).
 */
const pytorchUpdate: UpdateOfRows = (optimizer, { whole, came, met }) => {
  if (optimizer === 'sgd') return { touched: 3 * came, launches: 1 };
  // The rows are added to the buffer, which is scaled and added to the weights.
  if (optimizer === 'momentum') return { touched: 3 * came + 5 * whole, launches: 3, passesWhole: true };
  // Sorted and added: 1 and 1. The square, added to the sum, taken out; root, sum, quotient, added to the weights.
  if (optimizer === 'adagrad') return { touched: came + 18 * met, launches: 17 };
  // Sorted and added: 1 and 1. Each moment: taken out, subtracted, scaled, added back; the quotient, added to the weights.
  return { touched: came + 41 * met, launches: 24 };
};

/**
 * TensorFlow 1: SGD adds the rows that arrive; others first add rows that are alike (`_deduplicate_indexed_slices`). Momentum
 * and Adagrad pass over the different ones. Adam scales both moments whole, adds the rows, and updates the whole table by a root, three
 * products and a difference (tensorflow/python/training/adam.py, `_apply_sparse_shared`, counted operand by operand).
 */
const tensorflowUpdate: UpdateOfRows = (optimizer, { whole, came, met }) => {
  if (optimizer === 'sgd') return { touched: 3 * came, launches: 1 };
  const added = came + met;
  if (optimizer === 'momentum' || optimizer === 'adagrad') return { touched: added + 5 * met, launches: 3 };
  // Moments scaled: 2 and 2; scaled rows added: 5 and 7; root 2, sum 2, product 2, quotient 3, difference 3.
  return { touched: added + 12 * met + 16 * whole, launches: 14, passesWhole: true };
};

export const pytorchGradients: SparseGradients = { rows: everyLookup, update: pytorchUpdate };
export const tensorflowGradients: SparseGradients = { rows: everyLookup, update: tensorflowUpdate };
export const mxnetGradients: SparseGradients = { rows: differentRows, update: lazyUpdate };
