/**
 * What a Caffe layer is: its blobs, its message of parameters, a line of documentation with the file that says so, and
 * how it becomes ONNX operators.
 *
 * One table of these drives lowering, messages, completion and the page of layers.
 */

import type { CaffeLayer, CaffeMessage } from '../../formats/caffe/syntax.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { NodeAttributes, Tensor } from '../layer-spec/layerDefinition.ts';

export interface CaffeLayerDefinition {
  /** As nets write it: `Convolution`. */
  readonly type: string;
  /** One line: what it computes. */
  readonly documentation: string;
  /** Where its shapes are written: a file below src/caffe/layers of BVLC Caffe, or the fork that has it. */
  readonly source: string;
  /** The field of its parameters, such as `convolution_param`. */
  readonly parameters?: string;
  /** How many blobs it reads and writes, least and most. */
  readonly bottoms: Range;
  readonly tops: Range;
  /** Its first top counts in the objective unless `loss_weight` says otherwise. */
  readonly isLoss?: true;
  /** Bottoms that are class numbers or indices rather than values. */
  readonly indexBottoms?: readonly number[];
  /** One tensor per top; `undefined` where it cannot be lowered, after saying why. */
  readonly lower: (call: CaffeCall) => readonly Tensor[] | undefined;
}

export type Range = readonly [least: number, most: number];

export const any = Number.POSITIVE_INFINITY;

/** One layer while it is lowered. */
export interface CaffeCall {
  readonly layer: CaffeLayer;
  /** One per bottom. */
  readonly inputs: readonly Tensor[];
  /** How many tops the net names. */
  readonly tops: number;
  /** The layer's own message; `undefined` where it is left out, as its defaults do. */
  readonly parameters: CaffeMessage;
  emit(type: string, inputs: readonly (Tensor | undefined)[], attributes?: NodeAttributes): Tensor;
  emitMany(
    type: string,
    inputs: readonly (Tensor | undefined)[],
    outputs: number,
    attributes?: NodeAttributes,
  ): readonly Tensor[];
  /** Parameter `index` of the layer in Caffe's order: shared where the net names it, frozen where its rate is 0. */
  weight(index: number, name: string, dimensions: readonly number[]): Tensor;
  /** A stored tensor that is not trained. */
  buffer(name: string, dimensions: readonly number[]): Tensor;
  integers(values: readonly number[]): Tensor;
  scalar(value: number, elementType?: ElementType): Tensor;
  /** Something Caffe refuses. Gives `undefined`, to be returned. */
  problem(message: string, span?: TextSpan): undefined;
  /** A field that is needed; says what to give, unless what was given has been refused. */
  missing(field: string, what: string): undefined;
  /** Shapes that contradict each other. */
  mismatch(message: string, span?: TextSpan): undefined;
  /** A cost that no one can know from the net alone, and why. */
  unknown(reason: string): undefined;
}
