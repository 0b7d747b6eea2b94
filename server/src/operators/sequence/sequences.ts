/** Sequences and optionals: lists of tensors, handled on the host. */

import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import { elementTypeOfNumber } from '../../model/elementType.ts';
import { isKnownShape, type ValueType } from '../../model/graph.ts';
import type { InferenceContext, OperatorDefinition } from '../definition.ts';
import { integersOf, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { define } from '../vocabulary/define.ts';
import { copyCost, viewCost } from '../vocabulary/movement.ts';
import { elementTypeOf, single, tensor, tensorOfUnknownShape, unknownValue } from '../vocabulary/types.ts';
import { unifyTypes } from '../vocabulary/unify.ts';
import { shapeCost, unknownCost } from '../vocabulary/work.ts';

const elementOf = (type: ValueType | undefined): ValueType =>
  type?.kind === 'sequence' || type?.kind === 'optional'
    ? type.element
    : type === undefined || type.kind === 'unknown'
      ? unknownValue(type?.reason ?? 'the sequence is missing')
      : type;

const differ = 'the elements of the sequence have different shapes';

function insertedInto(context: InferenceContext): ValueType {
  const element = elementOf(context.inputType(0));
  const inserted = context.inputType(1) ?? unknownValue('the inserted tensor is missing');
  const empty = element.kind === 'unknown' || (element.kind === 'tensor' && !isKnownShape(element.shape));
  return { kind: 'sequence', element: empty ? inserted : unifyTypes(element, inserted, differ) };
}

export const sequenceOperators: readonly OperatorDefinition[] = [
  define({
    type: 'SequenceEmpty',
    since: 11,
    documentation: 'a sequence without elements (ONNX Operators, SequenceEmpty-11)',
    infer: (context) =>
      single({
        kind: 'sequence',
        element: tensorOfUnknownShape(
          elementTypeOfNumber(context.int('dtype', 1)) ?? 'float32',
          'the sequence is empty',
        ),
      }),
    cost: () => shapeCost,
  }),
  define({
    type: 'SequenceConstruct',
    since: 11,
    documentation: 'a sequence of the inputs (ONNX Operators, SequenceConstruct-11)',
    infer: (context) => {
      const types = Array.from(
        { length: context.inputCount },
        (_, index) => context.inputType(index) ?? unknownValue('an element is missing'),
      );
      return single({
        kind: 'sequence',
        element: types.reduce((left, right) => unifyTypes(left, right, differ)),
      });
    },
    cost: (context) => viewCost(context),
  }),
  define({
    type: 'SequenceInsert',
    since: 11,
    documentation: 'a sequence with one more element (ONNX Operators, SequenceInsert-11)',
    infer: (context) => single(insertedInto(context)),
    cost: () => shapeCost,
  }),
  define({
    type: 'SequenceErase',
    since: 11,
    documentation: 'a sequence with one element less (ONNX Operators, SequenceErase-11)',
    infer: (context) => single(context.inputType(0) ?? unknownValue('the sequence is missing')),
    cost: () => shapeCost,
  }),
  define({
    type: 'SequenceAt',
    since: 11,
    documentation: 'one element of a sequence (ONNX Operators, SequenceAt-11)',
    infer: (context) => single(elementOf(context.inputType(0))),
    cost: () => shapeCost,
  }),
  define({
    type: 'SequenceLength',
    since: 11,
    documentation: 'how many elements a sequence has (ONNX Operators, SequenceLength-11)',
    infer: () => single(tensor('int64', [])),
    cost: () => shapeCost,
  }),
  define({
    type: 'SplitToSequence',
    since: 11,
    documentation: 'parts along an axis as a sequence (ONNX Operators, SplitToSequence-11)',
    infer: (context) => {
      const input = context.inputShape(0);
      const elementType = elementTypeOf(context, 0);
      const axis = input && normalizeAxis(context.int('axis', 0), input.length);
      if (input === undefined || axis === undefined) {
        return single({
          kind: 'sequence',
          element: tensorOfUnknownShape(elementType, 'the shape of the input is unknown'),
        });
      }
      const parts = integersOf(context, 1, 'split');
      const sizes = parts.kind === 'known' ? numbersOf(parts.values) : undefined;
      const part: Dimension =
        parts.kind === 'absent'
          ? 1
          : sizes?.every((size) => size === sizes[0])
            ? (sizes[0] ?? 1)
            : unknownDimension('the parts of the sequence differ');
      const removes = parts.kind === 'absent' && context.int('keepdims', 1) === 0;
      const shape = input
        .map((size, position): Dimension => (position === axis ? part : size))
        .filter((_, position) => !(removes && position === axis));
      return single({ kind: 'sequence', element: tensor(elementType, shape) });
    },
    cost: (context) => viewCost(context),
  }),
  define({
    type: 'ConcatFromSequence',
    since: 11,
    documentation: 'the elements of a sequence joined along an axis (ONNX Operators, ConcatFromSequence-11)',
    infer: (context) => {
      const element = elementOf(context.inputType(0));
      if (element.kind !== 'tensor' || !isKnownShape(element.shape)) return single(element);
      const { shape } = element;
      const count = unknownDimension('how many elements the sequence has is known only when the model runs');
      const stacks = context.int('new_axis', 0) === 1;
      const axis = normalizeAxis(context.int('axis', 0), shape.length + (stacks ? 1 : 0)) ?? 0;
      return single(
        tensor(
          element.elementType,
          stacks
            ? [...shape.slice(0, axis), count, ...shape.slice(axis)]
            : shape.map((size, position) => (position === axis ? count : size)),
        ),
      );
    },
    cost: (context) => copyCost(context),
  }),
  define({
    type: 'SequenceMap',
    since: 17,
    documentation: 'a subgraph applied to every element of sequences (ONNX Operators, SequenceMap-17)',
    infer: (context) => {
      const inputs = Array.from({ length: context.inputCount }, (_, index) =>
        elementOf(context.inputType(index)),
      );
      return {
        outputs: context
          .inferSubgraph('body', inputs)
          .map((element): ValueType => ({ kind: 'sequence', element })),
      };
    },
    cost: () => unknownCost('how many elements the sequence has is known only when the model runs'),
  }),
  define({
    type: 'Optional',
    since: 15,
    documentation: 'a value that may be absent (ONNX Operators, Optional-15)',
    infer: (context) =>
      single({ kind: 'optional', element: context.inputType(0) ?? unknownValue('the optional is empty') }),
    cost: (context) => viewCost(context),
  }),
  define({
    type: 'OptionalGetElement',
    since: 15,
    documentation: 'the value of an optional (ONNX Operators, OptionalGetElement-18)',
    infer: (context) => {
      const type = context.inputType(0);
      return single(type?.kind === 'sequence' ? type : elementOf(type));
    },
    cost: () => shapeCost,
  }),
  define({
    type: 'OptionalHasElement',
    since: 15,
    documentation: 'whether an optional has a value (ONNX Operators, OptionalHasElement-18)',
    infer: () => single(tensor('bool', [])),
    cost: () => shapeCost,
  }),
];
