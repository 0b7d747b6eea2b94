/**
 * What is alive while forward runs, operator by operator, beside what has been kept for backward by then.
 *
 * An operator gives its outputs, copies what it keeps in another form, and lets go of what nobody reads any more and nobody
 * keeps (`valueLifetimes.ts`). What is kept is counted with what is kept, from the operator on that keeps it.
 */

import { distinct } from '../../model/distinct.ts';
import { bytesOnGpu } from '../../model/elementType.ts';
import type { BoundTensor } from '../../operators/definition.ts';
import { type LoweredTraining, type Variables, valueLifetimes } from './valueLifetimes.ts';

/** Records memory as it is allocated and freed. */
export interface ForwardRecorder {
  readonly begins: (operator: number) => void;
  /** A number to give it back by. */
  readonly take: (bytes: number) => number;
  readonly give: (taken: number) => void;
  /** What is taken stays until the backward of an operator has ended. */
  readonly keep: (operator: number, taken: number) => void;
}

export interface ForwardMemory {
  /** Bytes of values that nothing has kept yet, when each operator has run. */
  readonly unkept: Float64Array;
  /** By their numbers, what the model gives out and nothing keeps. */
  readonly outputs: readonly number[];
}

export function forwardMemory(
  plan: LoweredTraining,
  recorder?: ForwardRecorder,
  variables?: Variables,
): ForwardMemory {
  const { training, lowered } = plan;
  const { graph } = training.analysis;
  const { rootOf, lastUse } = valueLifetimes(plan, variables);
  const dying = new Array<string[] | undefined>(graph.operators.length);
  for (const [name, index] of lastUse) {
    const others = dying[index];
    if (others === undefined) dying[index] = [name];
    else others.push(name);
  }
  const unkept = new Float64Array(graph.operators.length);
  const values = new Map<string, { readonly taken: number; readonly size: number }>();
  let live = 0;
  const take = (name: string, bytesPerElement: number): void => {
    const tensor = training.tensors.get(name);
    if (tensor === undefined) return;
    const size = valueBytes(tensor, bytesPerElement);
    live += size;
    values.set(name, { taken: recorder?.take(size) ?? -1, size });
  };
  const kept = new Set<string>();
  const keepValue = (
    operator: number,
    name: string,
    { taken, size }: { taken: number; size: number },
  ): void => {
    if (kept.has(name)) return;
    kept.add(name);
    live -= size;
    recorder?.keep(operator, taken);
  };
  const seen = new Set<string>();
  for (const name of graph.inputs) take(name, 4);
  const { operators } = graph;
  for (let index = 0; index < operators.length; index += 1) {
    const operator = operators[index];
    if (operator === undefined) continue;
    const kernels = lowered.operators[index];
    recorder?.begins(index);
    if (kernels?.view !== true) {
      for (const output of operator.outputs) if (output !== '') take(output, kernels?.bytesPerElement ?? 4);
    }
    for (const { key, bytes } of kernels?.saved ?? nothing) {
      if (seen.has(key)) continue;
      seen.add(key);
      const name = rootOf(key.slice(0, key.lastIndexOf(':')));
      const value = values.get(name);
      // A copy that a cast made has its reader in its key.
      if (value?.size === bytes && !key.includes('@', key.lastIndexOf(':'))) keepValue(index, name, value);
      else recorder?.keep(index, recorder.take(bytes));
    }
    unkept[index] = live;
    if (kernels?.forwardTemporary !== undefined) {
      recorder?.give(recorder.take(kernels.forwardTemporary));
      unkept[index] = live + kernels.forwardTemporary;
    }
    for (const name of dying[index] ?? nothing) {
      const value = values.get(name);
      if (value === undefined || kept.has(name)) continue;
      live -= value.size;
      recorder?.give(value.taken);
    }
  }
  const outputs = distinct(graph.outputs.map(rootOf)).flatMap((name) => {
    const value = values.get(name);
    return value === undefined || kept.has(name) ? [] : [value.taken];
  });
  return { unkept, outputs };
}

const nothing: readonly never[] = [];

/** Bytes of a value whose float32 elements take `bytesPerElement`. */
export const valueBytes = (tensor: BoundTensor, bytesPerElement: number): number =>
  tensor.elements * (tensor.elementType === 'float32' ? bytesPerElement : bytesOnGpu(tensor.elementType));
