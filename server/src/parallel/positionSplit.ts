/** The split of a graph along the positions of its sequences, while it is followed from operator to operator. */

import { isWeight, type Operator } from '../model/graph.ts';
import type { BoundFactor, DividedGraph } from './boundMap.ts';
import type { AxisDivision, DividedFactor, Split } from './division.ts';
import { agreesWith, blocksOf, matchOf, type Operand } from './matchFactor.ts';

/** Written in place. */
export class PositionSplit {
  readonly values = new Map<string, Split>();
  readonly operators = new Map<number, DividedFactor>();

  /** `tensor`: what is divided over another axis already. */
  constructor(
    private readonly divided: DividedGraph,
    private readonly ways: number,
    private readonly tensor: AxisDivision,
  ) {}

  /** Workers that divide a factor: those of another axis may divide what is left of the same one. */
  waysOf = (index: number, factor: BoundFactor): number => {
    const own = this.tensor.division.operators.get(index)?.factor;
    return own !== undefined && JSON.stringify(own.inputs) === JSON.stringify(factor.inputs)
      ? this.ways * this.tensor.ways
      : this.ways;
  };

  /** Whether an operator is left as the file says: its numbers are those of shapes, or of a layout of weights. */
  isAsFile(index: number): boolean {
    const { shapeArithmetic, storedLayout } = this.divided.training.analysis.costing.auxiliary;
    return shapeArithmetic[index] === true || storedLayout[index] === true;
  }

  /** The factor that positions of a tensor divide, where it agrees with what is split already. */
  matchOf(operator: Operator, operand: Operand, place: Split): DividedFactor | undefined {
    const { index } = operator;
    const factors = this.divided.factorsOf(index).filter((factor) => this.isDivisible(operator, factor));
    const match = matchOf(factors, operand, place, this.ways);
    if (match === undefined) return undefined;
    const { factor, within } = match;
    if (factor.size % (within * this.waysOf(index, factor)) !== 0) return undefined;
    return agreesWith(this.values, operator, match) ? match : undefined;
  }

  divide(operator: Operator, match: DividedFactor): void {
    this.operators.set(operator.index, match);
    for (const [name, block] of blocksOf(operator, 'outputs', match)) this.values.set(name, block);
    // What was computed of no token, such as positions or a mask, is computed for the worker's own positions.
    for (const [name, block] of blocksOf(operator, 'inputs', match))
      if (!this.values.has(name)) this.divideProducer(name, block);
  }

  private divideProducer(name: string, place: Split): void {
    const { graph } = this.divided.training.analysis;
    const operator = graph.operators[graph.values.get(name)?.producer ?? -1];
    if (operator === undefined || this.operators.has(operator.index) || this.isAsFile(operator.index)) return;
    const operand = { side: 'outputs', tensor: operator.outputs.indexOf(name) } as const;
    const match = this.matchOf(operator, operand, place);
    if (match !== undefined && match.factor.outputs.length > 0) this.divide(operator, match);
  }

  private isDivisible({ inputs }: Operator, factor: BoundFactor): boolean {
    if (factor.coupled !== undefined || factor.classes === true) return false;
    if (factor.outputs.length > 0) return true;
    // A sum over positions adds up over workers, with no part of a weight on each.
    return (
      factor.partial !== undefined &&
      factor.inputs.every(({ tensor }) => !this.isWeight(inputs[tensor] ?? ''))
    );
  }

  private isWeight(name: string): boolean {
    const { graph, costing } = this.divided.training.analysis;
    return isWeight(graph.values.get(name)?.role) || costing.gradients.isStored(name);
  }
}
