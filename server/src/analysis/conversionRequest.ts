/** What a conversion of a model file is asked for. */

import type { OpenOptions } from './openModel.ts';

export const targetFormats = ['onnx', 'onnx-text', 'layer-spec'] as const;
export type TargetFormat = (typeof targetFormats)[number];

/** What stands for weights without contents. `elided` is `{...}`, of ONNX text only. */
export const weightForms = ['zeros', 'external', 'elided'] as const;
export type WeightChoice = (typeof weightForms)[number];

export interface ConversionRequest {
  /** Absent: ONNX text, or binary ONNX of a file that is ONNX text. */
  readonly to: TargetFormat | undefined;
  /** Absent: zeros in binary ONNX, elided in ONNX text. */
  readonly weights: WeightChoice | undefined;
  /** Where external weights are to lie, from the model's folder. */
  readonly externalPath: string;
  readonly dimensions: Readonly<Record<string, number>>;
  /** Which model of a layer spec that holds several; the first where none is named. */
  readonly model?: string | undefined;
  /** Reads what a layer spec includes. */
  readonly readInclude?: OpenOptions['readInclude'];
}
