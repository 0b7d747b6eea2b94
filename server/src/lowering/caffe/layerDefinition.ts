/**
 * What a Caffe layer is: its blobs, its message of parameters, a line of documentation with the file that says so, and
 * how it becomes ONNX operators.
 *
 * One table of these drives lowering, messages, completion and the page of layers.
 */

import type { CaffeLayer, CaffeMessage } from '../../formats/caffe/syntax.ts';
import type { Dimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import type { NodeAttributes, Tensor } from '../layer-spec/layerDefinition.ts';

export interface CaffeLayerDefinition {
  /** As nets write it: `Convolution`. */
  readonly type: string;
  /** Other names that forks give the same layer. */
  readonly aliases?: readonly string[];
  /** One line: what it computes. */
  readonly documentation: string;
  /** Where its shapes are written: a file below src/caffe/layers of BVLC Caffe, or the fork that has it. */
  readonly source: string;
  /** The field of its parameters, such as `convolution_param`. */
  readonly parameters?: string;
  /** Fields that hold the same parameters in other forks. */
  readonly otherParameters?: readonly string[];
  /** How many blobs it reads and writes, least and most. */
  readonly bottoms: Range;
  readonly tops: Range;
  /** Its first top counts in the objective unless `loss_weight` says otherwise. */
  readonly isLoss?: true;
  /** All bottoms have one shape, class numbers without the axis of classes; so has a blob of the host that it reads. */
  readonly comparesBottoms?: true;
  /** The shape of a blob of the host that it reads, where its parameters say it. */
  readonly shapeOfHostBlob?: (parameters: CaffeMessage | undefined) => readonly number[] | undefined;
  /** Bottoms that the host makes stay there, so that their shapes do not matter. */
  readonly readsOnHost?: true;
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
  /** What the host makes for top `index` in every step; without a shape, the layer that reads it knows it. */
  fromHost(index: number, shape?: readonly Dimension[], elementType?: ElementType): Tensor;
  /** How many samples a step takes. */
  readonly batch: Dimension;
  /** A size that is not in the net: the one that is given from outside, else `standard`. */
  size(name: string, standard: number): number;
  /** Whether the net has a loss, and is opened for training. */
  readonly isTraining: boolean;
  integers(values: readonly number[]): Tensor;
  scalar(value: number, elementType?: ElementType): Tensor;
  /** Something Caffe refuses. Gives `undefined`, to be returned. */
  problem(message: string, span?: TextSpan): undefined;
  /** A field that is needed; says what to give, unless what was given has been refused. */
  missing(field: string, what: string): undefined;
  /** Shapes that contradict each other. */
  mismatch(message: string, span?: TextSpan): undefined;
  /** Something that is assumed, or left out of the cost. */
  remark(
    code: IssueCode,
    message: string,
    severity: 'warning' | 'information',
    unset?: readonly string[],
  ): void;
  /** A cost that no one can know from the net alone, and why; `shapes` are those of the tops, where they are known. */
  unknown(reason: string, shapes?: readonly (readonly Dimension[] | undefined)[]): undefined;
}
