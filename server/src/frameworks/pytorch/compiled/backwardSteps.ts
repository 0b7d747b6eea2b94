/**
 * The steps of compiled backward, from the last operator to the first.
 *
 * Gradients are named `d:VALUE`; a second one that arrives at a value is added to the first by a step of its own, which
 * is fused like any other.
 */

import { distinct } from '../../../model/distinct.ts';
import type { Operator } from '../../../model/graph.ts';
import { hasTrait, inPyTorch } from '../../../operators/operatorFacts.ts';
import { elementwiseKernel } from '../elementwiseKernel.ts';
import { columnStages } from './columnStages.ts';
import { type CompiledGraph, extra, piece } from './compiledGraph.ts';
import type { KeptForBackward } from './keptForBackward.ts';
import type { Step } from './step.ts';

export function backwardSteps(graph: CompiledGraph, kept: KeptForBackward): readonly Step[] {
  const pass = new Backward(graph, kept);
  const { operators, outputs } = graph.training.analysis.graph;
  for (const name of outputs) pass.arrive(graph.receiverOf(name), undefined, -1);
  for (let index = operators.length - 1; index >= 0; index -= 1) {
    const operator = operators[index];
    if (operator !== undefined) pass.add(operator);
  }
  return pass.steps;
}

class Backward {
  readonly steps: Step[] = [];
  private readonly graph: CompiledGraph;
  private readonly kept: KeptForBackward;
  /** By value: the name its gradient goes by. */
  private readonly gradients = new Map<string, string>();
  private count = 0;

  constructor(graph: CompiledGraph, kept: KeptForBackward) {
    this.graph = graph;
    this.kept = kept;
  }

  /** A gradient comes to a value; without a name, from the caller. */
  arrive(name: string, gradient: string | undefined, operator: number): void {
    const { graph } = this;
    if (!graph.training.requiresGradient.has(name)) return;
    const arrived = gradient ?? `d:${name}`;
    const before = this.gradients.get(name);
    if (before === undefined) {
      this.gradients.set(name, arrived);
      return;
    }
    const sum = this.fresh(name);
    const domain = graph.elementsOf(name);
    this.steps.push({
      operator,
      kind: 'pointwise',
      domain,
      reads: [before, arrived],
      writes: [sum],
      operations: domain,
    });
    this.gradients.set(name, sum);
  }

  private fresh(name: string): string {
    this.count += 1;
    return `d:${name}|${this.count}`;
  }

  add(operator: Operator): void {
    const { graph } = this;
    const part = graph.partOf(operator);
    if (part === 'nothing') return;
    const [output = ''] = operator.outputs;
    if (part === 'view') {
      this.passOn(operator);
      return;
    }
    const gradients = operator.outputs.flatMap((name) => this.gradients.get(name) ?? []);
    if (gradients.length === 0) return;
    const { index } = operator;
    const cost = graph.costOf(index);
    const operations = (cost?.backwardData.operations ?? 0) + (cost?.backwardWeight.operations ?? 0);
    const written = graph.elementsOf(output);
    const inputs = distinct(this.receiversOf(operator)).filter(
      (name) => graph.training.requiresGradient.has(name) && !graph.isWeight(name),
    );
    const again = this.readAgain(operator, written);
    const reads = [...gradients, ...again];
    switch (part) {
      case 'folded bias': {
        const matmul = graph.foldedMatmul(operator);
        const reader = graph.training.analysis.graph.values.get(matmul ?? '')?.producer;
        const cast = gradients.map((each) => this.castFor(reader ?? index, each, written));
        if (matmul !== undefined) this.arrive(graph.receiverOf(matmul), cast[0], index);
        this.sumOverRows(operator, cast, written);
        return;
      }
      case 'extern': {
        const cast = gradients.map((gradient) => this.castFor(index, gradient, written));
        this.addExtern(operator, inputs, [...cast, ...again], cast);
        return;
      }
      case 'batch normalization':
        this.addBatchNormalization(operator, inputs, reads, operations);
        return;
      case 'rows': {
        const domain = Math.max(written, ...inputs.map((name) => graph.elementsOf(name)));
        // A mean or a sum hands its gradient to all that went into it.
        const isSpread = domain > written && !hasTrait(operator, 'loss-of-scores');
        this.give(operator, inputs, {
          kind: isSpread ? 'pointwise' : 'rows',
          domain,
          reads,
          operations,
          ...(isSpread ? {} : { rowLength: graph.rowOf(operator), rowClass: graph.rowClassOf(operator) }),
        });
        this.sumWeights(operator, reads, written);
        return;
      }
      case 'embedding':
      case 'window': {
        const isScatter = part === 'embedding' || operator.type.includes('MaxPool');
        const [input = ''] = part === 'embedding' ? operator.inputs : inputs;
        const domain = graph.elementsOf(part === 'embedding' ? output : input);
        const target = graph.bytesOf(input);
        // What is scattered into is filled with zeros first.
        const zeros = elementwiseKernel(target);
        if (isScatter) {
          const made = this.fresh(input);
          this.steps.push({
            operator: index,
            kind: 'columns',
            domain,
            reads,
            writes: [made],
            operations,
            kernels: [zeros],
            stages: 1,
          });
          if (part === 'window') this.arrive(input, made, index);
          return;
        }
        this.give(operator, inputs, { kind: 'pointwise', domain, reads, operations });
        return;
      }
      case 'pointwise': {
        const isSum = hasTrait(operator, 'passes-gradient');
        for (const name of inputs) {
          const elements = graph.elementsOf(name);
          const [gradient] = gradients;
          if (isSum && elements === written && gradient !== undefined) this.arrive(name, gradient, index);
          else if (elements >= written || hasTrait(operator, 'joins') || hasTrait(operator, 'looks-up')) {
            this.give(operator, [name], { kind: 'pointwise', domain: elements, reads, operations });
          } else {
            // Broadcast on the way in, summed on the way back.
            this.give(operator, [name], { kind: 'columns', domain: written, reads, operations, stages: 1 });
          }
        }
        if (graph.readsOf(operator).some((name) => graph.isWeight(name) && isTrained(graph, name))) {
          this.sumOverRows(operator, reads, written);
        }
      }
    }
  }

  /** A gradient in the type in which a library, the operator `reader`, reads it. */
  private castFor(reader: number, gradient: string, elements: number): string {
    const size = elements * (this.graph.readAs(reader) ?? 4);
    if (this.graph.bytesOf(gradient) <= size) return gradient;
    const cast = extra(`${gradient} for ${reader}`, size);
    this.steps.push({
      operator: reader,
      kind: 'pointwise',
      domain: elements,
      reads: [gradient],
      writes: [cast],
      operations: 0,
    });
    return cast;
  }

  /**
   * What backward reads of forward. A value that more than four tensors are read for is stored where several read it
   * (torch/_inductor/config.py, `realize_reads_threshold`): a batch normalization that is computed again.
   */
  private readAgain(operator: Operator, domain: number): readonly string[] {
    const reads = this.kept.readBy(operator);
    if (!this.kept.normalizesAgain(operator)) return reads;
    const again = this.fresh(operator.inputs[0] ?? '');
    this.steps.push({
      operator: operator.index,
      kind: 'window',
      domain,
      reads,
      writes: [again],
      operations: 4 * domain,
    });
    return [again];
  }

  private receiversOf(operator: Operator): readonly string[] {
    const { eager, training } = this.graph;
    const names = eager.groups.get(operator.index)?.inputs ?? operator.inputs;
    const { values } = training.analysis.graph;
    return names
      .filter((name) => name !== '' && values.get(name)?.role !== 'constant')
      .map((name) => this.graph.receiverOf(name));
  }

  /** Gradients of a view's outputs; where consumers name the memory that it shows, they have come there already. */
  private passOn(operator: Operator): void {
    const receiver = this.graph.receiverOf(operator.inputs[0] ?? '');
    const arrived = operator.outputs.flatMap((name) => {
      const gradient = name === receiver ? undefined : this.gradients.get(name);
      return gradient === undefined ? [] : [{ name, gradient }];
    });
    const [only] = arrived;
    if (only === undefined) return;
    if (inPyTorch(operator)?.view !== 'split') {
      this.arrive(receiver, only.gradient, operator.index);
      return;
    }
    // Each part is written into its place: by a kernel of its own, unless it is computed element by element.
    const whole = this.fresh(receiver);
    for (const [position, { name, gradient }] of arrived.entries()) {
      this.steps.push({
        operator: operator.index,
        kind: 'pointwise',
        domain: this.graph.elementsOf(name),
        reads: [gradient],
        writes: [position === arrived.length - 1 ? whole : extra(`${piece}${whole} ${position}`, 0)],
        operations: 0,
      });
    }
    this.arrive(receiver, whole, operator.index);
  }

  private give(operator: Operator, inputs: readonly string[], step: Omit<Step, 'operator' | 'writes'>): void {
    if (inputs.length === 0) return;
    const made = inputs.map((name) => this.fresh(name));
    this.steps.push({ ...step, operator: operator.index, writes: made });
    for (const [position, name] of inputs.entries()) this.arrive(name, made[position], operator.index);
  }

  private addExtern(
    operator: Operator,
    inputs: readonly string[],
    reads: readonly string[],
    gradients: readonly string[],
  ): void {
    const { graph } = this;
    const { index } = operator;
    const made = inputs.map((name) => this.fresh(name));
    const casts = graph.weightCasts(index);
    this.steps.push({
      operator: index,
      kind: 'extern',
      domain: 0,
      reads,
      writes: made,
      operations: 0,
      kernels: [...graph.kernelsOf(index, 'backwardData'), ...graph.kernelsOf(index, 'backwardWeight')],
    });
    for (const cast of casts) {
      this.steps.push({
        operator: index,
        kind: 'pointwise',
        domain: 0,
        reads: [],
        writes: [],
        operations: 0,
        kernels: [cast],
      });
    }
    for (const [position, name] of inputs.entries()) this.arrive(name, made[position], index);
    const hasBias = operator.inputs.some(
      (name) => isTrained(graph, name) && graph.training.tensors.get(name)?.dimensions.length === 1,
    );
    if (hasBias) this.sumOverRows(operator, gradients, graph.elementsOf(operator.outputs[0]));
  }

  private addBatchNormalization(
    operator: Operator,
    inputs: readonly string[],
    reads: readonly string[],
    operations: number,
  ): void {
    const { graph } = this;
    const [input = ''] = graph.readsOf(operator);
    const channels = graph.training.tensors.get(input)?.dimensions[1] ?? 1;
    const domain = graph.elementsOf(input);
    const made = extra(`${operator.index}/sums`, 8 * channels);
    const stages = columnStages(domain / channels, channels, graph.channelsLast);
    this.steps.push({
      operator: operator.index,
      kind: 'columns',
      domain,
      reads,
      writes: [made],
      operations,
      // The two sums part ways after their first kernel.
      stages: 2 * stages - 1,
    });
    this.give(operator, inputs, { kind: 'pointwise', domain, reads: [...reads, made], operations });
  }

  /** Gradients of the weights of a normalization. */
  private sumWeights(operator: Operator, reads: readonly string[], domain: number): void {
    const weights = this.graph.readsOf(operator).filter((name) => isTrained(this.graph, name));
    if (weights.length > 0) this.sumOverRows(operator, reads, domain, weights.length);
  }

  private sumOverRows(operator: Operator, reads: readonly string[], domain: number, sumsMade = 1): void {
    const { graph } = this;
    const weight = graph.readsOf(operator).find((name) => isTrained(graph, name) && isFlat(graph, name));
    const columns = graph.elementsOf(weight ?? operator.inputs.find((name) => isTrained(graph, name)));
    if (columns === 0 || domain === 0) return;
    const isImage = (graph.training.tensors.get(operator.outputs[0] ?? '')?.dimensions.length ?? 0) > 3;
    const apart = graph.channelsLast || !(isImage && graph.partOf(operator) === 'extern');
    const stages = columnStages(domain / columns, columns, apart);
    this.steps.push({
      operator: operator.index,
      kind: 'columns',
      domain,
      reads,
      writes: [extra(`${operator.index}/sum`, 4 * columns * sumsMade)],
      operations: domain,
      stages: 1 + sumsMade * (stages - 1),
    });
  }
}

const isTrained = (graph: CompiledGraph, name: string): boolean =>
  graph.training.analysis.graph.values.get(name)?.role === 'parameter';

const isFlat = (graph: CompiledGraph, name: string): boolean =>
  graph.training.tensors.get(name)?.dimensions.length === 1;
