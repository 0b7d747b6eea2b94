/** One call of an ATen operator while it is lowered: its arguments by name, and ways to add ONNX operators. */

import type { AtenNode } from '../../formats/pt2/syntax.ts';
import {
  type Dimension,
  divideExactly,
  equalDimensions,
  productOfDimensions,
  subtractDimensions,
} from '../../model/dimension.ts';
import { type ElementType, elementTypes, isFloatingPoint } from '../../model/elementType.ts';
import type { GraphBuilder } from '../layer-spec/graphBuilder.ts';
import { int, ints, type NodeAttributes, type Tensor } from '../layer-spec/layerDefinition.ts';
import type { View } from './viewWrites.ts';

/** Gives the results, or `undefined` where this call has no counterpart: its cost is then unknown, by its name. */
export type LowerAten = (call: AtenCall) => readonly Tensor[] | undefined;

/** Several names of ATen that are one operation here. */
export const each = (names: readonly string[], lower: LowerAten): Readonly<Record<string, LowerAten>> =>
  Object.fromEntries(names.map((name) => [name, lower]));

/** What the archive says of a result. */
export interface ResultType {
  readonly elementType: ElementType;
  readonly shape: readonly Dimension[];
}

export class AtenCall {
  /** The module that makes the call; outside all modules, its first result. */
  readonly path: string;

  constructor(
    readonly node: AtenNode,
    private readonly graph: GraphBuilder,
    private readonly tensors: Pick<ReadonlyMap<string, Tensor>, 'get'>,
    /** Of each result, where the archive says it. */
    readonly results: readonly (ResultType | undefined)[],
    /** Names of tensors that share the elements of others. */
    private readonly views: Pick<ReadonlyMap<string, View>, 'get' | 'has'> = new Map(),
  ) {
    this.path = node.modules.at(-1)?.path || (node.outputs[0] ?? '');
  }

  /** Of the first result. */
  get shape(): readonly Dimension[] | undefined {
    return this.results[0]?.shape;
  }

  /** By the first of these names that is given: in-place forms and decomposed ones name the same otherwise. */
  tensor(...names: readonly string[]): Tensor | undefined {
    for (const name of names) {
      const given = this.node.arguments.get(name);
      if (given?.kind === 'tensor') return this.tensors.get(given.name);
    }
    return undefined;
  }

  /** Whether an operand shares its elements with another tensor: a write into it is one into that. */
  isView(name: string): boolean {
    const given = this.node.arguments.get(name);
    return given?.kind === 'tensor' && this.views.has(given.name);
  }

  /** Whether an operand is some of the elements of a tensor that it views: a slice or an entry. */
  isPart(name: string): boolean {
    const given = this.node.arguments.get(name);
    if (given?.kind !== 'tensor') return false;
    let base = given.name;
    for (let view = this.views.get(base); view !== undefined; view = this.views.get(base)) base = view.base;
    const [own, whole] = [this.tensors.get(given.name)?.shape, this.tensors.get(base)?.shape];
    if (own === undefined || whole === undefined) return false;
    return !equalDimensions(productOfDimensions(own), productOfDimensions(whole));
  }

  /** `undefined` where one of them is not known. */
  list(name: string): readonly Tensor[] | undefined {
    const found = this.optionalList(name)?.flatMap((tensor) => tensor ?? []);
    return found?.length === this.optionalList(name)?.length ? found : undefined;
  }

  /** With `undefined` where one is left out, as an index leaves out axes. */
  optionalList(name: string): readonly (Tensor | undefined)[] | undefined {
    const given = this.node.arguments.get(name);
    return given?.kind === 'tensors' ? given.names.map((entry) => this.tensors.get(entry ?? '')) : undefined;
  }

  /** A tensor by its name in the graph, such as one that stands for several weights. */
  stored(name: string): Tensor | undefined {
    return this.tensors.get(name);
  }

  /** Names in the graph of a list of tensors. */
  names(name: string): readonly string[] {
    const given = this.node.arguments.get(name);
    return given?.kind === 'tensors' ? given.names.flatMap((entry) => entry ?? []) : [];
  }

  number(name: string): number | undefined {
    const given = this.node.arguments.get(name);
    if (given?.kind === 'boolean') return given.value ? 1 : 0;
    return given?.kind === 'number' ? given.value : undefined;
  }

  /** Its default where it is left out. */
  numberOr(name: string, standard: number): number {
    return this.number(name) ?? standard;
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
    if (given?.kind === 'number') return [given.value];
    return given?.kind === 'numbers' && given.values.length > 0 ? given.values : standard;
  }

  has(name: string): boolean {
    const kind = this.node.arguments.get(name)?.kind;
    return kind !== undefined && kind !== 'none';
  }

  /** A tensor, or a number as a constant of the type of `like`; a fraction beside integers is one of fp32. */
  operand(name: string, like: Tensor | undefined): Tensor | undefined {
    const given = this.node.arguments.get(name);
    // What it multiplies costs the same whatever its angle.
    if (given?.kind === 'complex')
      return this.graph.constant('complex64', [], [Math.hypot(given.real, given.imaginary)]);
    const value = this.number(name);
    if (value === undefined) return this.tensor(name);
    const isCut = !Number.isInteger(value) && !isFloatingPoint(like?.elementType ?? 'float32');
    return this.graph.constant(isCut ? 'float32' : (like?.elementType ?? 'float32'), [], [value]);
  }

  scalar(value: number, elementType: ElementType): Tensor {
    return this.graph.constant(elementType, [], [value]);
  }

  integers(values: readonly number[]): Tensor {
    return this.graph.constant('int64', [values.length], values);
  }

  floats(values: readonly number[]): Tensor {
    return this.graph.constant('float32', [values.length], values);
  }

  elementType(name: string): ElementType | undefined {
    const given = this.node.arguments.get(name);
    return given?.kind === 'elementType' ? given.value : undefined;
  }

  /** In this type; no operator where it is that already. */
  cast(tensor: Tensor, elementType: ElementType | undefined): Tensor {
    if (elementType === undefined || tensor.elementType === elementType) return tensor;
    return this.emit('Cast', [tensor], { to: int(elementTypes.indexOf(elementType)) })[0];
  }

  /** A shape as a tensor; `undefined` where no tensor at hand has one of its open sizes as an axis. */
  sizes(shape: readonly Dimension[]): Tensor | undefined {
    const known = shape.flatMap((size) => (typeof size === 'number' ? [size] : []));
    if (known.length === shape.length) return this.integers(known);
    const parts = shape.flatMap(
      (size) => (typeof size === 'number' ? this.integers([size]) : this.openSize(size)) ?? [],
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

  /** Whether it is a parameter or a buffer of the program. */
  isStored({ name }: Tensor): boolean {
    const role = this.graph.roles.get(name);
    return role === 'parameter' || role === 'frozen' || role === 'buffer';
  }

  /** The same tensor as a value behind which no gradient passes; integers have none. */
  detach(tensor: Tensor): Tensor {
    if (tensor.elementType === undefined || !isFloatingPoint(tensor.elementType)) return tensor;
    const [result] = this.emit('Identity', [tensor]);
    this.graph.detached.add(result.name);
    return result;
  }

  /** The same of an operator of `domain`, with several results. */
  emitMany(
    type: string,
    inputs: readonly (Tensor | undefined)[],
    outputs: number,
    attributes: NodeAttributes,
    domain = '',
  ): readonly Tensor[] {
    return this.graph.node(this.path, domain, type, inputs, outputs, attributes);
  }

  /** Read from an operand that has it as an axis, else from an input of the model. */
  private openSize(size: Dimension): Tensor | undefined {
    for (const given of this.node.arguments.values()) {
      const tensor = given.kind === 'tensor' ? this.tensors.get(given.name) : undefined;
      const axis = tensor?.shape?.findIndex((candidate) => equalDimensions(candidate, size)) ?? -1;
      if (axis < 0) continue;
      return this.emit('Shape', [tensor], { start: int(axis), end: int(axis + 1) })[0];
    }
    return this.graph.sizeOf(size) ?? this.computedSize(size);
  }

  /** A multiple of an axis of an input of the model, or one with a number added: `2*s0`, `s0 - 1`. */
  private computedSize(size: Dimension): Tensor | undefined {
    for (const axis of this.graph.openAxes()) {
      const [times, more] = [divideExactly(size, axis), subtractDimensions(size, axis)];
      const by = typeof times === 'number' ? times : typeof more === 'number' ? more : undefined;
      const known = by === undefined || !Number.isInteger(by) ? undefined : this.graph.sizeOf(axis);
      if (known === undefined || by === undefined) continue;
      return this.emit(typeof times === 'number' ? 'Mul' : 'Add', [known, this.integers([by])])[0];
    }
    return undefined;
  }
}

/** Axes of a tensor; none where they are not known. */
export const rankOf = (tensor: Pick<Tensor, 'shape'> | undefined): number => tensor?.shape?.length ?? 0;

export const flagAttribute = (value: boolean): ReturnType<typeof int> => int(value ? 1 : 0);

/** Padding of ONNX: all that goes in front, then all behind. */
export const bothSides = (padding: readonly number[]): ReturnType<typeof ints> =>
  ints([...padding, ...padding]);

/** One number stands for all `count` axes. */
export const perAxis = (values: readonly number[], count: number): readonly number[] =>
  values.length === 1 ? Array.from({ length: count }, () => values[0] ?? 0) : values;

export const fromFront = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);
