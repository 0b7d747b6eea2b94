/** The steps of compiled forward, operator by operator. */

import type { KernelWork } from '../../../hardware/kernelWork.ts';
import { countElements } from '../../../model/countElements.ts';
import type { Operator } from '../../../model/graph.ts';
import { hasTrait } from '../../../operators/operatorFacts.ts';
import { elementwiseKernel } from '../elementwiseKernel.ts';
import { columnStages } from './columnStages.ts';
import { type CompiledGraph, extra, piece } from './compiledGraph.ts';
import { madeForBackward, offsetsOf } from './keptForBackward.ts';
import type { Step } from './step.ts';

export function forwardSteps(graph: CompiledGraph, copiesWeights: boolean): readonly Step[] {
  const steps: Step[] = [];
  for (const operator of graph.training.analysis.graph.operators) {
    addSteps(graph, operator, steps, copiesWeights);
  }
  return steps;
}

function addSteps(graph: CompiledGraph, operator: Operator, steps: Step[], copiesWeights: boolean): void {
  const { index } = operator;
  const cost = graph.costOf(index);
  const reads = graph.readsOf(operator);
  const writes = graph.writesOf(operator);
  const written = Math.max(0, ...writes.map((name) => graph.elementsOf(name)));
  const read = Math.max(0, ...reads.map((name) => graph.elementsOf(name)));
  const common = { operator: index, reads, writes, operations: cost?.forward.operations ?? 0 };
  switch (graph.partOf(operator)) {
    case 'nothing':
    case 'view':
      return;
    case 'folded bias': {
      // The matmul writes the sum.
      const matmul = graph.foldedMatmul(operator);
      steps.push({
        ...common,
        kind: 'extern',
        domain: 0,
        reads: matmul === undefined ? [] : [matmul],
        kernels: [],
      });
      return;
    }
    case 'extern': {
      const casts = graph.weightCasts(index);
      for (const cast of casts) steps.push(elementwise(index, cast));
      if (copiesWeights)
        for (const copy of layoutCopies(graph, operator, casts.length > 0))
          steps.push(elementwise(index, copy));
      steps.push({ ...common, kind: 'extern', domain: 0, kernels: graph.kernelsOf(index, 'forward') });
      return;
    }
    case 'batch normalization': {
      const [input = ''] = reads;
      const channels = graph.training.tensors.get(input)?.dimensions[1] ?? 1;
      const rows = read / channels;
      const statistics = ['mean', 'deviation'].map((name) => extra(`${index}/${name}`, 4 * channels));
      // Few rows: mean and variance in turn (torch/_inductor/lowering.py, `use_two_step_variance`), both over the input.
      const stages = columnStages(rows, channels, graph.channelsLast) * (rows < welfordFrom ? 2 : 1);
      steps.push(
        { ...common, kind: 'columns', domain: read, reads: [input], writes: statistics, stages },
        {
          ...common,
          kind: 'pointwise',
          domain: written,
          reads: [...reads.slice(0, 3), ...statistics],
          writes,
        },
      );
      if (graph.training.requiresGradient.has(writes[0] ?? '')) steps.push(elementwise(index, counted));
      return;
    }
    case 'rows':
      steps.push({
        ...common,
        kind: 'rows',
        writes: [...writes, ...madeForBackward(graph, operator)],
        domain: Math.max(read, written),
        rowLength: graph.rowOf(operator),
        rowClass: graph.rowClassOf(operator),
      });
      return;
    case 'window':
      steps.push({
        ...common,
        kind: 'window',
        writes: operator.type.includes('MaxPool') ? [...writes, offsetsOf(graph, operator)] : writes,
        domain: written,
      });
      return;
    case 'embedding':
      steps.push({
        ...common,
        kind: 'pointwise',
        domain: written,
        reads: lookedUp(graph, operator, written),
      });
      return;
    case 'pointwise':
      if (hasTrait(operator, 'joins')) {
        addPieces(graph, operator, steps);
        return;
      }
      steps.push({
        ...common,
        kind: 'pointwise',
        writes: [...writes, ...madeForBackward(graph, operator)],
        domain: written,
      });
  }
}

/** Of a table the rows that are looked up, whoever reads them. */
function lookedUp(graph: CompiledGraph, operator: Operator, elements: number): readonly string[] {
  const [table = ''] = operator.inputs;
  const stored = graph.eager.storage(table);
  const size = graph.bytesOf(stored);
  const rows = Math.min(size, (elements * size) / Math.max(1, graph.elementsOf(stored)));
  return graph.readsOf(operator).map((name) => (name === stored ? extra(`rows of ${name}`, rows) : name));
}

/**
 * Each input of a concatenation is written into its place by a kernel of its own, together with what computes it
 * (torch/_inductor/ir.py, `ConcatKernel`).
 */
function addPieces(graph: CompiledGraph, operator: Operator, steps: Step[]): void {
  const [whole = ''] = operator.outputs;
  const reads = graph.readsOf(operator);
  for (const [position, input] of reads.entries()) {
    steps.push({
      operator: operator.index,
      kind: 'pointwise',
      domain: graph.elementsOf(input),
      reads: [input],
      writes: [position === reads.length - 1 ? whole : extra(`${piece}${whole} ${position}`, 0)],
      operations: 0,
    });
  }
}

/** Where Inductor takes Welford's algorithm in one pass. */
const welfordFrom = 1024;

/** A kernel that nothing is fused with, because libraries or parameters stand on both sides of it. */
const elementwise = (operator: number, kernel: KernelWork): Step => ({
  operator,
  kind: 'pointwise',
  domain: 0,
  reads: [],
  writes: [],
  operations: 0,
  kernels: [kernel],
});

/** `num_batches_tracked` of batch normalization goes up by one. */
const counted = elementwiseKernel(16, 1);

/** Filters larger than 1 × 1 and input images change their layout in each step; what is cast changes it in the same kernel. */
function layoutCopies(graph: CompiledGraph, operator: Operator, isCast: boolean): readonly KernelWork[] {
  const { values, inputs } = graph.training.analysis.graph;
  const copies: KernelWork[] = [];
  for (const name of operator.inputs) {
    const tensor = graph.training.tensors.get(name);
    if (tensor === undefined || tensor.dimensions.length < 4) continue;
    const kernelElements = countElements(tensor.dimensions.slice(2));
    const isFilter = graph.isWeight(name) && kernelElements > 1 && (tensor.dimensions[1] ?? 1) > 1;
    const isImage = inputs.includes(name) && values.get(name)?.consumers[0] === operator.index;
    if ((!isFilter || isCast) && !isImage) continue;
    copies.push(elementwiseKernel(2 * graph.bytesOf(name)));
  }
  return copies;
}
