/**
 * Which parameters of the exported program each operator was made to read.
 *
 * The torch.export-based exporter writes the call of the program beside each operator that it became
 * (`pkg.torch.onnx.fx_node`: `aten.linear.default](args = (%relu, %p_fc_weight, %p_fc_bias)`), and which parameter or
 * buffer each placeholder stands for (`torch.export.ExportGraphSignature`; PyTorch 2.5 and later). Tensors that are
 * equal when the model is exported are merged in the file; the calls still say which one is meant. A module that stands
 * in several places is one: its calls name the same placeholders.
 */

import { lastOfName } from '../../model/tensorNames.ts';
import type { OnnxGraph, OnnxNode } from './syntax.ts';

/** Parameters and buffers by the placeholder of the program; `undefined` where nothing is recorded. */
export function placeholdersOfProgram({ metadata }: OnnxGraph): ReadonlyMap<string, string> | undefined {
  const signature = metadata?.get('pkg.torch.export.ExportedProgram.graph_signature');
  if (signature === undefined) return undefined;
  const placeholders = new Map<string, string>();
  for (const [, placeholder = '', target = ''] of signature.matchAll(
    /^(\w+): (?:PARAMETER|BUFFER) target=["']([^"'\n]*)["']/gm,
  ))
    placeholders.set(placeholder, target);
  return placeholders.size === 0 ? undefined : placeholders;
}

/** What the call of a node reads, in its order; `undefined` where no call is recorded. */
export function readByCall(
  { metadata }: Pick<OnnxNode, 'metadata'>,
  placeholders: ReadonlyMap<string, string>,
): readonly string[] | undefined {
  const call = metadata.get('pkg.torch.onnx.fx_node');
  if (call === undefined) return undefined;
  const read: string[] = [];
  for (const [, placeholder = ''] of call.matchAll(/%(\w+)/g)) {
    const target = placeholders.get(placeholder);
    if (target !== undefined && !read.includes(target)) read.push(target);
  }
  return read;
}

/** The results and inputs of the program that the call of a node reads, in its order; `undefined` where no call is recorded. */
export function argumentsOfCall({ metadata }: Pick<OnnxNode, 'metadata'>): readonly string[] | undefined {
  const call = metadata.get('pkg.torch.onnx.fx_node');
  const start = call?.indexOf('](args = ') ?? -1;
  if (call === undefined || start < 0) return undefined;
  return [...call.slice(start).matchAll(/%(\w+)/g)].map(([, name = '']) => name);
}

/**
 * The parameters that stand at the weights of one operator. `weights`: the tensor of the file at each, by the name that it
 * was stored under. Where both have the same last names (`weight`, `bias`), these decide, as a call may have its bias first; else
 * as many as the call reads stand in its order; else a name that the call reads is that one, and the only one with a
 * last name that one. `undefined` for those that stay open.
 */
export function parametersAt(
  weights: readonly string[],
  called: readonly string[],
): readonly (string | undefined)[] {
  const leaves = new Set(weights.map(lastOfName));
  const byLeaf = new Map(called.map((name) => [lastOfName(name), name]));
  const isPermuted =
    leaves.size === weights.length &&
    byLeaf.size === leaves.size &&
    [...leaves].every((leaf) => byLeaf.has(leaf));
  if (weights.length === called.length && !isPermuted) return called;
  return weights.map((name) => {
    if (called.includes(name)) return name;
    const alike = called.filter((other) => lastOfName(other) === lastOfName(name));
    const rivals = weights.filter((other) => lastOfName(other) === lastOfName(name));
    return alike.length === 1 && rivals.length === 1 ? alike[0] : undefined;
  });
}
