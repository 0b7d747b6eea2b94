/** Root mean square normalization of the last axes. */

import type { Graph } from '../model/graph.ts';
import { onlyWith, type Product, productOf, sumOf } from './algebra.ts';
import type { CompositePattern } from './composite.ts';
import { isNear, isStored, producerOf, resultsBelow, withCasts } from './flow.ts';
import { reducesLastAxes } from './meanOfLastAxes.ts';

/** X / √(mean(x²) + ε) · weight: Zhang & Sennrich, arXiv 1910.07467; PyTorch `aten::rms_norm`. */
export const rmsNorm: CompositePattern = {
  kind: 'rms-norm',
  name: 'RMSNorm',
  anchors: ['ReduceMean'],
  modules: ['RMSNorm'],
  // `RMSNorm(64)` is one operator; `fused=False` writes these, as models of transformers do.
  ofOneLine: 'several',
  match: (graph, mean) => {
    const square = productOf(graph, mean.inputs[0] ?? '');
    const input =
      square.powers.size === 1 && isNear(square.coefficient, 1) ? onlyWith(square.powers, 2) : undefined;
    if (input === undefined || !reducesLastAxes(graph, mean)) return undefined;
    const found = resultsBelow(graph, mean)
      .toReversed()
      .flatMap(
        (result) => normalized(graph, productOf(graph, result), input, mean.outputs[0] ?? '') ?? [],
      )[0];
    if (found === undefined) return undefined;
    return {
      operators: withCasts(graph, [mean.index, ...square.operators, ...found.operators]),
      roles: { input, ...(found.scale === undefined ? {} : { scale: found.scale }) },
      // The TorchScript-based exporter refuses `aten::rms_norm`, so that what it wrote out the model wrote out.
      launchedAs: 'several',
    };
  },
};

/** The operators of `x · (mean + ε)^-½ · weight`, where the product is one. */
export function normalized(
  graph: Graph,
  { coefficient, powers, operators }: Product,
  input: string,
  mean: string,
): { readonly operators: readonly number[]; readonly scale?: string } | undefined {
  const deviation = onlyWith(powers, -0.5);
  if (deviation === undefined || powers.get(input) !== 1 || !isNear(coefficient, 1)) return undefined;
  const variance = sumOf(graph, deviation);
  if (variance.weights.size !== 1 || !(variance.constant > 0)) return undefined;
  const [[term, weight] = ['', 0]] = variance.weights;
  const known = term === mean ? undefined : scaledMean(graph, term, mean);
  if (weight !== 1 || (term !== mean && known === undefined)) return undefined;
  const others = [...powers.keys()].filter((name) => name !== input && name !== deviation);
  const [scale] = others;
  if (others.length > 1 || (scale !== undefined && !(isStored(graph, scale) && powers.get(scale) === 1))) {
    return undefined;
  }
  return {
    operators: [...operators, ...variance.operators, ...(known ?? [])],
    ...(scale === undefined ? {} : { scale }),
  };
}

/** An unbiased variance is a mean times n / (n - 1). */
function scaledMean(graph: Graph, term: string, mean: string): readonly number[] | undefined {
  if (producerOf(graph, term) === undefined) return undefined;
  const { powers, operators } = productOf(graph, term);
  return powers.size === 1 && powers.get(mean) === 1 ? operators : undefined;
}
