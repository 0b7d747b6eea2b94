/** Tells a file that ONNX Runtime has written, which it optimizes for inference (`SessionOptions.optimized_model_filepath`). */

import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import type { Issue } from '../../model/issue.ts';

/**
 * ONNX Runtime imports every operator set that it knows, also the one of its blocked layout, which no exporter names
 * (files saved by ONNX Runtime 1.30, at each level of optimization). A file of it is the graph of inference:
 * operators are fused (`FusedConv`, `SkipLayerNormalization`), equal weights merged, and biases and normalizations folded.
 */
export function runtimeOptimized({ operatorSets }: OnnxModel): Issue | undefined {
  if (!operatorSets.some(({ domain }) => domain === 'com.microsoft.nchwc')) return undefined;
  return {
    code: 'graph/runtime-optimized',
    severity: 'warning',
    message:
      'ONNX Runtime wrote this file, and may have folded, merged and fused what training runs by itself. Parameters, memory and time of a training step may differ; use the file from before',
  };
}
