/**
 * Tells LSTMs with projections (`proj_size`), which ONNX's LSTM does not have.
 *
 * The exporter of torch.export writes them as LSTMs of the projected size and leaves the projections out (onnxscript 0.5,
 * torchlib `aten_lstm`): the program that the file describes is another one. The calls that it records still name them.
 */

import { placeholdersOfProgram, readByCall } from '../../formats/onnx/recordedCalls.ts';
import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import { formatCount } from '../../model/format.ts';
import type { Issue } from '../../model/issue.ts';

/** `undefined` where no recorded call of an LSTM reads a projection. */
export function lostProjections({ graph }: Pick<OnnxModel, 'graph'>): Issue | undefined {
  const placeholders = placeholdersOfProgram(graph);
  if (placeholders === undefined) return undefined;
  const modules = new Set(
    graph.nodes
      .filter(({ type }) => type === 'LSTM')
      .flatMap((node) => readByCall(node, placeholders) ?? [])
      .filter((name) => projection.test(name))
      .map((name) => name.replace(projection, '')),
  );
  const [first] = modules;
  if (first === undefined) return undefined;
  return {
    code: 'graph/lost-projection',
    severity: 'warning',
    message: `${modules.size === 1 ? 'The LSTM' : `${formatCount(modules.size)} LSTMs, first`} \`${first || 'the model itself'}\` had a projection (\`proj_size\`), which ONNX’s LSTM has not: the exporter left it out and wrote a smaller LSTM. Parameters, FLOPs and sizes are of that one; save the program with \`torch.export.save\` and open the archive`,
  };
}

/** Of `torch.nn.LSTM`, layer by layer and direction by direction. */
const projection = /\.?weight_hr_l\d+(_reverse)?$/;
