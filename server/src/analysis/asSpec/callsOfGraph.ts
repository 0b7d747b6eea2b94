/**
 * A graph as calls of a layer spec, in the order of execution: layers with weights and composites by PyTorch's names,
 * other operators by the function that is the same operator, else by their ONNX names.
 */

import type { Composite } from '../../composites/composite.ts';
import { isWeight, type Operator } from '../../model/graph.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';
import { isStoredTable } from '../storedTable.ts';
import { callOfComposite } from './callOfComposite.ts';
import { groupsChannels } from './callOfGroupNorm.ts';
import { callOfOperator } from './callOfOperator.ts';
import { callOfWeighted } from './callOfWeighted.ts';
import type { GraphFacts } from './graphFacts.ts';
import { type SpecCall, valuesOf } from './specCall.ts';

export interface GraphCalls {
  /** What the model computes, in order. */
  readonly main: readonly SpecCall[];
  /** What only stores or re-arranges weights and constants, by the value that it gives. */
  readonly stored: ReadonlyMap<string, SpecCall>;
}

export function callsOfGraph(composed: ModelAnalysis['composites'], facts: GraphFacts): GraphCalls {
  const taken = new Set<number>();
  const main: SpecCall[] = [];
  const composites = new Map<Composite, SpecCall | undefined>();
  for (const operator of facts.graph.operators) {
    if (taken.has(operator.index) || facts.isAuxiliary(operator.index)) continue;
    const composite = composed.get(operator.index) ?? groupsChannels(operator, composed, facts);
    if (composite !== undefined && !composites.has(composite)) {
      const call = callOfComposite(composite, facts);
      composites.set(composite, call);
      for (const index of call?.operators ?? []) taken.add(index);
    }
    if (taken.has(operator.index)) continue;
    const call = callOfWeighted(operator, facts) ?? callOfOperator(operator, facts);
    if (call.operators.some((index) => taken.has(index) && index !== operator.index)) {
      main.push(callOfOperator(operator, facts));
    } else main.push(call);
    for (const index of main.at(-1)?.operators ?? []) taken.add(index);
  }
  for (const call of composites.values()) if (call !== undefined) main.push(call);
  // A call stands where its last operator stands: what it reads is there by then.
  const ordered = main.toSorted((left, right) => lastOf(left) - lastOf(right));
  return { main: ordered, stored: storedCalls(ordered, facts) };
}

const lastOf = ({ operators }: SpecCall): number => operators.at(-1) ?? 0;

/** The tensors that calls read and no call gives: trained ones, tables, and what re-arranges them. */
function storedCalls(main: readonly SpecCall[], facts: GraphFacts): ReadonlyMap<string, SpecCall> {
  const given = new Set(main.flatMap(({ outputs }) => outputs));
  for (const name of facts.graph.inputs) given.add(name);
  const calls = new Map<string, SpecCall>();
  const wanted = main.flatMap(valuesOf);
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (name === '' || given.has(name) || calls.has(name)) continue;
    const call = callOfStored(name, facts);
    calls.set(name, call);
    wanted.push(...valuesOf(call));
  }
  return calls;
}

function callOfStored(name: string, facts: GraphFacts): SpecCall {
  const value = facts.graph.values.get(name);
  const producer = value?.producer === undefined ? undefined : facts.graph.operators[value.producer];
  if (producer !== undefined && (isLayoutOfWeight(producer, facts) || facts.numbersOf(name) === undefined)) {
    return callOfOperator(producer, facts);
  }
  const base = { kind: 'module', inputs: [], outputs: [name], operators: [] } as const;
  const shape = facts.numbersOf(name);
  const type = value?.type.kind === 'tensor' ? value.type.elementType : undefined;
  if (value === undefined || shape === undefined || type === undefined) {
    return {
      ...base,
      callee: 'Buffer',
      settings: [],
      problem: `the sizes of the stored tensor ${name} are unknown`,
    };
  }
  const sizes = shape.map(String);
  if (shape.includes(0)) {
    return { ...base, callee: 'Buffer', settings: sizes, problem: `${name} has no elements` };
  }
  if (isWeight(value.role)) {
    const isFloat = type === 'float32';
    return {
      ...base,
      callee: 'Parameter',
      settings: sizes,
      ...(isFloat ? {} : { problem: `the weight ${name} is stored in ${type}` }),
      ...(value.role === 'frozen' ? { frozen: true as const } : {}),
    };
  }
  const isKnown = type === 'float32' || type === 'int64' || type === 'int32' || type === 'bool';
  return {
    ...base,
    callee: 'Buffer',
    settings: [
      ...sizes,
      ...(type === 'float32' ? [] : [`dtype='${type}'`]),
      ...(isStoredTable(facts.graph, value) ? [] : ['computed=True']),
    ],
    ...(isKnown ? {} : { problem: `the stored tensor ${name} is ${type}` }),
  };
}

const isLayoutOfWeight = (producer: Operator, facts: GraphFacts): boolean =>
  producer.inputs.some((name) => isWeight(facts.graph.values.get(name)?.role));
