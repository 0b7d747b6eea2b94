/**
 * Which stored tensors are trained, and what every other value is.
 *
 * ONNX does not say what is a parameter. A stored tensor of floating-point numbers is one when a gradient can
 * reach it from the outputs, unless it is told apart as something else: a running statistic (no gradient reaches
 * it), a number that is part of a formula, a table or mask that the exporter computed beforehand.
 */

import type { TensorOrigin } from '../model/attribute.ts';
import { isFloatingPoint } from '../model/elementType.ts';
import { type Graph, isKnownShape, type Operator, type Value, type ValueRole } from '../model/graph.ts';
import { isAnonymousTensor, isBufferName } from '../model/tensorNames.ts';
import { hasTrait, inputOf, isWeightInput, passesElements } from '../operators/operatorFacts.ts';
import type { Parameter } from './modelAnalysis.ts';
import { isSpreadTable } from './spreadTables.ts';

export interface Roles {
  /** Values whose role is not the one they already have. */
  readonly roles: ReadonlyMap<string, ValueRole>;
  readonly parameters: readonly Parameter[];
  /** Weights that `given` says are not trained. */
  readonly frozen: readonly Parameter[];
  readonly uses: ReadonlyMap<string, Use>;
}

/**
 * Roles of the values of `graph`. `captured` are values that subgraphs take from it, by operator; `given` are
 * roles known beforehand, which are not questioned.
 */
export function findRoles(
  graph: Graph,
  captured: ReadonlyMap<number, readonly string[]>,
  given: ReadonlyMap<string, ValueRole>,
): Roles {
  const uses = findUses(graph, captured);
  const roles = new Map<string, ValueRole>();
  const parameters: Parameter[] = [];
  const frozen: Parameter[] = [];
  const hasDetached = [...graph.values.values()].some(({ isDetached }) => isDetached === true);
  const otherInputs = graph.inputs.some((name) => uses.get(name)?.asWeightOnly !== true);
  for (const value of graph.values.values()) {
    const provided = given.get(value.name);
    const use = uses.get(value.name);
    // What nothing but detached values are made of is not trained, whatever the program says of it.
    const isCut = provided === 'parameter' && hasDetached && use?.differentiable !== true;
    const role =
      (isCut ? 'frozen' : provided) ??
      (isTrained(value, use, graph, otherInputs) ? 'parameter' : roleOfUntrained(value, graph));
    if (role !== value.role) roles.set(value.name, role);
    if (role !== 'parameter' && role !== 'frozen') continue;
    const elements = elementCount(value);
    if (elements === undefined || value.type.kind !== 'tensor') continue;
    (role === 'frozen' ? frozen : parameters).push({
      name: value.name,
      elements,
      elementType: value.type.elementType,
      operators: use === undefined ? [...new Set(value.consumers)] : operatorsOf(use),
    });
  }
  return { roles, parameters, frozen, uses };
}

/** How a value is used, operators that only pass its elements on (a transpose, a cast) looked through. */
export interface Use {
  /** A gradient can reach it from an output of the graph. */
  differentiable: boolean;
  /** Somewhere an operator takes it as its weight. */
  asWeight: boolean;
  /** Some operator takes it, or what arithmetic makes of it, as its filter: a model may scale filters for each sample. */
  feedsFilter: boolean;
  /** Nowhere is it anything but a weight or a statistic of an operator with weights. */
  asWeightOnly: boolean;
  /** Operators that use it itself with a gradient. */
  readonly operators: number[];
  /** What its elements are passed on to with a gradient: who uses that uses it too. */
  readonly passedTo: Use[];
}

/** Operators that use it, or what its elements are passed on to, with a gradient, in order. */
function operatorsOf(use: Use): readonly number[] {
  const reached = new Set([use]);
  const operators = new Set<number>();
  for (const each of reached) {
    for (const operator of each.operators) operators.add(operator);
    for (const next of each.passedTo) reached.add(next);
  }
  return [...operators].sort((left, right) => left - right);
}

function findUses(graph: Graph, captured: ReadonlyMap<number, readonly string[]>): ReadonlyMap<string, Use> {
  const uses = new Map<string, Use>();
  const useOf = (name: string): Use => {
    let use = uses.get(name);
    if (use === undefined) {
      use = {
        differentiable: false,
        asWeight: false,
        feedsFilter: false,
        asWeightOnly: true,
        operators: [],
        passedTo: [],
      };
      uses.set(name, use);
    }
    return use;
  };
  for (const name of graph.outputs) {
    const use = useOf(name);
    use.differentiable = true;
    use.asWeightOnly = false;
  }
  const everythingCounts = graph.outputs.length === 0;
  for (let index = graph.operators.length - 1; index >= 0; index -= 1) {
    const operator = graph.operators[index];
    if (operator === undefined) continue;
    const live = everythingCounts || operator.outputs.some((name) => isLive(name, uses, graph));
    for (let position = 0; position < operator.inputs.length; position += 1) {
      const name = operator.inputs[position];
      if (name === undefined || name === '') continue;
      const use = useOf(name);
      const input = inputOf(operator, position);
      const flows = live && input?.gradient !== false;
      if (flows) use.differentiable = true;
      const output = operator.outputs[0];
      const passed =
        passesElements(operator, position) && output !== undefined ? uses.get(output) : undefined;
      if (passed !== undefined && passed !== use) {
        if (passed.asWeight) use.asWeight = true;
        if (passed.feedsFilter) use.feedsFilter = true;
        if (!passed.asWeightOnly) use.asWeightOnly = false;
        if (flows) use.passedTo.push(passed);
        continue;
      }
      const result = arithmetic.has(operator.type) ? uses.get(operator.outputs[0] ?? '') : undefined;
      if (input?.role === 'weight' || result?.feedsFilter === true) use.feedsFilter = true;
      if (isWeightInput(operator, position) && !isFoldedVector(name, input?.role, graph)) use.asWeight = true;
      if (input?.role !== 'weight' && input?.role !== 'statistic') use.asWeightOnly = false;
      if (flows) use.operators.push(index);
    }
    for (const name of captured.get(index) ?? []) {
      const use = useOf(name);
      use.asWeightOnly = false;
      if (!live) continue;
      use.differentiable = true;
      use.operators.push(index);
    }
  }
  return uses;
}

const arithmetic: ReadonlySet<string> = new Set(['Add', 'Div', 'Mul', 'Sub']);

/**
 * A vector that the exporter named, as a factor of a product: positions or frequencies, where weights are matrices. With three
 * axes and more, only one of them wider than 1, it is the factor of an outer product.
 */
const isFoldedVector = (name: string, role: string | undefined, graph: Graph): boolean => {
  const value = graph.values.get(name);
  if (role !== 'operand' || value?.type.kind !== 'tensor' || !isKnownShape(value.type.shape)) return false;
  const { shape } = value.type;
  if (shape.length === 1) return isAnonymousTensor(name);
  // `torch.export` names what an exporter folds later for its operators, without a path of modules.
  const isNamedByExporter = isAnonymousTensor(name) || !name.includes('.');
  return shape.length > 2 && isNamedByExporter && shape.filter((size) => size !== 1).length === 1;
};

function isLive(name: string, uses: ReadonlyMap<string, Use>, graph: Graph): boolean {
  if (uses.get(name)?.differentiable !== true) return false;
  const value = graph.values.get(name);
  if (value?.isDetached === true) return false;
  const type = value?.type;
  return type?.kind !== 'tensor' || type.elementType === 'undefined' || isFloatingPoint(type.elementType);
}

/** A `Constant` node of PyTorch's TorchScript exporter that an optimizer stored as a tensor. */
const isStoredConstant = ({ name }: Value): boolean => /^\/.*\bConstant(_\d+)?_output_0$/.test(name);

function isTrained(value: Value, use: Use | undefined, graph: Graph, otherInputs: boolean): boolean {
  if (use?.differentiable !== true || value.type.kind !== 'tensor') return false;
  const elements = elementCount(value);
  if (elements === undefined || elements === 0) return false;
  // Quantized weights are integers in the file and trained through their dequantized copy.
  const trainable =
    isFloatingPoint(value.type.elementType) ||
    (isStored(value) && value.producer === undefined && use.asWeight);
  if (!trainable || isFrequency(value, graph)) return false;
  const recorded = isRecordedParameter(value.literal?.origin);
  if (recorded !== undefined) return recorded;
  switch (originOf(value, graph)) {
    case 'initializer':
    case 'generated':
      return (
        !isBufferName(value.name) &&
        !isStoredConstant(value) &&
        (use.asWeight || isLearnedOperand(value, elements, use, graph))
      );
    case 'constant':
      // Some exporters keep weights in `Constant` nodes; PyTorch's, which names them by path, never does.
      return use.asWeight && elements > 1 && rankOf(value) > 0 && !value.name.startsWith('/');
    case 'input':
      return use.asWeightOnly && otherInputs;
    case 'computed':
      return false;
  }
}

/** Whether the exporter recorded that it is trained, or computed from what is; `undefined` where it recorded nothing. */
function isRecordedParameter(origin: TensorOrigin | undefined): boolean | undefined {
  if (origin?.kind !== undefined) return origin.kind === 'parameter';
  return origin?.foldedFrom?.some((name) => moduleNames.test(name) && !isBufferName(name));
}

type Origin = 'initializer' | 'generated' | 'constant' | 'input' | 'computed';

function originOf(value: Value, graph: Graph): Origin {
  if (value.role === 'input') return 'input';
  if (value.producer === undefined) return value.literal === undefined ? 'computed' : 'initializer';
  const producer = graph.operators[value.producer];
  if (producer === undefined) return 'computed';
  if (hasTrait(producer, 'constant')) return 'constant';
  return hasTrait(producer, 'generator') && isGeneratedFromStoredShape(producer, graph)
    ? 'generated'
    : 'computed';
}

/** Files stripped of their weights make them from stored shapes (the light models of the ONNX project). */
function isGeneratedFromStoredShape(producer: Operator, graph: Graph): boolean {
  const [shape] = producer.inputs;
  return shape === undefined || shape === '' || isInitializer(graph.values.get(shape));
}

const isInitializer = (value: Value | undefined): boolean =>
  value !== undefined && value.producer === undefined && value.literal !== undefined;

const isStored = (value: Value): boolean => value.literal !== undefined;

/** Whether a stored operand of arithmetic is learned: a layer scale or a position embedding, not a table. */
function isLearnedOperand(value: Value, elements: number, { feedsFilter }: Use, graph: Graph): boolean {
  if (elements === 1) return !isAnonymousTensor(value.name) && moduleNames.test(value.name);
  if (computedNames.test(value.name)) return false;
  if (!isAnonymousTensor(value.name)) return true;
  // A mask is begun as zeros.
  if (value.literal === undefined) return false;
  if (feedsFilter && wideAxes(value) > 1) return true;
  if (wideAxes(value) > 1 && tableOperandNames.test(value.name)) return false;
  if (isOfFrozenNormalization(value, graph)) return false;
  if (wideAxes(value) > 2 || isMask(value, graph)) return false;
  return !tableNames.test(value.name) || isLogarithm(value, graph) || isSpreadTable(graph, value);
}

/**
 * Whether all it is used for is bounded and then raised from a logarithm: a scale that is learned so that it stays above zero
 * (temperatures of CLIP and Swin V2). A table is computed beforehand.
 */
const isLogarithm = ({ consumers }: Value, graph: Graph): boolean =>
  consumers.length > 0 &&
  consumers.every((index) => {
    const [bounded = ''] = graph.operators[index]?.type === 'Clip' ? graph.operators[index].outputs : [];
    const readers = graph.values.get(bounded)?.consumers ?? [];
    return readers.length > 0 && readers.every((reader) => graph.operators[reader]?.type === 'Exp');
  });

/**
 * Whether it scales or shifts what a convolution gives, in a pair that the exporter folded: what batch normalization is with
 * statistics and weights that are buffers (torchvision ops/misc.py, `FrozenBatchNorm2d`). Nobody trains a scale right behind a filter.
 */
function isOfFrozenNormalization(value: Value, graph: Graph): boolean {
  if (rankOf(value) < 3 || wideAxes(value) !== 1) return false;
  // Equal ones of several layers may be stored once.
  return value.consumers.every((index) => {
    const reader = graph.operators[index];
    const other = reader?.inputs.find((name) => name !== value.name) ?? '';
    if (reader?.type === 'Mul') return isScaleOfFilter(reader, graph) && isShifted(reader, graph);
    const scaling = graph.operators[graph.values.get(other)?.producer ?? -1];
    return reader?.type === 'Add' && scaling?.type === 'Mul' && isScaleOfFilter(scaling, graph);
  });
}

function isShifted({ outputs }: Operator, graph: Graph): boolean {
  const [index, ...others] = graph.values.get(outputs[0] ?? '')?.consumers ?? [];
  const next = graph.operators[index ?? -1];
  return others.length === 0 && next?.type === 'Add' && next.inputs.some((name) => isFolded(name, graph));
}

/** Whether one factor was folded and the other is what a filter without bias gives, to nothing else. */
const isScaleOfFilter = ({ inputs }: Operator, graph: Graph): boolean =>
  inputs.some((name) => isFolded(name, graph)) &&
  inputs.some((name) => {
    const filtered = graph.values.get(name);
    const filter = graph.operators[filtered?.producer ?? -1];
    const isAlone = filter?.inputs.length === 2 && filtered?.consumers.length === 1;
    return isAlone && /^Conv(Transpose)?$/.test(filter.type);
  });

const isFolded = (name: string, graph: Graph): boolean =>
  isAnonymousTensor(name) && isInitializer(graph.values.get(name));

/**
 * Whether all that is computed from it goes through sine and cosine: a frequency of positions, not a weight. What a module
 * calls its weight or bias is one, as in networks whose activation is the sine.
 */
function isFrequency(value: Value, graph: Graph): boolean {
  if (weightNames.test(value.name)) return false;
  const bends = (index: number): boolean => hasTrait(graph.operators[index], 'periodic');
  const users = value.consumers.flatMap((index) => graph.operators[index] ?? []);
  return (
    users.length > 0 &&
    users.every(({ outputs }) => {
      const consumers = outputs.flatMap((name) => graph.values.get(name)?.consumers ?? []);
      return consumers.length > 0 && consumers.every(bends);
    })
  );
}

const weightNames = /(^|\.)(weight|bias)$/;

/** Nameless tensors that are first spread, chosen from or bent are tables (rotary frequencies), not folded biases; but see `isSpreadTable`. */
const tableNames = /^onnx::(Clip|Cos|Expand|Pow|Range|Sin|Where)_/;

/**
 * Nameless tensors of two axes and more that first multiply, divide or are subtracted: angles of rotary positions and knots of splines,
 * cut from a stored table. Of what is learned, scales have one axis, and position embeddings are added.
 */
const tableOperandNames = /^onnx::(Div|Mul|Sub)_/;

/**
 * Values that PyTorch's newer exporter names after the operator that computed them: tables and masks. A folded look-up is a
 * part of a position embedding.
 */
const computedNames =
  /^_?(add|arange|cat|clone|convert_element_type_default|cos|cumsum|div|eq|expand|full|ge|gt|index|le|lt|masked_fill|mul|ne|neg|ones|permute|pow|reciprocal|repeat|reshape|rsub|select|sin|slice|stack|sub|to_copy|transpose|tril|triu|unsafe_view|unsqueeze|view|where|zeros)(_\d+)?$/;

/** One square that is added for all samples and heads, as attention masks are stored. */
function isMask({ type, consumers }: Value, graph: Graph): boolean {
  const isAdded = consumers.every((index) => addingTypes.has(graph.operators[index]?.type ?? ''));
  if (!isAdded) return false;
  if (type.kind !== 'tensor' || !isKnownShape(type.shape) || type.shape.length < 3) return false;
  const [rows, columns] = type.shape.slice(-2);
  return rows === columns && type.shape.slice(0, -2).every((dimension) => dimension === 1);
}

const addingTypes: ReadonlySet<string> = new Set(['Add', 'Mul', 'Sub', 'Where']);

/** A name inside a module, or one that says it is trained. */
const moduleNames = /\.|(weight|bias|scale|gain|gamma|beta|alpha|temperature)$/i;

/** Axes longer than 1: a folded bias has one, a folded table of position biases (heads × n × n) three. */
function wideAxes(value: Value): number {
  if (value.type.kind !== 'tensor' || !isKnownShape(value.type.shape)) return 0;
  return value.type.shape.filter((dimension) => dimension !== 1).length;
}

function rankOf(value: Value): number {
  return value.type.kind === 'tensor' && isKnownShape(value.type.shape) ? value.type.shape.length : 0;
}

function elementCount(value: Value): number | undefined {
  if (value.type.kind !== 'tensor' || !isKnownShape(value.type.shape)) return undefined;
  let count = 1;
  for (const dimension of value.type.shape) {
    if (typeof dimension !== 'number') return undefined;
    count *= dimension;
  }
  // Sizes below zero or past what can be counted are reported where they are read; they are nothing to train.
  return count >= 0 && Number.isSafeInteger(count) ? count : undefined;
}

function roleOfUntrained(value: Value, graph: Graph): ValueRole {
  if (value.producer === undefined) return value.role;
  return originOf(value, graph) === 'constant' || isConcrete(value) ? 'constant' : 'activation';
}

/** Whether the contents are known to the last number. */
const isConcrete = (value: Value): boolean =>
  value.content?.elements.every((element) => typeof element === 'number') ?? false;
