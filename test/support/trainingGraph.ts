/** Training graphs by hand: a chain of layers with given costs, for tests below analysis. */

import type { ModelAnalysis, Parameter, TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { planCosting } from '../../server/src/analysis/planCosting.ts';
import type { Graph, Layer, Operator, Value } from '../../server/src/model/graph.ts';
import {
  type BoundTensor,
  type KernelClass,
  noWork,
  type OperatorCost,
  type SavedTensor,
  type Work,
} from '../../server/src/operators/definition.ts';

export interface ChainLayer {
  readonly name?: string;
  /** Operator type. */
  readonly type?: string;
  readonly class?: KernelClass;
  readonly flops?: number;
  /** Elements of the layer's weight; 0 for none. */
  readonly parameters?: number;
  /** Elements of its output per sample. */
  readonly output?: number;
  readonly saved?: readonly SavedTensor[];
  /** Makes the cost unknown, for this reason. */
  readonly unknown?: string;
  readonly kernels?: number;
}

/** x → layer 0 → layer 1 → …; backward costs the same again for data and for weights. */
export function chain(layers: readonly ChainLayer[], batch = 1): TrainingGraph {
  const values = new Map<string, Value>();
  const tensors = new Map<string, BoundTensor>();
  const requiresGradient = new Set<string>();
  const operators: Operator[] = [];
  const costs: OperatorCost[] = [];
  const parameters: Parameter[] = [];
  const modelLayers: Layer[] = [];

  const define = (
    name: string,
    role: Value['role'],
    dimensions: readonly number[],
    producer: number | undefined,
    consumers: readonly number[],
  ): void => {
    const elements = dimensions.reduce((product, size) => product * size, 1);
    values.set(name, {
      name,
      role,
      type: { kind: 'tensor', elementType: 'float32', shape: dimensions },
      consumers,
      ...(producer === undefined ? {} : { producer }),
    });
    tensors.set(name, { elementType: 'float32', dimensions, elements });
  };

  const last = layers.length - 1;
  define('x', 'input', [batch, layers[0]?.output ?? 1], undefined, [0]);
  let before = 'x';
  for (const [index, layer] of layers.entries()) {
    const name = layer.name ?? `layer${index}`;
    const output = `${name}.out`;
    const weight = layer.parameters ? `${name}.weight` : undefined;
    operators.push({
      index,
      source: index,
      name,
      type: layer.type ?? 'Gemm',
      domain: '',
      inputs: weight === undefined ? [before] : [before, weight],
      outputs: [output],
      attributes: new Map(),
      scope: [],
    });
    define(output, 'activation', [batch, layer.output ?? 1], index, index === last ? [] : [index + 1]);
    requiresGradient.add(output);
    if (weight !== undefined) {
      define(weight, 'parameter', [layer.parameters ?? 0], undefined, [index]);
      requiresGradient.add(weight);
      parameters.push({
        name: weight,
        elements: layer.parameters ?? 0,
        elementType: 'float32',
        operators: [index],
      });
    }
    const work: Work = {
      flops: layer.flops ?? 0,
      operations: 0,
      traffic: {
        float32Elements: batch * ((layer.output ?? 1) * 2) + (layer.parameters ?? 0),
        fixedBytes: 0,
      },
      kernels: layer.kernels ?? 1,
    };
    costs.push(
      layer.unknown === undefined
        ? {
            kind: 'known',
            class: layer.class ?? 'matmul',
            forward: work,
            backwardData: index === 0 ? noWork : work,
            backwardWeight: weight === undefined ? noWork : work,
            saved: layer.saved ?? [{ kind: 'input', index: 0 }],
          }
        : { kind: 'unknown', reason: layer.unknown },
    );
    modelLayers.push({ name, type: layer.type ?? 'Linear', ancestors: [], operators: [index] });
    before = output;
  }
  const graph: Graph = {
    name: 'chain',
    inputs: ['x'],
    outputs: [before],
    operators,
    values,
    operatorSets: new Map([['', 21]]),
  };
  const analysis: ModelAnalysis = {
    graph,
    composites: new Map(),
    layers: modelLayers,
    parameters,
    frozen: [],
    batchSymbol: 'batch',
    fixedBatch: undefined,
    symbols: [{ name: 'batch', default: undefined }],
    issues: [],
    costing: planCosting(graph),
  };
  return { analysis, batch, costs, tensors, requiresGradient };
}
