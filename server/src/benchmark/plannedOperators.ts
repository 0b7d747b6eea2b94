/** Operators of a step as the runner executes them: attributes in JSON, and one call where PyTorch has one for several. */

import type { TensorLiteral } from '../model/attribute.ts';
import type { GraphAttribute, Operator } from '../model/graph.ts';
import type { ComposedCall } from './composedCalls.ts';
import { type BenchmarkPlan, jsonNumber, type PlannedOperator, type PlannedTensor } from './planSchema.ts';

/** Operators with calls in place of those that they stand for, and where each operator of the graph went. */
export function plannedOperators(
  running: readonly Operator[],
  calls: readonly ComposedCall[],
): { readonly operators: BenchmarkPlan['operators']; readonly positions: ReadonlyMap<number, number> } {
  const runs = new Set(running.map(({ index }) => index));
  const whole = calls.filter(({ operators: members }) => runs.has(members.at(-1) ?? -1));
  const callOf = new Map(whole.flatMap((call) => call.operators.map((index) => [index, call])));
  const operators: BenchmarkPlan['operators'] = [];
  const positions = new Map<number, number>();
  for (const operator of running) {
    const call = callOf.get(operator.index);
    // It runs where the last of them does: what each reads is there by then.
    if (call !== undefined && operator.index !== call.operators.at(-1)) continue;
    for (const index of call?.operators ?? [operator.index]) {
      if (runs.has(index)) positions.set(index, operators.length);
    }
    const written = plannedOperator(operator);
    operators.push(
      call === undefined
        ? written
        : {
            name: written.name,
            type: call.type,
            domain: call.domain,
            inputs: [...call.inputs],
            outputs: [call.output],
            attributes: Object.fromEntries(
              Object.entries(call.attributes).map(([name, value]) => [name, attributeOfCall(value)]),
            ),
            parts: running.filter(({ index }) => callOf.get(index) === call).map(plannedOperator),
          },
    );
  }
  return { operators, positions };
}

const attributeOfCall = (value: ComposedCall['attributes'][string]): PlannedOperator['attributes'][string] =>
  typeof value === 'string' ? value : typeof value === 'number' ? jsonNumber(value) : value.map(jsonNumber);

function plannedOperator(operator: Operator): PlannedOperator {
  const attributes: PlannedOperator['attributes'] = {};
  let obstacle: string | undefined;
  for (const [name, attribute] of operator.attributes) {
    const planned = plannedAttribute(attribute);
    if (planned === undefined) {
      obstacle = `its attribute ${name} (${attribute.kind}) cannot be sent to the runner`;
    } else {
      attributes[name] = planned;
    }
  }
  return {
    name: operator.name === '' ? (operator.outputs.find((output) => output !== '') ?? '') : operator.name,
    type: operator.type,
    domain: operator.domain,
    inputs: [...operator.inputs],
    outputs: [...operator.outputs],
    attributes,
    ...(obstacle === undefined ? {} : { obstacle }),
  };
}

function plannedAttribute(attribute: GraphAttribute): PlannedOperator['attributes'][string] | undefined {
  switch (attribute.kind) {
    case 'int':
    case 'float':
      return jsonNumber(attribute.value);
    case 'string':
      return attribute.value;
    case 'ints':
    case 'floats':
      return attribute.value.map(jsonNumber);
    case 'strings':
      return [...attribute.value];
    case 'tensor':
      return plannedLiteral(attribute.value);
    case 'tensors':
    case 'sparse_tensor':
    case 'type_proto':
    case 'graph':
    case 'graphs':
    case 'reference':
    case 'other':
      return undefined;
  }
}

function plannedLiteral(literal: TensorLiteral): PlannedTensor {
  return {
    elementType: literal.elementType,
    shape: [...literal.dimensions],
    ...(literal.elements === undefined ? {} : { elements: literal.elements.map(jsonNumber) }),
  };
}
