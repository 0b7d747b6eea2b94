/** One call of a layer while it becomes operators: its inputs, its arguments, and the graph it writes to. */

import { operatorOfKey } from '../../model/declaredOperator.ts';
import {
  type Dimension,
  equalDimensions,
  evaluateDimension,
  isSymbolic,
  symbolsOf,
} from '../../model/dimension.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { BoundArgument } from './bindArguments.ts';
import type { GraphBuilder } from './graphBuilder.ts';
import type { LayerDefinition, LayerLowering, SpecValue, Tensor } from './layerDefinition.ts';
import { printShape } from './printShape.ts';

export interface CallSite {
  /** Path of the layer, such as `h[3].fc`. */
  readonly path: string;
  readonly callee: TextSpan;
  readonly inputs: readonly Tensor[];
  /** The leading dimension of the model's first input. */
  readonly batch: Dimension | undefined;
  /** Inputs given by keyword. */
  readonly namedInputs: ReadonlyMap<string, Tensor>;
  readonly bound: ReadonlyMap<string, BoundArgument>;
  /** Values of dimensions that stay open in the graph. */
  readonly symbolDefaults: ReadonlyMap<string, number>;
  /** Weights of a layer by the name its line gives it. */
  readonly weightsOf: (layer: string) => ReadonlyMap<string, Tensor> | undefined;
  /** What to say where the layer has no such weight. */
  readonly whyNoWeight: (layer: string, weight: string) => string;
  /** Receives the weights this layer makes. */
  readonly weights: Map<string, Tensor>;
  /** Whether its parameters are not trained. */
  readonly frozen: boolean;
  readonly report: (issue: Issue) => void;
  /** Told of every open dimension whose value went into the graph: it cannot stay open. */
  readonly pin: (dimension: string) => void;
}

export function makeLayerLowering(
  definition: LayerDefinition,
  site: CallSite,
  graph: GraphBuilder,
): LayerLowering {
  const value = (name: string): SpecValue => {
    const bound = site.bound.get(name);
    if (bound !== undefined) return bound.value;
    return definition.parameters.find((parameter) => parameter.name === name)?.default ?? null;
  };
  const problem: LayerLowering['problem'] = (code, message, argument) => {
    const span = argument === undefined ? undefined : site.bound.get(argument)?.span;
    site.report({ code, severity: 'error', message, span: span ?? site.callee });
    return undefined;
  };
  const fixed = (dimension: Dimension | undefined): number | undefined => {
    if (dimension === undefined || typeof dimension === 'number') return dimension;
    if (!isSymbolic(dimension)) return undefined;
    for (const name of symbolsOf(dimension)) site.pin(name);
    const known = evaluateDimension(dimension, site.symbolDefaults);
    return typeof known === 'number' ? known : undefined;
  };
  const numberOf = (item: SpecValue): number | undefined => {
    if (typeof item === 'number') return item;
    return typeof item === 'object' && item !== null && 'kind' in item ? fixed(item) : undefined;
  };
  /** Kinds were checked when the arguments were bound; what is left is an open dimension without value. */
  const number = (name: string): number => {
    const found = numberOf(value(name));
    if (found !== undefined) return found;
    problem('spec/dimension', `\`${name}\` needs a number; give the dimension a value under dims`, name);
    return Number.NaN;
  };
  return {
    inputs: site.inputs,
    input: (name) => site.namedInputs.get(name) ?? site.inputs[definition.inputs.names.indexOf(name)],
    given: (name) => site.bound.has(name),
    value,
    integer: number,
    number,
    boolean: (name) => value(name) === true,
    string: (name) => String(value(name)),
    optionalInteger: (name) => (value(name) === null ? undefined : number(name)),
    integers: (name, count) => {
      const given = value(name);
      if (!Array.isArray(given)) return Array.from({ length: count }, () => number(name));
      if (given.length !== count) {
        problem('spec/argument', `\`${name}\` is one whole number or ${count}, not ${given.length}`, name);
      }
      return Array.from(
        { length: count },
        (_, index) => numberOf(given[index] ?? given[0] ?? null) ?? Number.NaN,
      );
    },
    size: (name, actual, what) => {
      const real = fixed(actual);
      const bound = site.bound.get(name);
      const written = bound === undefined ? undefined : firstNumber(bound.value, numberOf);
      if (real !== undefined && written !== undefined && written !== real) {
        problem(
          'shape/mismatch',
          `\`${name}\` is ${written}, but ${what} is ${real} (${shapeText(site.inputs)})`,
          name,
        );
      }
      if (real === undefined && written === undefined && site.inputs[0]?.shape !== undefined) {
        problem(
          'spec/argument',
          `\`${name}\` cannot be taken from the input (${shapeText(site.inputs)}); write it`,
        );
      }
      return real ?? written;
    },
    fixed,
    emit: (type, inputs, attributes = {}) => {
      const { domain, type: name } = operatorOfKey(type);
      const [output] = graph.node(site.path, domain, name, inputs, 1, attributes);
      return output ?? { name: '', elementType: undefined, shape: undefined };
    },
    emitMany: (type, inputs, outputs, attributes = {}) => {
      const { domain, type: name } = operatorOfKey(type);
      return graph.node(site.path, domain, name, inputs, outputs, attributes);
    },
    parameter: (name, dimensions) => {
      const tensor = graph.stored(`${site.path}.${name}`, site.frozen ? 'frozen' : 'parameter', dimensions);
      site.weights.set(name, tensor);
      return tensor;
    },
    buffer: (name, dimensions, elementType) =>
      graph.stored(`${site.path}.${name}`, 'buffer', dimensions, elementType),
    tied: (argument, name) => {
      const layer = value(argument);
      if (typeof layer !== 'string') return undefined;
      const weight = site.weightsOf(layer)?.get(name);
      if (weight === undefined) {
        problem('spec/unknown-source', site.whyNoWeight(layer, name), argument);
      }
      return weight;
    },
    integersConstant: (values) => graph.constant('int64', [values.length], values),
    sizes: (dimensions) => {
      const open = dimensions.map((size) => (typeof size === 'number' ? undefined : graph.sizeOf(size)));
      const closed = dimensions.map((size, axis) => (open[axis] === undefined ? (fixed(size) ?? 1) : 1));
      if (open.every((size) => size === undefined)) return graph.constant('int64', [closed.length], closed);
      const parts = open.map((size, axis) => size ?? graph.constant('int64', [1], [closed[axis] ?? 1]));
      const [sizes] = graph.node(site.path, '', 'Concat', parts, 1, { axis: { kind: 'int', value: 0 } });
      return sizes ?? graph.constant('int64', [closed.length], closed);
    },
    vectorConstant: (values, elementType) => graph.constant(elementType, [values.length], values),
    scalarConstant: (element, elementType) => graph.constant(elementType, [], [element]),
    checkBatchFirst: (input) => {
      const [first] = input.shape ?? [];
      if (value('batch_first') !== false || first === undefined || typeof first === 'number') return;
      if (site.batch === undefined || !equalDimensions(first, site.batch)) return;
      const message = `axis 0 of the input, ${printShape(input)}, is the batch, but ${definition.name} takes [sequence, batch, size]; write batch_first=True`;
      const span = site.bound.get('batch_first')?.span ?? site.callee;
      site.report({ code: 'spec/argument', severity: 'warning', message, span });
    },
    problem,
  };
}

function firstNumber(
  value: SpecValue,
  numberOf: (item: SpecValue) => number | undefined,
): number | undefined {
  return numberOf(Array.isArray(value) ? (value[0] ?? null) : value);
}

function shapeText(inputs: readonly Tensor[]): string {
  return `the input is ${printShape(inputs[0])}`;
}
