/**
 * Casts that a model makes itself: from one floating-point type to another, so that in a graph exported in fp32 they are
 * from fp32 to fp32, and do nothing there.
 *
 * Under autocast they do. What is cast first in a module is widened, as `x.float()` before sums that need range; what is
 * computed from that and cast again in the same module goes back to the type that the first had, as `y.to(x.dtype)`. A weight
 * is wide already and cast to the type of what it meets (timm 1.0 layers/evo_norm.py does all three).
 */

import { layersByOperator } from '../../analysis/layersByOperator.ts';
import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Operator } from '../../model/graph.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';

export class CastsByHand {
  /** Bytes per element of what was cast first, by value computed from it and module. */
  private readonly before = new Map<string, { readonly bytesPerElement: number; readonly module: string }>();

  constructor(private readonly training: TrainingGraph) {}

  /** Bytes per element that a cast gives; `undefined` where the operator is no cast. `bytesPerElement`: of its input. */
  bytesPerElementOf(operator: Operator, bytesPerElement: number): number | undefined {
    const [source = ''] = operator.inputs;
    const [result = ''] = operator.outputs;
    if (!hasTrait(operator, 'casts') || !this.isFloat(source) || !this.isFloat(result)) {
      this.follow(operator);
      return undefined;
    }
    const module = this.moduleOf(operator);
    if (this.training.analysis.graph.values.get(source)?.role !== 'activation') return 2;
    const first = this.before.get(source);
    if (first !== undefined && first.module === module) return first.bytesPerElement;
    this.before.set(result, { bytesPerElement, module });
    return 4;
  }

  /** An operator that is no cast: what it gives was first cast as what it reads. */
  follow(operator: Operator): void {
    if (this.before.size === 0) return;
    const module = this.moduleOf(operator);
    const { inputs, outputs } = operator;
    for (const input of inputs) {
      const first = this.before.get(input);
      if (first?.module !== module) continue;
      for (const output of outputs) this.before.set(output, first);
      return;
    }
  }

  /**
   * Archives and layer specs have no scopes, but layers. One of several operators is a module: a line `RMSNorm(fused=False)`, or what
   * `forward` of a module calls. A line of one operator, such as a cast, is a call in the module around it.
   */
  private moduleOf({ index, scope }: Operator): string {
    const innermost = scope.at(-1);
    if (innermost !== undefined) return innermost;
    const layer = layersByOperator(this.training.analysis.layers).get(index);
    return (layer !== undefined && layer.operators.length > 1 ? layer.name : layer?.ancestors.at(-1)) ?? '';
  }

  private isFloat(name: string): boolean {
    return this.training.tensors.get(name)?.elementType === 'float32';
  }
}
