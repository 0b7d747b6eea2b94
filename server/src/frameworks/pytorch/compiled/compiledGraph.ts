/** A training graph with what compiling asks of it, answered by the types and memory of eager mode. */

import type { TrainingGraph } from '../../../analysis/modelAnalysis.ts';
import type { KernelWork } from '../../../hardware/kernelWork.ts';
import { entryAt, itemAt } from '../../../model/at.ts';
import { bytesOnGpu } from '../../../model/elementType.ts';
import { isWeight, type Operator } from '../../../model/graph.ts';
import { bytes } from '../../../model/units.ts';
import { isMatmulClass, type KnownCost } from '../../../operators/definition.ts';
import { hasTrait, inPyTorch } from '../../../operators/operatorFacts.ts';
import type { KeptTensor, LoweredOperator } from '../../behaviour.ts';
import type { FusedGroup } from '../fusedGroups.ts';

/** What eager mode makes of the same graph, which compiling starts from. */
export interface EagerLowering {
  readonly operators: readonly (LoweredOperator | undefined)[];
  readonly groups: ReadonlyMap<number, FusedGroup>;
  /** The value whose memory each value shares. */
  readonly storage: (name: string) => string;
}

/** How an operator takes part in fusion. */
export type Part =
  | 'nothing'
  | 'view'
  | 'extern'
  | 'pointwise'
  | 'rows'
  | 'batch normalization'
  | 'window'
  | 'embedding'
  | 'folded bias';

/** Whether it becomes part of a generated kernel; the others are calls of libraries and kernels of their own. */
export const isFusible = (part: Part): boolean => fusibleParts.has(part);

const fusibleParts: ReadonlySet<Part> = new Set([
  'nothing',
  'view',
  'pointwise',
  'rows',
  'batch normalization',
]);

export class CompiledGraph {
  readonly training: TrainingGraph;
  readonly eager: EagerLowering;
  readonly channelsLast: boolean;
  private readonly compilesLoss: boolean;
  private readonly sizes = new Map<string, number>();
  /** By part that a split gives: what the views of it share memory with, which is the part. */
  private readonly parts = new Map<string, string>();

  constructor(training: TrainingGraph, eager: EagerLowering, channelsLast: boolean, compilesLoss: boolean) {
    this.training = training;
    this.eager = eager;
    this.channelsLast = channelsLast;
    this.compilesLoss = compilesLoss;
    for (const operator of training.analysis.graph.operators) {
      const [input = '', output = ''] = [operator.inputs[0], operator.outputs[0]];
      if (inPyTorch(operator)?.view === 'split')
        for (const name of operator.outputs) this.parts.set(name, name);
      else if (eager.operators[operator.index]?.view === true && this.sameElements(input, output)) {
        const part = this.parts.get(input);
        if (part !== undefined) this.parts.set(output, part);
      }
    }
  }

  /** Bytes of a value, of the gradient of one (`d:` before its name) or of what is no value of the graph (`#BYTES` behind it). */
  readonly bytesOf = (value: string): number => {
    const known = this.sizes.get(value);
    if (known !== undefined) return known;
    const size = this.sizeOf(value);
    this.sizes.set(value, size);
    return size;
  };

  private sizeOf(value: string): number {
    const own = /#(\d+)$/.exec(value);
    if (own !== null) return Number(own[1]);
    const name = value.startsWith('d:') ? (value.slice(2).split('|')[0] ?? '') : value;
    const tensor = this.training.tensors.get(name);
    if (tensor === undefined) return 0;
    if (tensor.elementType !== 'float32') {
      return tensor.elements * bytesOnGpu(tensor.elementType);
    }
    return tensor.elements * this.bytesPerElementOf(name);
  }

  private sameElements(left: string, right: string): boolean {
    return this.elementsOf(left) === this.elementsOf(right);
  }

  /** What a gradient of a value is added to: the part of a split, or the memory that it shows. */
  receiverOf(name: string): string {
    return this.parts.get(name) ?? this.eager.storage(name);
  }

  /** As it is stored: a cast is part of the kernel that computes what libraries alone read. */
  bytesPerElementOf(name: string): number {
    const { values, operators } = this.training.analysis.graph;
    const { producer = -1, consumers = [] } = values.get(name) ?? {};
    const computed = this.eager.operators[producer]?.bytesPerElement ?? 4;
    const operator = operators[producer];
    if (operator === undefined || !isFusible(this.partOf(operator))) return computed;
    const read = consumers.map((index) => this.readAs(index) ?? computed);
    return read.length === 0 ? computed : Math.min(computed, Math.max(...read));
  }

  /** Bytes per element in which a library reads its operands; `undefined` for what is generated. */
  readAs(index: number): number | undefined {
    if (this.partOf(itemAt(this.training.analysis.graph.operators, index)) !== 'extern') return undefined;
    return this.eager.operators[index]?.bytesPerElement;
  }

  elementsOf(name: string | undefined): number {
    return this.training.tensors.get(name ?? '')?.elements ?? 0;
  }

  costOf(index: number): KnownCost | undefined {
    const cost = this.training.costs[index];
    return cost?.kind === 'known' ? cost : undefined;
  }

  /** What an operator reads: of a call that was exported as several operators, what comes from outside. */
  readsOf(operator: Operator): readonly string[] {
    const group = this.eager.groups.get(operator.index);
    const names = group === undefined ? operator.inputs : group.inputs;
    const { values } = this.training.analysis.graph;
    return names
      .filter((name) => name !== '' && values.get(name)?.role !== 'constant')
      .map(this.eager.storage);
  }

  writesOf(operator: Operator): readonly string[] {
    return operator.outputs.filter((name) => name !== '');
  }

  isWeight(name: string): boolean {
    return isWeight(this.training.analysis.graph.values.get(name)?.role);
  }

  partOf(operator: Operator): Part {
    const { index } = operator;
    const lowered = this.eager.operators[index];
    const cost = this.costOf(index);
    if (lowered === undefined || cost === undefined || lowered.inside === true) return 'nothing';
    if (lowered.view) return 'view';
    const group = this.eager.groups.get(index);
    if (group?.kind === 'attention') return 'extern';
    if (group !== undefined) return group.kind === 'normalization' ? 'rows' : 'pointwise';
    if (cost.class === 'shape') return 'nothing';
    if (isMatmulClass(cost.class) || this.isEagerLoss(operator)) return 'extern';
    // By running statistics it only scales and shifts.
    if (cost.class === 'normalization' && hasTrait(operator, 'batch-statistics')) {
      return 'batch normalization';
    }
    if (operator.type === 'Add' && this.foldedMatmul(operator) !== undefined) return 'folded bias';
    if (cost.class === 'pooling') return this.isGlobal(operator) ? 'rows' : 'window';
    if (cost.class === 'normalization' || cost.class === 'reduction') return 'rows';
    return cost.class === 'embedding' ? 'embedding' : 'pointwise';
  }

  /** The matmul that a bias was folded into, as eager mode has it. */
  foldedMatmul(operator: Operator): string | undefined {
    const lowered = this.eager.operators[operator.index];
    if (lowered === undefined || lowered.forward.length > 0) return undefined;
    return operator.inputs.find((name) => !this.isWeight(name));
  }

  /** A loss of scores that runs behind what is compiled. */
  isEagerLoss(operator: Operator | undefined): boolean {
    return !this.compilesLoss && operator !== undefined && hasTrait(operator, 'loss-of-scores');
  }

  rowClassOf({ index }: Operator): 'normalization' | 'reduction' {
    if (this.eager.groups.get(index)?.kind === 'normalization') return 'normalization';
    return this.costOf(index)?.class === 'reduction' ? 'reduction' : 'normalization';
  }

  /** Elements of a row that is reduced. */
  rowOf(operator: Operator): number {
    const cost = this.costOf(operator.index);
    const known = cost?.forward.rowLength ?? this.eager.operators[operator.index]?.forward.at(-1)?.rowLength;
    if (known !== undefined) return known;
    const [input] = operator.inputs;
    const [output] = operator.outputs;
    // Scores of a sample are along the second axis.
    if (hasTrait(operator, 'loss-of-scores'))
      return itemAt(entryAt(this.training.tensors, input ?? '').dimensions, 1);
    return Math.max(1, this.elementsOf(input) / Math.max(1, this.elementsOf(output)));
  }

  private isGlobal(operator: Operator): boolean {
    const { dimensions } = entryAt(this.training.tensors, operator.outputs[0] ?? '');
    return dimensions.slice(2).every((size) => size === 1);
  }

  kernelsOf(index: number, pass: 'forward' | 'backwardData' | 'backwardWeight'): readonly KernelWork[] {
    const kernels = this.eager.operators[index]?.[pass] ?? [];
    if (this.isEagerLoss(this.training.analysis.graph.operators[index])) return kernels;
    return kernels.flatMap((kernel): readonly KernelWork[] => {
      if (kernel.dequantizes === true) return [compiledDequantization(kernel)];
      return isMatmulClass(kernel.class) || kernel.castsOperand === true ? [kernel] : [];
    });
  }

  /** Casts of the weights of an operator: kernels that eager mode launches too, in forward and for the gradient. */
  weightCasts(index: number): readonly KernelWork[] {
    return this.eager.operators[index]?.weightCasts ?? [];
  }
}

/** A part of a gradient that is put together of several: stored in its place. */
export const piece = 'piece of ';

/** Inductor writes a kernel of its own for weights in few bits: torchao's are compiled with the model (torchao 0.10, dtypes/nf4tensor.py). */
const compiledDequantization = ({ dequantizes: _, ...kernel }: KernelWork): KernelWork => kernel;

/** A tensor that is none of the graph's, by its size. */
export const extra = (name: string, size: number): string => `${name}#${Math.round(size)}`;

export const keptTensor = (key: string, size: number, weightCopy = false): KeptTensor => ({
  key,
  bytes: bytes(size),
  weightCopy,
});
