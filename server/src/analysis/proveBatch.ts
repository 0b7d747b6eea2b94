/**
 * Whether everything that a graph computes scales with its batch, by the dimension maps of its operators.
 *
 * Each dimension that has the batch goes on, in every operator that reads it, into output dimensions of the same factor, or
 * is contracted to a result of its own; in an operator that mixes samples it is private, and nothing is proved. Lookups in masks
 * and positions are let be: exporters keep those of one sample for all, which costs the same.
 */

import { type Dimension, symbolsOf } from '../model/dimension.ts';
import { isKnownShape, type Operator, type ValueType } from '../model/graph.ts';
import { makeInferenceContext } from '../operators/context.ts';
import { findOperator } from '../operators/registry.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';
import { opsetOf } from './opsetOf.ts';

export interface BatchProof {
  /** By operator, whether the batch is in what it reads or gives. */
  readonly carries: readonly boolean[];
  /** Why it is not proved: the first operator that does not hand the batch on. */
  readonly flaw?: string;
}

export function proveBatch(analysis: ModelAnalysis, batch: string): BatchProof {
  let flaw: string | undefined;
  const carries = analysis.graph.operators.map((operator) => {
    const found = batchThrough(analysis, operator, batch);
    if (found.flaw !== undefined) flaw ??= `${operator.type} \`${operator.name}\`: ${found.flaw}`;
    return found.carries;
  });
  return flaw === undefined ? { carries } : { carries, flaw };
}

function batchThrough(
  { graph }: ModelAnalysis,
  operator: Operator,
  batch: string,
): { readonly carries: boolean; readonly flaw?: string } {
  const inputs = operator.inputs.map((name) => graph.values.get(name));
  const outputs = operator.outputs.map((name) => graph.values.get(name));
  const read = inputs.map((value) => axesOf(value?.type, batch));
  const given = outputs.map((value) => axesOf(value?.type, batch));
  const isIn = (axes: readonly (readonly number[])[]): boolean => axes.some((each) => each.length > 0);
  const carries = isIn(read) || isIn(given);
  // Sizes that are computed of sizes were followed by their contents, and what is made of them by its shape.
  if (!isIn(read) || outputs.every((value) => value?.content !== undefined)) return { carries };
  if ([...inputs, ...outputs].every((value) => isMask(value?.type))) return { carries };
  const opset = operator.opset ?? opsetOf(graph.operatorSets, operator.domain);
  const definition = findOperator(operator.domain, operator.type, opset);
  if (definition === undefined) return { carries, flaw: 'what it does is not known' };
  const map = definition.dimensions(
    makeInferenceContext({
      opset,
      inputs: inputs.map((value) => value?.type),
      contents: inputs.map((value) => value?.content),
      outputCount: operator.outputs.length,
      attributes: operator.attributes,
    }),
  );
  if (map.kind === 'unknown') return { carries, flaw: map.reason };
  const factors = map.factors.filter(({ size }) => mentions(size, batch));
  for (const [tensor, axes] of read.entries()) {
    const mixed = axes.find((axis) => !factors.some((factor) => has(factor.inputs, tensor, axis)));
    if (mixed !== undefined)
      return { carries, flaw: `the batch of \`${operator.inputs[tensor]}\` does not pass through it` };
  }
  for (const [tensor, axes] of given.entries()) {
    const made = axes.find((axis) => !factors.some((factor) => has(factor.outputs, tensor, axis)));
    if (made !== undefined)
      return {
        carries,
        flaw: `axis ${made} of \`${operator.outputs[tensor]}\` is not the batch of its inputs`,
      };
  }
  return { carries };
}

/** Truth values and positions. Quantized tensors have narrower integers. */
const isMask = (type: ValueType | undefined): boolean =>
  type === undefined || (type.kind === 'tensor' && ['bool', 'int32', 'int64'].includes(type.elementType));

const has = (
  places: readonly { readonly tensor: number; readonly axis: number }[],
  tensor: number,
  axis: number,
): boolean => places.some((place) => place.tensor === tensor && place.axis === axis);

/** Axes of a tensor, or of each element of a list, whose size has the batch in it. */
function axesOf(type: ValueType | undefined, batch: string): readonly number[] {
  if (type?.kind === 'sequence' || type?.kind === 'optional') return axesOf(type.element, batch);
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return [];
  return type.shape.flatMap((size, axis) => (mentions(size, batch) ? [axis] : []));
}

const mentions = (size: Dimension, batch: string): boolean => symbolsOf(size).includes(batch);
