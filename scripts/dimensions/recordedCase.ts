/** An operator applied to numbers, as `execute.py` writes it, and its dimension map. */

import { type ElementType, elementTypes } from '../../server/src/model/elementType.ts';
import type { TensorContent, ValueType } from '../../server/src/model/graph.ts';
import {
  type AttributeShorthand,
  attributesOf,
  makeInferenceContext,
} from '../../server/src/operators/context.ts';
import type { DimensionMap } from '../../server/src/operators/dimensionMap.ts';
import { findOperator } from '../../server/src/operators/registry.ts';

export interface RecordedCase {
  readonly name: string;
  readonly domain: string;
  readonly type: string;
  readonly opset: number;
  /** `null` where an optional input is absent. */
  readonly inputs: readonly (RecordedInput | null)[];
  readonly attributes: Readonly<Record<string, AttributeShorthand>>;
  readonly outputs: number;
}

interface RecordedInput {
  readonly type: string;
  readonly shape: readonly number[];
  /** Small inputs of numbers. */
  readonly content?: readonly number[];
}

/** The case as its definition sees it; `undefined` where there is no definition. */
export function applicationOf(record: RecordedCase) {
  const definition = findOperator(record.domain, record.type, record.opset);
  return (
    definition && {
      definition,
      opset: record.opset,
      inputs: record.inputs.map(typeOf),
      contents: record.inputs.map(contentOf),
      attributes: attributesOf(record.attributes),
      outputCount: record.outputs,
    }
  );
}

export function mapOfRecord(record: RecordedCase): DimensionMap | undefined {
  const application = applicationOf(record);
  return application?.definition.dimensions(makeInferenceContext(application));
}

function typeOf(input: RecordedInput | null): ValueType | undefined {
  if (input === null) return undefined;
  const elementType: ElementType = elementTypes.find((type) => type === input.type) ?? 'undefined';
  return { kind: 'tensor', elementType, shape: input.shape };
}

const contentOf = (input: RecordedInput | null): TensorContent | undefined =>
  input?.content === undefined ? undefined : { shape: input.shape, elements: input.content };
