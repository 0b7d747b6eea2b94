/** Sequences and optionals: lists of tensors, handled on the host. */

import { addDimensions, type Dimension, symbol, unknownDimension } from '../../model/dimension.ts';
import { elementTypeOfNumber } from '../../model/elementType.ts';
import { isKnownShape, type SequenceType, type ValueType } from '../../model/graph.ts';
import { valueTypeOf } from '../../model/valueTypeOf.ts';
import { unknownCount } from '../controlflow/perIteration.ts';
import type { Inference, InferenceContext, OperatorDefinition } from '../definition.ts';
import { unknownMap } from '../dimensionMap.ts';
import { integersOf, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { content, scalarOf } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, host, noRule, variadic } from '../vocabulary/facts.ts';
import { viewCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  invalid,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownValue,
} from '../vocabulary/types.ts';
import { unifyTypes } from '../vocabulary/unify.ts';
import { cost, shapeCost, trafficOf, unknownShapeCost, work } from '../vocabulary/work.ts';

const ofElements = 'a list of tensors has no dimensions, its elements do';

export const sequenceOperators: readonly OperatorDefinition[] = [
  define({
    type: 'SequenceEmpty',
    since: 11,
    documentation: 'a sequence without elements (ONNX Operators, SequenceEmpty-11)',
    inputs: [],
    pytorch: { layer: 'SequenceEmpty', autocast: 'widest' },
    runner: noRule.sequences,
    infer: (context) => {
      const elementType = elementTypeOfNumber(context.int('dtype', 1)) ?? 'float32';
      const element = tensorOfUnknownShape(elementType, 'the sequence is empty');
      return single({ kind: 'sequence', element, elements: [] });
    },
    dimensions: () => unknownMap(ofElements),
    cost: () => shapeCost,
  }),
  define({
    type: 'SequenceConstruct',
    since: 11,
    documentation: 'a sequence of the inputs (ONNX Operators, SequenceConstruct-11)',
    inputs: [variadic(data('inputs'))],
    pytorch: { layer: 'SequenceConstruct', autocast: 'widest' },
    runner: noRule.sequences,
    infer: (context) => single(sequenceOf(inputTypes(context))),
    dimensions: () => unknownMap(ofElements),
    cost: (context) => viewCost(context),
  }),
  define({
    type: 'SequenceInsert',
    since: 11,
    documentation: 'a sequence with one more element (ONNX Operators, SequenceInsert-11)',
    inputs: [data('input_sequence'), data('tensor'), detached('position')],
    pytorch: { layer: 'SequenceInsert', autocast: 'widest' },
    runner: noRule.sequences,
    infer: (context) => single(insertedInto(context)),
    dimensions: () => unknownMap(ofElements),
    cost: () => shapeCost,
  }),
  define({
    type: 'SequenceErase',
    since: 11,
    documentation: 'a sequence with one element less (ONNX Operators, SequenceErase-11)',
    inputs: [data('input_sequence'), detached('position')],
    pytorch: { layer: 'SequenceErase', autocast: 'widest' },
    runner: noRule.sequences,
    infer: (context) => single(erasedFrom(context)),
    dimensions: () => unknownMap(ofElements),
    cost: () => shapeCost,
  }),
  define({
    type: 'SequenceAt',
    since: 11,
    documentation: 'one element of a sequence (ONNX Operators, SequenceAt-11)',
    inputs: [data('input_sequence'), detached('position')],
    pytorch: { layer: 'SequenceAt', autocast: 'widest' },
    runner: noRule.sequences,
    infer: (context) => {
      const type = context.inputType(0);
      const elements = elementsOf(type);
      const position = positionIn(context, elements, 0);
      return single((position === undefined ? undefined : elements?.[position]) ?? elementOf(type));
    },
    dimensions: () => unknownMap(ofElements),
    cost: () => shapeCost,
  }),
  define({
    type: 'SequenceLength',
    since: 11,
    documentation: 'how many elements a sequence has (ONNX Operators, SequenceLength-11)',
    inputs: [detached('input_sequence')],
    pytorch: { layer: 'SequenceLength', autocast: 'widest' },
    runner: noRule.sequences,
    infer: (context) => {
      const length = elementsOf(context.inputType(0))?.length;
      return single(tensor('int64', []), length === undefined ? undefined : content([], [length]));
    },
    dimensions: () => unknownMap(ofElements),
    cost: () => shapeCost,
  }),
  define({
    type: 'SplitToSequence',
    since: 11,
    documentation: 'parts along an axis as a sequence (ONNX Operators, SplitToSequence-24)',
    inputs: [data('input'), host('split')],
    pytorch: { layer: 'SplitToSequence', autocast: 'widest' },
    runner: noRule.sequences,
    infer: inferSplitToSequence,
    dimensions: () => unknownMap(ofElements),
    cost: (context) => viewCost(context),
  }),
  define({
    type: 'ConcatFromSequence',
    since: 11,
    documentation: 'the elements of a sequence joined along an axis (ONNX Operators, ConcatFromSequence-11)',
    inputs: [data('input_sequence')],
    pytorch: { layer: 'ConcatFromSequence', autocast: 'widest' },
    runner: noRule.sequences,
    infer: inferConcatFromSequence,
    // What the elements have is what the output has: each is read once.
    dimensions: () => unknownMap(ofElements),
    cost: (context) => {
      const output = context.output(0);
      return output === undefined
        ? unknownShapeCost
        : cost('movement', work({ traffic: trafficOf(output, output) }));
    },
  }),
  define({
    type: 'SequenceMap',
    since: 17,
    documentation: 'a subgraph applied to every element of sequences (ONNX Operators, SequenceMap-17)',
    inputs: [data('input_sequence'), variadic(data('additional_inputs'))],
    pytorch: { layer: 'SequenceMap', autocast: 'subgraph' },
    runner: noRule.subgraphs,
    infer: (context) => {
      const outputs = context.inferSubgraph('body', inputTypes(context).map(elementOf));
      return { outputs: outputs.map((element): ValueType => ({ kind: 'sequence', element })) };
    },
    dimensions: () => unknownMap(ofElements),
    cost: (context) =>
      unknownCount(
        'how many elements the sequence has is known only when the model runs',
        'one element',
        context.subgraphCost('body'),
      ),
  }),
  define({
    type: 'Optional',
    since: 15,
    documentation: 'a value that may be absent (ONNX Operators, Optional-28)',
    inputs: [data('input')],
    pytorch: { layer: 'Optional', autocast: 'widest' },
    runner: noRule.sequences,
    infer: (context) => single({ kind: 'optional', element: context.inputType(0) ?? typeOfEmpty(context) }),
    dimensions: () => unknownMap(ofElements),
    cost: (context) => viewCost(context),
  }),
  define({
    type: 'OptionalGetElement',
    since: 15,
    documentation: 'the value of an optional (ONNX Operators, OptionalGetElement-28)',
    inputs: [data('input')],
    pytorch: { layer: 'OptionalGetElement', autocast: 'widest' },
    runner: noRule.sequences,
    infer: (context) => {
      const type = context.inputType(0);
      return single(type?.kind === 'sequence' ? type : elementOf(type));
    },
    dimensions: () => unknownMap(ofElements),
    cost: () => shapeCost,
  }),
  define({
    type: 'OptionalHasElement',
    since: 15,
    documentation: 'whether an optional has a value (ONNX Operators, OptionalHasElement-28)',
    inputs: [detached('input')],
    pytorch: { layer: 'OptionalHasElement', autocast: 'widest' },
    runner: noRule.sequences,
    infer: () => single(tensor('bool', [])),
    dimensions: () => unknownMap(ofElements),
    cost: () => shapeCost,
  }),
];

/** An optional without a value says by an attribute what it could hold. */
function typeOfEmpty(context: InferenceContext): ValueType {
  const attribute = context.attribute('type');
  if (attribute?.kind !== 'type_proto') return unknownValue('the optional is empty');
  return valueTypeOf(attribute.value, (size) =>
    typeof size === 'string' ? symbol(size) : (size ?? unknownDimension('the optional leaves it open')),
  );
}

const differ = 'the elements of the sequence have different shapes';

const inputTypes = (context: InferenceContext): readonly ValueType[] =>
  Array.from(
    { length: context.inputCount },
    (_, index) => context.inputType(index) ?? unknownValue('an element is missing'),
  );

function elementOf(type: ValueType | undefined): ValueType {
  if (type === undefined) return unknownValue('the sequence is missing');
  return type.kind === 'sequence' || type.kind === 'optional' ? type.element : type;
}

const elementsOf = (type: ValueType | undefined): readonly ValueType[] | undefined =>
  type?.kind === 'sequence' ? type.elements : undefined;

function sequenceOf(elements: readonly ValueType[], otherwise?: ValueType): SequenceType {
  const [first, ...others] = elements;
  const element =
    first === undefined
      ? (otherwise ?? unknownValue('the sequence is empty'))
      : others.reduce((left, right) => unifyTypes(left, right, differ), first);
  return { kind: 'sequence', element, elements };
}

/** Position given by the last input, `undefined` where it is unknown; the end where it is absent. */
function positionIn(
  context: InferenceContext,
  elements: readonly ValueType[] | undefined,
  room: number,
): number | undefined {
  if (elements === undefined) return undefined;
  const index = room === 1 ? 2 : 1;
  if (context.inputType(index) === undefined) return elements.length - 1 + room;
  const position = scalarOf(context, index);
  if (typeof position !== 'number') return undefined;
  // A position may name the place behind the last element, but a negative one counts from the last.
  return position === elements.length && room === 1 ? position : normalizeAxis(position, elements.length);
}

function insertedInto(context: InferenceContext): ValueType {
  const type = context.inputType(0);
  const inserted = context.inputType(1) ?? unknownValue('the inserted tensor is missing');
  const elements = elementsOf(type);
  const position = positionIn(context, elements, 1);
  if (elements !== undefined && position !== undefined) {
    return sequenceOf(elements.toSpliced(position, 0, inserted));
  }
  const element = elementOf(type);
  const empty = element.kind === 'unknown' || elements?.length === 0;
  return { kind: 'sequence', element: empty ? inserted : unifyTypes(element, inserted, differ) };
}

function erasedFrom(context: InferenceContext): ValueType {
  const type = context.inputType(0);
  const elements = elementsOf(type);
  const position = positionIn(context, elements, 0);
  return elements === undefined || position === undefined
    ? { kind: 'sequence', element: elementOf(type) }
    : sequenceOf(elements.toSpliced(position, 1), elementOf(type));
}

function inferSplitToSequence(context: InferenceContext): Inference {
  const input = context.inputShape(0);
  const elementType = elementTypeOf(context, 0);
  const axis = input && normalizeAxis(context.int('axis', 0), input.length);
  const size = axis === undefined ? undefined : input?.[axis];
  if (input === undefined || axis === undefined || size === undefined) {
    const element = tensorOfUnknownShape(elementType, 'the shape of the input is unknown');
    return single({ kind: 'sequence', element });
  }
  const parts = integersOf(context, 1, 'split');
  const removes = parts.kind === 'absent' && context.int('keepdims', 1) === 0;
  const partType = (part: Dimension): ValueType =>
    tensor(
      elementType,
      input
        .map((own, position) => (position === axis ? part : own))
        .filter((_, position) => !(removes && position === axis)),
    );
  const given = parts.kind === 'known' ? numbersOf(parts.values) : undefined;
  if (given?.some((part) => part < 0) || (given?.length === 1 && given[0] === 0))
    return invalid(`parts ${printShape(given)} must be positive`);
  if (parts.kind === 'absent') return single(repeated(partType(1), size));
  if (given === undefined) {
    return single({
      kind: 'sequence',
      element: partType(unknownDimension('the parts of the sequence differ')),
    });
  }
  const [only] = given;
  const scalar = context.inputShape(1)?.length === 0;
  if (!scalar) return single(sequenceOf(given.map(partType)));
  if (only === undefined || only <= 0 || typeof size !== 'number') {
    return single({ kind: 'sequence', element: partType(unknownDimension('the last part may be smaller')) });
  }
  const whole = Array.from({ length: Math.min(Math.floor(size / only), longestSequence) }, () =>
    partType(only),
  );
  const rest = size % only;
  return single(sequenceOf(rest === 0 ? whole : [...whole, partType(rest)]));
}

/** Positions are followed in short sequences only. */
const longestSequence = 256;

function repeated(element: ValueType, count: Dimension): ValueType {
  return typeof count === 'number' && count <= longestSequence
    ? { kind: 'sequence', element, elements: Array.from({ length: count }, () => element) }
    : { kind: 'sequence', element };
}

function inferConcatFromSequence(context: InferenceContext): Inference {
  const type = context.inputType(0);
  const element = elementOf(type);
  if (element.kind !== 'tensor' || !isKnownShape(element.shape)) return single(element);
  const { shape } = element;
  const elements = elementsOf(type);
  const stacks = context.int('new_axis', 0) === 1;
  const axis = normalizeAxis(context.int('axis', 0), shape.length + (stacks ? 1 : 0)) ?? 0;
  const open = unknownDimension('how many elements the sequence has is known only when the model runs');
  if (stacks) {
    const count = elements?.length ?? open;
    return single(tensor(element.elementType, [...shape.slice(0, axis), count, ...shape.slice(axis)]));
  }
  const total =
    elements?.reduce<Dimension>((sum, part) => {
      const own = part.kind === 'tensor' && isKnownShape(part.shape) ? part.shape[axis] : undefined;
      return addDimensions(sum, own ?? open);
    }, 0) ?? open;
  return single(
    tensor(
      element.elementType,
      shape.map((own, position) => (position === axis ? total : own)),
    ),
  );
}
