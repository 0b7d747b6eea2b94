/**
 * Operators of the file that eager PyTorch runs as one kernel, because one call was exported as several.
 *
 * Two kinds: modules that are one ATen kernel (`GELU`, `SiLU`, `LayerNorm`), and attention, where
 * `scaled_dot_product_attention` calls FlashAttention or the memory-efficient kernel and never stores the scores
 * (PyTorch 2.x aten/src/ATen/native/transformers/cuda/sdp_utils.cpp). An export does not say whether they were
 * one call or written out; they are taken as one call, as current libraries write them, unless the framework
 * option `fused-calls=false` says otherwise.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Composite, CompositeKind } from '../../composites/composite.ts';
import type { Operator } from '../../model/graph.ts';

export interface FusedGroup {
  readonly kind: 'attention' | 'elementwise' | 'normalization';
  /** What it was found as. */
  readonly composite?: Composite;
  /** Indices of operators, ascending; the last one stands for the kernel. */
  readonly operators: readonly number[];
  /** Values computed outside, in order of first use. */
  readonly inputs: readonly string[];
  /** Values used outside. */
  readonly outputs: readonly string[];
}

/** Groups by the index of each of their operators; attention among them where `fusedAttention` says so. */
export function fusedGroups(
  training: TrainingGraph,
  fusedAttention: boolean,
): ReadonlyMap<number, FusedGroup> {
  const groups = new Map<number, FusedGroup>();
  const add = (kind: FusedGroup['kind'], operators: readonly number[], composite?: Composite): void => {
    if (operators.length < 2 || operators.some((index) => groups.has(index))) return;
    const made = makeGroup(training, kind, operators);
    const group = composite === undefined ? made : { ...made, composite };
    for (const index of operators) groups.set(index, group);
  };
  for (const composite of new Set(training.analysis.composites.values())) {
    const kind = kernelsOfComposites[composite.kind];
    if (kind === undefined || composite.launchedAs === 'several') continue;
    if (composite.operators.every((index) => training.costs[index]?.kind === 'known')) {
      add(kind, composite.operators, composite);
    }
  }
  for (const layer of training.analysis.layers) {
    if (fusedAttention && attentionModules.has(layer.type)) {
      for (const index of layer.operators) {
        if (training.analysis.graph.operators[index]?.type !== 'Softmax') continue;
        add('attention', attentionAround(training, index));
      }
    }
  }
  return groups;
}

/** Composites that are one kernel, by what the kernel is. Attention has its own switch. */
const kernelsOfComposites: Partial<Readonly<Record<CompositeKind, FusedGroup['kind']>>> = {
  gelu: 'elementwise',
  silu: 'elementwise',
  mish: 'elementwise',
  softplus: 'elementwise',
  'log-sigmoid': 'elementwise',
  hardswish: 'elementwise',
  glu: 'elementwise',
  'layer-norm': 'normalization',
  'group-norm': 'normalization',
  'rms-norm': 'normalization',
};

const attentionModules: ReadonlySet<string> = new Set(['ScaledDotProductAttention', 'MultiheadAttention']);

/** From a softmax up to the product that makes the scores and down to the product that uses them; empty where there is none. */
function attentionAround(training: TrainingGraph, softmax: number): readonly number[] {
  const { operators, values } = training.analysis.graph;
  const up = pathToProduct(training, operators[softmax]?.inputs[0], 8);
  if (up === undefined) return [];
  const down: number[] = [];
  let output = operators[softmax]?.outputs[0];
  for (let hops = 0; hops < 4 && output !== undefined; hops += 1) {
    const consumers = values.get(output)?.consumers ?? [];
    const next = consumers.length === 1 ? operators[consumers[0] ?? -1] : undefined;
    if (next === undefined) return [];
    down.push(next.index);
    if (next.type === 'MatMul') {
      const scores = operators[up[up.length - 1] ?? -1];
      return [...scalesOf(training, scores), ...up, softmax, ...down].sort((a, b) => a - b);
    }
    if (!between.has(next.type)) return [];
    output = next.outputs[0];
  }
  return [];
}

const between: ReadonlySet<string> = new Set([
  'Dropout',
  'Cast',
  'Identity',
  'Add',
  'Mul',
  'Div',
  'Sub',
  'Where',
]);

/** Operators from the producer of `name` up to a MatMul, nearest first. */
function pathToProduct(
  training: TrainingGraph,
  name: string | undefined,
  hops: number,
): readonly number[] | undefined {
  const { operators, values } = training.analysis.graph;
  const producer = operators[values.get(name ?? '')?.producer ?? -1];
  if (producer === undefined || hops === 0) return undefined;
  if (producer.type === 'MatMul') return [producer.index];
  if (!between.has(producer.type)) return undefined;
  for (const input of producer.inputs) {
    const rest = pathToProduct(training, input, hops - 1);
    if (rest !== undefined) return [producer.index, ...rest];
  }
  return undefined;
}

/** Exporters scale queries and keys before their product; the kernel scales on the way. */
function scalesOf(training: TrainingGraph, scores: Operator | undefined): readonly number[] {
  const { operators, values } = training.analysis.graph;
  return (scores?.inputs ?? []).flatMap((input) => {
    const producer = operators[values.get(input)?.producer ?? -1];
    if (producer?.type !== 'Mul' && producer?.type !== 'Div') return [];
    const byScalar = producer.inputs.some((operand) => training.tensors.get(operand)?.elements === 1);
    return byScalar && values.get(input)?.consumers.length === 1 ? [producer.index] : [];
  });
}

function makeGroup(
  training: TrainingGraph,
  kind: FusedGroup['kind'],
  indices: readonly number[],
): FusedGroup {
  const { graph } = training.analysis;
  const members = new Set(indices);
  const inputs = new Set<string>();
  const outputs: string[] = [];
  for (const index of indices) {
    const operator = graph.operators[index];
    for (const input of operator?.inputs ?? []) {
      const producer = graph.values.get(input)?.producer;
      if (input !== '' && (producer === undefined || !members.has(producer))) inputs.add(input);
    }
    for (const output of operator?.outputs ?? []) {
      const consumers = graph.values.get(output)?.consumers ?? [];
      if (graph.outputs.includes(output) || consumers.some((consumer) => !members.has(consumer))) {
        outputs.push(output);
      }
    }
  }
  return { kind, operators: indices, inputs: [...inputs], outputs };
}
