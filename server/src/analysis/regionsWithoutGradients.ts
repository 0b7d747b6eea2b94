/**
 * Regions of `torch.no_grad`, by what the torch.export-based exporter leaves of them.
 *
 * A program has such a region as a graph of its own, and decompositions write it back in line. The traces of its operators then
 * are those of the generated graph, not of the person's lines, and its lines read what is stored by the names of the program:
 * `File "<eval_with_key>.113", … linear_2 = torch.ops.aten.linear.default(relu, p_teacher_weight, p_teacher_bias)` (PyTorch 2.13,
 * torch/_export/passes/replace_set_grad_with_hop_pass.py). A region of `torch.autocast` is written back likewise, with
 * names of arguments instead (`arg0_1`).
 *
 * Functions that write to a given tensor (`out=`) run without gradients alone, or of what has none (PyTorch 2.13
 * torch/csrc/autograd/VariableTypeUtils.h, `throw_error_out_requires_grad`): the second call of a module with spectral normalization
 * iterates so on what the first wrote, and reads no buffer.
 */

import { placeholdersOfProgram } from '../formats/onnx/recordedCalls.ts';
import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import { parseStackTrace } from '../formats/stackTrace.ts';

/** Nodes that the program runs without gradients, of regions that read a parameter or a buffer, or write with `out=`. */
export function nodesWithoutGradients(nodes: readonly OnnxNode[], graph: OnnxGraph): ReadonlySet<OnnxNode> {
  const placeholders = placeholdersOfProgram(graph);
  const regions = new Map<string, { readonly members: OnnxNode[]; isWithout: boolean }>();
  for (const node of placeholders === undefined ? [] : nodes) {
    const trace = node.metadata.get(traceKey);
    // Most traces are of the person's lines, and are long.
    if (trace === undefined || !isOfGeneratedGraph(node)) continue;
    const [frame] = parseStackTrace(trace);
    if (frame === undefined) continue;
    const region = regions.get(frame.path) ?? { members: [], isWithout: false };
    region.members.push(node);
    region.isWithout ||=
      writesOut.test(frame.text) || (frame.text.match(/\w+/g) ?? []).some((word) => placeholders?.has(word));
    regions.set(frame.path, region);
  }
  return new Set([...regions.values()].flatMap(({ members, isWithout }) => (isWithout ? members : [])));
}

const writesOut = /\btorch\.ops\.aten\.\w+\.\w*out\(.*\bout = \w+\)/;

export const traceKey = 'pkg.torch.onnx.stack_trace';

/** Whether the trace of a node begins in a graph that torch generated, as those of regions do. */
export const isOfGeneratedGraph = ({ metadata }: OnnxNode): boolean =>
  generated.test(metadata.get(traceKey) ?? '');

const generated = /^\s*File "<eval_with_key>/;
