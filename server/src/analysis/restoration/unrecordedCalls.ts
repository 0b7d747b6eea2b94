/**
 * What the TorchScript exporter leaves unsaid of a training program: it writes neither `detach`, `clone` nor `torch.no_grad`, and merges
 * equal calls before it converts any (torch/onnx/utils.py, `_optimize_graph`, `_jit_pass_cse`). It matters where a file has a loss, or runs
 * one layer several times.
 */

import type { OnnxGraph, OnnxModel } from '../../formats/onnx/syntax.ts';
import type { Issue } from '../../model/issue.ts';

/** `undefined` where calls are recorded, and for plain networks. */
export function unrecordedCalls({ graph, producerName }: OnnxModel): Issue | undefined {
  if (producerName !== 'pytorch') return undefined;
  if (graph.nodes.some(({ metadata }) => metadata.has('pkg.torch.onnx.name_scopes'))) return undefined;
  const hasLoss = graph.outputs.some(({ type }) => type?.kind === 'tensor' && type.shape?.length === 0);
  const again = layerRunAgain(graph);
  if (!hasLoss && again === undefined) return undefined;
  const twins = hasLoss ? networksAlike(graph) : undefined;
  const where = again === undefined ? 'The file has a loss' : `The file runs \`${again}\` several times`;
  const copy =
    twins === undefined
      ? ''
      : `. \`${twins.first}\` and \`${twins.second}\` have the same layers; if one is a copy that is not trained, freeze \`${twins.second}.*\` or \`${twins.first}.*\``;
  return {
    code: 'graph/unrecorded-calls',
    severity: 'information',
    message: `${where}, and the TorchScript exporter records neither \`detach\`, \`clone\` nor \`no_grad\`. Backward is costed through everything, and equal calls, which it merges, are costed once${copy}. To have them as written, cost the archive of torch.export`,
  };
}

/** A matrix that several operators of one type multiply with; `undefined` where each has its own. */
function layerRunAgain({ nodes, initializers }: OnnxGraph): string | undefined {
  const matrices = new Set(
    initializers.filter(({ dimensions }) => dimensions.length > 1).map(({ name }) => name),
  );
  const readers = new Map<string, string>();
  for (const { type, inputs } of nodes) {
    const name = products.has(type) ? inputs.find((input) => matrices.has(input)) : undefined;
    if (name === undefined) continue;
    if (readers.get(name) === type) return name;
    readers.set(name, type);
  }
  return undefined;
}

const products: ReadonlySet<string> = new Set([
  'Conv',
  'ConvTranspose',
  'Gemm',
  'MatMul',
  'LSTM',
  'GRU',
  'RNN',
]);

interface Alike {
  readonly first: string;
  readonly second: string;
}

/** Two outermost modules of several layers with the same weights, of which neither reads what the other makes. */
function networksAlike({ nodes, initializers }: OnnxGraph): Alike | undefined {
  const weights = new Map<string, string[]>();
  const moduleOf = new Map<string, string>();
  for (const { name, dimensions } of initializers) {
    const dot = name.indexOf('.');
    if (dot <= 0) continue;
    const module = name.slice(0, dot);
    moduleOf.set(name, module);
    weights.set(module, [...(weights.get(module) ?? []), `${name.slice(dot)}:${dimensions.join('x')}`]);
  }
  const bySignature = new Map<string, string[]>();
  for (const [module, own] of weights) {
    const matrices = own.filter((each) => each.includes('x'));
    if (matrices.length < 2) continue;
    const signature = own.toSorted().join();
    bySignature.set(signature, [...(bySignature.get(signature) ?? []), module]);
  }
  for (const [first, second, ...others] of bySignature.values()) {
    if (first === undefined || second === undefined || others.length > 0) continue;
    if (areApart(nodes, moduleOf, first, second)) return { first, second };
  }
  return undefined;
}

/** Whether no operator with weights of one module reads, however far up, a result of the other. */
function areApart(
  nodes: OnnxGraph['nodes'],
  moduleOf: ReadonlyMap<string, string>,
  first: string,
  second: string,
): boolean {
  const behind = new Map<string, ReadonlySet<string>>();
  for (const { inputs, outputs } of nodes) {
    const own = new Set<string>();
    for (const input of inputs) {
      const module = moduleOf.get(input);
      if (module === first || module === second) own.add(module);
      for (const each of behind.get(input) ?? []) own.add(each);
    }
    const isLayer = inputs.some((input) => [first, second].includes(moduleOf.get(input) ?? ''));
    if (isLayer && own.size > 1) return false;
    for (const output of outputs) behind.set(output, own);
  }
  return true;
}
