/** One call of an ATen operator while it is lowered: its arguments by name, and ways to add ONNX operators. */

import type { AtenNode } from '../../formats/pt2/syntax.ts';
import type { Dimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { GraphBuilder } from '../layer-spec/graphBuilder.ts';
import { int, ints, type NodeAttributes, type Tensor } from '../layer-spec/layerDefinition.ts';

/** Gives the results, or `undefined` where this call has no counterpart: its cost is then unknown, by its name. */
export type LowerAten = (call: AtenCall) => readonly Tensor[] | undefined;

export class AtenCall {
  constructor(
    private readonly node: AtenNode,
    private readonly path: string,
    private readonly graph: GraphBuilder,
    private readonly tensors: ReadonlyMap<string, Tensor>,
    /** Of the first result, as the archive says. */
    readonly shape: readonly Dimension[] | undefined,
  ) {}

  tensor(name: string): Tensor | undefined {
    const given = this.node.arguments.get(name);
    return given?.kind === 'tensor' ? this.tensors.get(given.name) : undefined;
  }

  /** `undefined` where one of them is not known. */
  list(name: string): readonly Tensor[] | undefined {
    const given = this.node.arguments.get(name);
    if (given?.kind !== 'tensors') return undefined;
    const found = given.names.flatMap((entry) => this.tensors.get(entry ?? '') ?? []);
    return found.length === given.names.length ? found : undefined;
  }

  number(name: string): number | undefined {
    const given = this.node.arguments.get(name);
    return given?.kind === 'number' ? given.value : undefined;
  }

  text(name: string): string | undefined {
    const given = this.node.arguments.get(name);
    return given?.kind === 'string' ? given.value : undefined;
  }

  /** PyTorch leaves out arguments that have their default. */
  flag(name: string, standard: boolean): boolean {
    const given = this.node.arguments.get(name);
    return given?.kind === 'boolean' ? given.value : standard;
  }

  /** A number for each of `count` axes. */
  numbers(name: string, standard: readonly number[]): readonly number[] {
    const given = this.node.arguments.get(name);
    return given?.kind === 'numbers' && given.values.length > 0 ? given.values : standard;
  }

  has(name: string): boolean {
    const kind = this.node.arguments.get(name)?.kind;
    return kind !== undefined && kind !== 'none';
  }

  /** A tensor, or a number as a constant of the type of `like`; a fraction beside integers has no counterpart. */
  operand(name: string, like: Tensor | undefined): Tensor | undefined {
    const value = this.number(name);
    const isCut = value !== undefined && !Number.isInteger(value) && /int|bool/.test(like?.elementType ?? '');
    if (isCut) return undefined;
    return value === undefined
      ? this.tensor(name)
      : this.graph.constant(like?.elementType ?? 'float32', [], [value]);
  }

  scalar(value: number, elementType: 'float32' | 'bool'): Tensor {
    return this.graph.constant(elementType, [], [value]);
  }

  integers(values: readonly number[]): Tensor {
    return this.graph.constant('int64', [values.length], values);
  }

  elementType(name: string): ElementType | undefined {
    const given = this.node.arguments.get(name);
    return given?.kind === 'elementType' ? given.value : undefined;
  }

  /** A shape as a tensor; `undefined` where no input has one of its open sizes as an axis. */
  sizes(shape: readonly Dimension[]): Tensor | undefined {
    const known = shape.flatMap((size) => (typeof size === 'number' ? [size] : []));
    if (known.length === shape.length) return this.integers(known);
    const parts = shape.flatMap(
      (size) => (typeof size === 'number' ? this.integers([size]) : this.graph.sizeOf(size)) ?? [],
    );
    return parts.length < shape.length ? undefined : this.emit('Concat', parts, { axis: int(0) })[0];
  }

  emit(
    type: string,
    inputs: readonly (Tensor | undefined)[],
    attributes: NodeAttributes = {},
  ): readonly [Tensor] {
    const [output] = this.graph.node(this.path, '', type, inputs, 1, attributes);
    return [output ?? { name: '', elementType: undefined, shape: undefined }];
  }

  emitMany(
    type: string,
    inputs: readonly (Tensor | undefined)[],
    outputs: number,
    attributes: NodeAttributes,
  ): readonly Tensor[] {
    return this.graph.node(this.path, '', type, inputs, outputs, attributes);
  }
}

export const flagAttribute = (value: boolean): ReturnType<typeof int> => int(value ? 1 : 0);

/** Padding of ONNX: all that goes in front, then all behind. */
export const bothSides = (padding: readonly number[]): ReturnType<typeof ints> =>
  ints([...padding, ...padding]);

/** One number stands for all `count` axes. */
export const perAxis = (values: readonly number[], count: number): readonly number[] =>
  values.length === 1 ? Array.from({ length: count }, () => values[0] ?? 0) : values;
