/**
 * Which parameters of the exported program each operator was made to read.
 *
 * The torch.export-based exporter writes the call of the program beside each operator that it became
 * (`pkg.torch.onnx.fx_node`: `aten.linear.default](args = (%relu, %p_fc_weight, %p_fc_bias)`), and which parameter or
 * buffer each placeholder stands for (`torch.export.ExportGraphSignature`; PyTorch 2.5 and later). Tensors that are
 * equal when the model is exported are merged in the file; the calls still say which one is meant. A module that stands
 * in several places is one: its calls name the same placeholders.
 */

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

/**
 * The parameters that stand at the weights of one operator. `weights`: the tensor of the file at each, by the name that it
 * was stored under. A tensor under a name that the call reads is that one; else the one with the same last name, if it
 * is alone; else they stand in the order of the call. `undefined` for those that stay open.
 */
export function parametersAt(
  weights: readonly string[],
  called: readonly string[],
): readonly (string | undefined)[] {
  const left = new Set(called);
  const found = weights.map((name) => (left.delete(name) ? name : undefined));
  const open = (): readonly number[] =>
    found.flatMap((parameter, place) => (parameter === undefined ? [place] : []));
  for (const place of open()) {
    const alike = [...left].filter((name) => leafOf(name) === leafOf(weights[place] ?? ''));
    const rivals = open().filter((other) => leafOf(weights[other] ?? '') === leafOf(weights[place] ?? ''));
    const [only] = alike;
    if (only === undefined || alike.length > 1 || rivals.length > 1) continue;
    found[place] = only;
    left.delete(only);
  }
  const last = open();
  if (last.length === left.size) {
    const inOrder = [...left];
    for (const [index, place] of last.entries()) found[place] = inOrder[index];
  }
  return found;
}

const leafOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
