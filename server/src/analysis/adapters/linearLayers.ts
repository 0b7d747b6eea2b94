/** Linear layers of a model as it was written: those that adapters stand beside, and that programs load in few bits. */

import { type Graph, isWeight, type Operator } from '../../model/graph.ts';
import { type LinearProduct, linearProduct } from '../linearProduct.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';
import { namesOf } from '../parameterNames.ts';

export interface LinearLayer {
  readonly product: LinearProduct;
  readonly operator: Operator;
  /** Its last operator, and what that gives: the product, or the sum with its bias. */
  readonly last: Operator;
  readonly result: string;
  readonly names: readonly string[];
  /** What it gives passes no weight on its way out: it gives the model's scores. */
  readonly isHead: boolean;
}

export function linearLayers({ graph, composites, costing }: ModelAnalysis): readonly LinearLayer[] {
  const leading = valuesBeforeWeights(graph, costing.auxiliary.storedLayout);
  return graph.operators.flatMap((operator): readonly LinearLayer[] => {
    const product = linearProduct(graph, operator);
    if (product === undefined || isWeight(graph.values.get(product.input)?.role)) return [];
    // A transposed operand is no batch of rows.
    const transA = operator.attributes.get('transA');
    if (transA?.kind === 'int' && transA.value === 1) return [];
    const bias = biasBehind(graph, operator);
    const last = bias ?? operator;
    const [result = ''] = last.outputs;
    const composite = composites.get(last.index);
    const readers = graph.values.get(result)?.consumers ?? [];
    // Inside a recurrent cell it is no layer.
    if (composite !== undefined && readers.some((index) => composites.get(index) === composite)) return [];
    const names = namesOf({ name: product.weight, operators: [operator.index] }, { graph });
    return [{ product, operator, last, result, names, isHead: !leading.has(result) }];
  });
}

/** The sum of a product and a stored vector, where nothing else reads the product. */
function biasBehind(graph: Graph, { outputs: [output = ''] }: Operator): Operator | undefined {
  const { consumers = [] } = graph.values.get(output) ?? {};
  const [reader] = consumers.map((index) => graph.operators[index]);
  if (consumers.length !== 1 || reader?.type !== 'Add' || graph.outputs.includes(output)) return undefined;
  const other = graph.values.get(reader.inputs.find((name) => name !== output) ?? '');
  const isVector =
    other?.type.kind === 'tensor' && Array.isArray(other.type.shape) && other.type.shape.length === 1;
  return isVector && isWeight(other.role) ? reader : undefined;
}

/** Values that something is computed of together with a weight, itself or further on. */
function valuesBeforeWeights(graph: Graph, storedLayout: readonly boolean[]): ReadonlySet<string> {
  const leading = new Set<string>();
  for (const operator of graph.operators.toReversed()) {
    if (storedLayout[operator.index] === true) continue;
    const reads = operator.inputs.some((name) => isWeight(graph.values.get(name)?.role));
    if (!reads && !operator.outputs.some((name) => leading.has(name))) continue;
    for (const name of operator.inputs) leading.add(name);
  }
  return leading;
}
