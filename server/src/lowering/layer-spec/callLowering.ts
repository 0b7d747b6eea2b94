/** One call of a layer while it becomes operators: its inputs, its arguments, and the graph it writes to. */

import { operatorOfKey } from '../../model/declaredOperator.ts';
import type { Dimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import { CallArguments, type CallSite } from './callArguments.ts';
import type { GraphBuilder } from './graphBuilder.ts';
import type { LayerDefinition, LayerLowering, NodeAttributes, Tensor } from './layerDefinition.ts';

export class CallLowering extends CallArguments implements LayerLowering {
  constructor(
    definition: LayerDefinition,
    site: CallSite,
    private readonly graph: GraphBuilder,
  ) {
    super(definition, site);
  }

  emit(type: string, inputs: readonly (Tensor | undefined)[], attributes: NodeAttributes = {}): Tensor {
    const [output] = this.emitMany(type, inputs, 1, attributes);
    return output ?? { name: '', elementType: undefined, shape: undefined };
  }

  emitMany(
    type: string,
    inputs: readonly (Tensor | undefined)[],
    outputs: number,
    attributes: NodeAttributes = {},
  ): readonly Tensor[] {
    const { domain, type: name } = operatorOfKey(type);
    return this.graph.node(this.site.path, domain, name, inputs, outputs, attributes);
  }

  parameter(name: string, dimensions: readonly number[]): Tensor {
    const { path, frozen, weights } = this.site;
    const tensor = this.graph.stored(`${path}.${name}`, frozen ? 'frozen' : 'parameter', dimensions);
    weights.set(name, tensor);
    return tensor;
  }

  buffer(name: string, dimensions: readonly number[], elementType?: ElementType): Tensor {
    return this.graph.stored(`${this.site.path}.${name}`, 'buffer', dimensions, elementType);
  }

  tied(argument: string, name: string): Tensor | undefined {
    const layer = this.value(argument);
    if (typeof layer !== 'string') return undefined;
    const weight = this.site.weightsOf(layer)?.get(name);
    if (weight === undefined)
      this.problem('spec/unknown-source', this.site.whyNoWeight(layer, name), argument);
    return weight;
  }

  integersConstant(values: readonly number[]): Tensor {
    return this.vectorConstant(values, 'int64');
  }

  vectorConstant(values: readonly number[], elementType: ElementType): Tensor {
    return this.graph.constant(elementType, [values.length], values);
  }

  scalarConstant(value: number, elementType: ElementType): Tensor {
    return this.graph.constant(elementType, [], [value]);
  }

  sizes(dimensions: readonly Dimension[]): Tensor {
    const open = dimensions.map((size) => (typeof size === 'number' ? undefined : this.graph.sizeOf(size)));
    const closed = dimensions.map((size, axis) => (open[axis] === undefined ? (this.fixed(size) ?? 1) : 1));
    if (open.every((size) => size === undefined)) return this.integersConstant(closed);
    const parts = open.map((size, axis) => size ?? this.integersConstant([closed[axis] ?? 1]));
    return this.emit('Concat', parts, { axis: { kind: 'int', value: 0 } });
  }
}
