/** A layer as it was lowered, and all that its operators depend on. */

import type { LayerCall } from '../../formats/layer-spec/syntax.ts';
import { equalDimensions, unknownDimension } from '../../model/dimension.ts';
import { layerIn, namesIn, type Values } from './evaluate.ts';
import type { Emitted } from './graphBuilder.ts';
import type { Tensor } from './layerDefinition.ts';
import { lookUp, type Outputs, type Scope, weightsNamed } from './scope.ts';
import type { Feed } from './tensorArguments.ts';

/** It was lowered without issues. */
export interface KeptLayer {
  readonly basis: LayerBasis;
  readonly emitted: Emitted;
  readonly outputs: Outputs;
  readonly weights: ReadonlyMap<string, Tensor>;
  /** Open dimensions whose value went into it. */
  readonly pinned: readonly string[];
}

/** Everything that the operators of a layer depend on. */
export interface LayerBasis {
  readonly written: string;
  readonly outputs: number;
  readonly frozen: boolean;
  readonly values: Values;
  /** Tensors and weights it may read, `undefined` for names that are none; compared as objects. */
  readonly reads: readonly Read[];
}

/** A tensor, the names of a layer's outputs, or its weights. */
export type Read = Tensor | string | ReadonlyMap<string, Tensor> | undefined;

/** Whether two calls become the same operators where what they read is the same. */
export const isWrittenAlike = (left: LayerBasis, right: LayerBasis): boolean =>
  left.written === right.written &&
  left.outputs === right.outputs &&
  left.frozen === right.frozen &&
  left.values === right.values &&
  left.reads.length === right.reads.length;

export const isSameBasis = (left: LayerBasis, right: LayerBasis): boolean =>
  isWrittenAlike(left, right) && left.reads.every((read, index) => read === right.reads[index]);

export function isSameShape({ shape: left }: Tensor, { shape: right }: Tensor): boolean {
  if (left === undefined || right === undefined) return left === right;
  return (
    left.length === right.length &&
    left.every((size, axis) => equalDimensions(size, right[axis] ?? unknownDimension('')))
  );
}

/** All that `call` can read at its place. */
export function readsOf(call: LayerCall, scope: Scope, feed: Feed): readonly Read[] {
  const reads: Read[] = [feed.previous, ...feed.sources];
  for (const { value } of call.arguments) {
    for (const name of namesIn(value)) {
      const outputs = lookUp(name, scope);
      if (outputs === undefined) reads.push(undefined);
      else reads.push(...outputs.tensors, outputs.names.join());
      reads.push(weightsNamed(name, scope));
    }
    const layer = layerIn(value);
    if (value.kind === 'member' && layer !== undefined) reads.push(weightsNamed(layer, scope));
  }
  return reads;
}
