/**
 * What lowering a text found out, kept for the next time: between two keystrokes nearly every line stays as it is.
 *
 * A layer is taken over where everything its operators depend on is the same: how its call is written, the tensors it
 * reads, the values of names. Tensors are compared as objects, so that a line that changed nothing for those below it
 * ends the work there. A result never depends on what is kept, only the time it takes does.
 */

import type { Pattern } from './copyLayer.ts';
import type { Values } from './evaluate.ts';
import { isSameBasis, isSameShape, type KeptLayer, type LayerBasis } from './keptLayer.ts';
import type { SpecValue, Tensor } from './layerDefinition.ts';

/** States of a line that are kept: as it was, half typed, and on the way between. */
const mostStates = 4;

/**
 * What is taken over: lines of an earlier state of the text, or only copies of lines within one text, or nothing, which
 * is what the others are compared with.
 */
export type Remembered = 'lines' | 'copies' | 'nothing';

/** What is kept of runs under the same circumstances. */
export class RunCache {
  inputs: readonly Tensor[] | undefined;
  /** By path, the last state first. */
  private readonly layers = new Map<string, readonly KeptLayer[]>();
  private readonly values = new Map<string, Values>();
  /** By name, the last one first. */
  private readonly tensors = new Map<string, readonly Tensor[]>();
  /** By how its call is written: the layer lowered last, for others to be copies of. */
  private readonly patterns = new Map<string, Pattern>();
  /** By block: the values inside it that were met last. */
  private readonly valuesInside = new Map<string, Values>();
  private touched = new Set<string>();

  constructor(private readonly remembered: Remembered) {}

  /** The layer at `path` where it was lowered from the same. */
  find(path: string, basis: LayerBasis): KeptLayer | undefined {
    return this.layers.get(path)?.find((kept) => isSameBasis(kept.basis, basis));
  }

  keep(path: string, layer: KeptLayer): void {
    if (this.remembered !== 'lines') return;
    this.touched.add(path);
    const before = this.layers.get(path) ?? [];
    if (before[0] === layer) return;
    this.layers.set(path, [layer, ...before.filter((other) => other !== layer)].slice(0, mostStates));
  }

  patternFor({ written }: LayerBasis): Pattern | undefined {
    return this.remembered === 'nothing' ? undefined : this.patterns.get(written);
  }

  keepPattern(pattern: Pattern): void {
    this.patterns.set(pattern.layer.basis.written, pattern);
  }

  /**
   * Values inside `block` at `path`; the ones before where they are equal, there or in another repetition of the block,
   * so that they compare as objects.
   */
  valuesOf(path: string, block: string, values: Values): Values {
    const same = [this.values.get(path), this.valuesInside.get(block)].find(
      (before) => before !== undefined && areEqual(before, values),
    );
    this.values.set(path, same ?? values);
    this.valuesInside.set(block, same ?? values);
    return same ?? values;
  }

  /** The tensor, or one of the last that is equal to it: then what reads it is as it was then. */
  sameTensor(tensor: Tensor): Tensor {
    const known = this.tensors.get(tensor.name) ?? [];
    const same = known.find(
      (before) => before.elementType === tensor.elementType && isSameShape(before, tensor),
    );
    if (same !== undefined) return same;
    this.tensors.set(tensor.name, [tensor, ...known].slice(0, mostStates));
    return tensor;
  }

  /** A run is over. What no run has met for long is forgotten. */
  finish(): void {
    if (this.layers.size > 2 * this.touched.size + 100) {
      for (const path of this.layers.keys()) if (!this.touched.has(path)) this.layers.delete(path);
      this.values.clear();
      this.valuesInside.clear();
      this.tensors.clear();
    }
    // Each letter of a line that is being typed may have become one.
    if (this.patterns.size > 2 * this.touched.size + 100) this.patterns.clear();
    this.touched = new Set();
  }
}

/** Runs differ in the dims and inputs of the model; a text is lowered once or twice. */
const mostRuns = 2;

export class LoweringCache {
  private readonly runs = new Map<string, RunCache>();

  constructor(private readonly remembered: Remembered = 'lines') {}

  /** What is kept of the last run under the same circumstances. */
  runOf(circumstances: string): RunCache {
    const run = this.runs.get(circumstances) ?? new RunCache(this.remembered);
    this.runs.delete(circumstances);
    this.runs.set(circumstances, run);
    const [oldest] = this.runs.keys();
    if (this.runs.size > mostRuns && oldest !== undefined) this.runs.delete(oldest);
    return run;
  }
}

function areEqual(left: Values, right: Values): boolean {
  if (left.size !== right.size) return false;
  for (const [name, value] of right) {
    if (!left.has(name) || keyOfValue(left.get(name)) !== keyOfValue(value)) return false;
  }
  return true;
}

/** A text that tells values apart. */
export const keyOfValue = (value: SpecValue | undefined): string | number | boolean | undefined =>
  typeof value === 'object' ? JSON.stringify(value) : typeof value === 'string' ? `'${value}'` : value;
