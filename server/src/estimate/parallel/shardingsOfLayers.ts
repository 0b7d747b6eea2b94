/** What one GPU of a copy has of the tensors that a layer reads, holds and gives. */

import type { ModelAnalysis, TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { itemAt } from '../../model/at.ts';
import type { Graph } from '../../model/graph.ts';
import type { LayerSharding, TensorSharding } from '../../model/stepCost.ts';
import type { BoundTensor } from '../../operators/definition.ts';
import type { ShardedTraining } from '../../parallel/shardedTraining.ts';

/** Layers of which a tensor is divided; of the others each GPU has the whole. */
export function shardingsOfLayers(
  { analysis, tensors }: TrainingGraph,
  { training: worker }: Pick<ShardedTraining, 'training'>,
): readonly LayerSharding[] {
  const { graph } = analysis;
  const parameters = new Set([...analysis.parameters, ...analysis.frozen].map(({ name }) => name));
  const shardingOf = (name: string): readonly TensorSharding[] => {
    const [whole, own] = [tensors.get(name), worker.tensors.get(name)];
    return whole === undefined || own === undefined || whole.dimensions.length === 0
      ? []
      : [{ name, dimensions: whole.dimensions, ways: waysOf(whole, own) }];
  };
  return analysis.layers.flatMap(({ name, operators }) => {
    const { read, held, given } = tensorsOf(graph, operators, parameters);
    const sharding = {
      layer: name,
      reads: read.flatMap(shardingOf),
      holds: held.flatMap(shardingOf),
      gives: given.flatMap(shardingOf),
    };
    const isDivided = [...sharding.reads, ...sharding.holds, ...sharding.gives].some(({ ways }) =>
      ways.some((way) => way > 1),
    );
    return isDivided ? [sharding] : [];
  });
}

/** Over how many GPUs each dimension is divided. */
const waysOf = (whole: BoundTensor, own: BoundTensor): readonly number[] =>
  whole.dimensions.map((size, axis) => {
    const part = itemAt(own.dimensions, axis);
    return part === 0 || size % part !== 0 ? 1 : size / part;
  });

/** Activations from other layers, weights, and activations for other layers, each once. */
function tensorsOf(
  graph: Graph,
  operators: ModelAnalysis['layers'][number]['operators'],
  parameters: ReadonlySet<string>,
): Record<'read' | 'held' | 'given', readonly string[]> {
  const own = new Set(operators);
  const [read, held, given] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const index of operators) {
    const operator = graph.operators[index];
    for (const name of operator?.inputs ?? []) {
      const value = graph.values.get(name);
      if (parameters.has(name)) held.add(name);
      else if (value?.role === 'activation' && (value.producer === undefined || !own.has(value.producer)))
        read.add(name);
    }
    for (const name of operator?.outputs ?? []) {
      const consumers = graph.values.get(name)?.consumers ?? [];
      if (graph.outputs.includes(name) || consumers.some((each) => !own.has(each))) given.add(name);
    }
  }
  return { read: [...read], held: [...held], given: [...given] };
}
