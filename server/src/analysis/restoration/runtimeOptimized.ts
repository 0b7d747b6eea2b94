/** Tells a file that ONNX Runtime has written, which it optimizes for inference (`SessionOptions.optimized_model_filepath`). */

import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import { blockedDomain } from './blockedChannels.ts';

/**
 * ONNX Runtime imports every operator set that it knows, also the one of its blocked layout, which no exporter names
 * (files saved by ONNX Runtime 1.30, at each level of optimization). A file of it is the graph of inference: what was fused is
 * taken apart again, but equal weights are merged, and tables cut, without a trace. `padded` convolutions had channels added.
 */
export function runtimeOptimized({ operatorSets }: OnnxModel, padded = 0): Issue | undefined {
  if (!operatorSets.some(({ domain }) => domain === blockedDomain)) return undefined;
  const filled =
    padded === 0
      ? ''
      : ` ${padded === 1 ? '1 convolution has' : `${padded} convolutions have`} channels that were added for its blocks, and may have had a batch normalization.`;
  return {
    code: 'graph/runtime-optimized',
    severity: 'warning',
    message: `ONNX Runtime wrote this file.${filled} What it merged, cut or computed beforehand is not restored, so that a training step may differ; use the file from before`,
  };
}
