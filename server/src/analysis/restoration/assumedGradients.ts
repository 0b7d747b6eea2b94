/**
 * Tells networks of which the file does not say whether they are trained: those that a program runs under `torch.no_grad`, and
 * copies that follow another network.
 *
 * ONNX knows neither gradients nor `requires_grad`. The torch.export-based exporter takes the operators of a region of
 * `no_grad` out of the modules that call them, so that their weights are read where no module is named (PyTorch 2.13). The
 * TorchScript exporter leaves nothing but names.
 */

import { placeholdersOfProgram, readByCall } from '../../formats/onnx/recordedCalls.ts';
import type { OnnxGraph, OnnxModel } from '../../formats/onnx/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import { scopeListOf } from '../moduleScope.ts';
import { nodesWithoutGradients } from '../regionsWithoutGradients.ts';
import { holdsGraph } from '../subgraphs.ts';

/** `undefined` where nothing of the kind shows. */
export function assumedGradients({ graph, producerName }: OnnxModel): Issue | undefined {
  if (producerName !== 'pytorch') return undefined;
  const uncalled = modulesReadUncalled(graph);
  const copies = copiesByName(graph);
  const helpers = uncalled.size + copies.size === 0 ? helpersByName(graph) : new Set<string>();
  const [first] = [...uncalled, ...copies, ...helpers];
  if (first === undefined) return undefined;
  const why =
    uncalled.size > 0
      ? `Weights of \`${first}\` are read without its being called, as where a program runs it under \`torch.no_grad\``
      : copies.size > 0
        ? `\`${first}\` has the weights of another module and a name of copies that are not trained`
        : `\`${first}\` has a name of networks that losses and students read, and that are mostly not trained`;
  return {
    code: 'graph/assumed-gradients',
    severity: 'warning',
    message: `${why}. The file does not say so, and it is costed as trained; if it is not, freeze \`${first}.*\`, or cost the archive of torch.export`,
  };
}

/** Outermost modules of which weights are read, while neither they nor a module below them is named at any operator. */
function modulesReadUncalled(graph: OnnxGraph): ReadonlySet<string> {
  const placeholders = placeholdersOfProgram(graph);
  if (placeholders === undefined) return new Set();
  const called = new Set(graph.nodes.flatMap((node) => scopeListOf(node)?.names ?? []));
  const found = new Set<string>();
  const without = nodesWithoutGradients(graph.nodes, graph);
  for (const node of graph.nodes) {
    // The body of a loop reads weights where its modules are not named.
    if (without.has(node) || holdsGraph(node.attributes)) continue;
    for (const name of readByCall(node, placeholders) ?? []) {
      // A list of parameters (`nn.ParameterList`) has numbers for names, and nothing calls it.
      if (/\.\d+$/.test(name)) continue;
      const parts = name.split('.').slice(0, -1);
      const [outermost] = parts;
      // `nn.MultiheadAttention` reads the weights of its `out_proj` without calling it.
      if (outermost === undefined || outermost === 'out_proj' || called.has(outermost)) continue;
      const isCalled = parts.some((_, index) => called.has(parts.slice(0, index + 1).join('.')));
      if (!isCalled) found.add(outermost);
    }
  }
  return found;
}

/** Modules with the weights of another one beside them, whose name says that they follow it. */
function copiesByName(graph: OnnxGraph): ReadonlySet<string> {
  const weights = new Map<string, string[]>();
  for (const { name, dimensions } of graph.initializers) {
    const parts = name.split('.');
    for (let depth = 1; depth < parts.length; depth += 1) {
      const module = parts.slice(0, depth).join('.');
      const own = `${parts.slice(depth).join('.')}:${dimensions.join('x')}`;
      weights.set(module, [...(weights.get(module) ?? []), own]);
    }
  }
  const found = new Set<string>();
  for (const [module, own] of weights) {
    const parts = module.split('.');
    // One layer of this name is a projection of attention.
    if (!followerName.test(parts.at(-1) ?? '') || !own.some((name) => name.includes('.'))) continue;
    const around = parts.slice(0, -1).join('.');
    const rivals = [...weights].filter(
      ([other, theirs]) =>
        other !== module &&
        other.split('.').slice(0, -1).join('.') === around &&
        theirs.length === own.length &&
        theirs.toSorted().join() === own.toSorted().join(),
    );
    if (rivals.length === 1) found.add(module);
  }
  return found;
}

/** `teacher`, `target_encoder`, `ema_model`, `momentum_encoder`, `encoder_k`, `key_encoder`. */
const followerName = /(^|_)(teacher|target|ema|momentum|key|k)(_|$)/;

/** Outermost modules beside others whose name says that another network is trained by what they say. */
function helpersByName(graph: OnnxGraph): ReadonlySet<string> {
  const placeholders = placeholdersOfProgram(graph);
  const names = placeholders?.values() ?? graph.initializers.map(({ name }) => name);
  const paths = [...names].map((name) => name.split('.')).filter(({ length }) => length > 2);
  const modules = new Set(paths.flatMap(([outermost = '']) => outermost));
  const without = nodesWithoutGradients(graph.nodes, graph);
  const isRead = (module: string): boolean =>
    placeholders === undefined ||
    graph.nodes.some(
      (node) =>
        !without.has(node) &&
        readByCall(node, placeholders)?.some((name) => name.startsWith(`${module}.`)) === true,
    );
  if (modules.size < 2) return new Set();
  return new Set([...modules].filter((module) => helperName.test(module) && isRead(module)));
}

/** `teacher`, `frozen_encoder`, `vgg16`, `lpips`, `perceptual_loss`. */
const helperName = /(^|_)(teacher|frozen|lpips|perceptual|vgg\d*)(_|$)/;
