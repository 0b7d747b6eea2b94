/**
 * What is said where constant folding has computed tensors from parameters: a position embedding cut to the length of the
 * example, a bias table spread by its index, a kernel that weight normalization makes of a direction and a length (Salimans and
 * Kingma, arXiv 1602.07868). How many elements the parameters have is then not in the file.
 */

import type { Graph } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { isAnonymousTensor, isArithmeticName, isLookUpName, isProductName } from '../model/tensorNames.ts';
import type { Parameter } from './modelAnalysis.ts';

export function issuesOfComputedWeights(graph: Graph, parameters: readonly Parameter[]): readonly Issue[] {
  const computed = parameters.flatMap(({ name }): readonly Computed[] => {
    const { foldedFrom = [], parameter, parameters: joined } = graph.values.get(name)?.literal?.origin ?? {};
    const source = parameter ?? joined?.[0] ?? foldedFrom.find((candidate) => candidate.includes('.'));
    const isComputed =
      joined !== undefined ||
      [...foldedFrom, name].some((each) => isLookUpName(each) || isArithmeticName(each));
    return source !== undefined && isComputed ? [{ name, source }] : [];
  });
  const kernels = computedKernels(graph, new Set(parameters.map(({ name }) => name)));
  const all = [...computed, ...kernels];
  const [first] = all;
  if (first === undefined) return issuesOfFoldedProducts(graph);
  const others = all.length === 1 ? '' : `, and ${all.length - 1} more like it`;
  const option = kernels.includes(first) ? 'do_constant_folding=False' : 'optimize=False';
  const message = `Constant folding replaced \`${first.source}\` by what was computed from it${others}: parameters are counted as the file stores them, and the time of computing it in each step is left out. Export with \`${option}\` to have both`;
  return [{ code: 'graph/computed-weights', severity: 'information', message, value: first.name }];
}

/** Products of stored tensors that are not trained are work of each step too: the first pass of a fixed point that starts at zero. */
function issuesOfFoldedProducts({ values }: Graph): readonly Issue[] {
  const [first] = [...values.values()].filter(
    ({ name, literal, consumers }) => literal !== undefined && consumers.length > 0 && isProductName(name),
  );
  if (first === undefined) return [];
  const message = `Constant folding computed the product \`${first.name}\` beforehand: the time of computing it in each step is left out. Export with \`optimize=False\` to have it`;
  return [{ code: 'graph/computed-weights', severity: 'information', message, value: first.name }];
}

interface Computed {
  readonly name: string;
  readonly source: string;
}

/**
 * Kernels that the TorchScript exporter folded: it names them itself, and their bias as the program does. Where it folded a
 * normalization into a convolution, it has named both.
 */
function computedKernels({ operators, values }: Graph, parameters: ReadonlySet<string>): readonly Computed[] {
  return operators.flatMap(({ type, inputs }) => {
    if (type !== 'Conv' && type !== 'ConvTranspose') return [];
    const [, name = '', bias = ''] = inputs;
    if (!parameters.has(name) || values.get(name)?.literal === undefined) return [];
    const isFolded = isAnonymousTensor(name) && parameters.has(bias) && /\.bias$/.test(bias);
    return isFolded ? [{ name, source: bias.replace(/bias$/, 'weight') }] : [];
  });
}
