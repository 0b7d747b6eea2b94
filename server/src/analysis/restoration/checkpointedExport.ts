/** Tells that the exported program checkpoints activations, of which an ONNX file has nothing but the lines in its stack traces. */

import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import { callsCheckpoint, choosesCheckpoint, parseStackTrace } from '../../formats/stackTrace.ts';
import type { Issue } from '../../model/issue.ts';

/** `undefined` where no trace goes through a call of `torch.utils.checkpoint`. */
export function checkpointedExport({ graph }: Pick<OnnxModel, 'graph'>): Issue | undefined {
  for (const { metadata } of graph.nodes) {
    const trace = metadata.get('pkg.torch.onnx.stack_trace');
    // Most traces name none, and are long.
    if (trace?.includes('checkpoint') !== true) continue;
    const frame = parseStackTrace(trace).find(callsCheckpoint);
    if (frame === undefined) continue;
    const file = frame.path.slice(frame.path.lastIndexOf('/') + 1);
    const checkpoints = choosesCheckpoint(frame) ? 'may checkpoint' : 'checkpoints';
    return {
      code: 'graph/checkpoint',
      severity: 'warning',
      message: `Line ${frame.line} of \`${file}\` ${checkpoints} activations. The file has the operators without it, so that the step keeps everything; set \`checkpoint: block\` where blocks are checkpointed, or cost the archive of torch.export`,
    };
  }
  return undefined;
}
