/** Finds every composite of a graph: patterns in their order, the first that takes an operator has it. */

import type { Graph, Operator } from '../model/graph.ts';
import type { Composite, CompositeMatch, CompositePattern, OperatorOrigin } from './composite.ts';
import { readersOf } from './flow.ts';
import { isOfOneLine, launchedAs } from './launchedAs.ts';
import { recordedCalls } from './recordedCall.ts';
import { unrecordedMaxima } from './unrecordedMaximum.ts';

/** By the index of each of their operators. An operator is part of one composite at most. */
export type Composites = ReadonlyMap<number, Composite>;

/** Larger composites stand first: what they contain is not looked for again. `originOf`: by index of an operator. */
export function findComposites(
  graph: Graph,
  patterns: readonly CompositePattern[],
  originOf: (index: number) => OperatorOrigin = () => nothingSaid,
): Composites {
  const found = new Map<number, Composite>();
  const anchors = anchorsByType(graph, patterns);
  const given = new Set(graph.outputs);
  for (const pattern of patterns) {
    for (const operator of pattern.anchors.flatMap((type) => anchors.get(type) ?? [])) {
      if (found.has(operator.index)) continue;
      const match = pattern.match(graph, operator);
      if (match === undefined || match.operators.some((index) => found.has(index))) continue;
      const launched = launchedAs(pattern, match, originOf);
      const leaves = pattern.leavesCalls === true && launched === 'several';
      const operators = leaves ? outsideCalls(match.operators, originOf) : match.operators;
      if (operators.length === 0) continue;
      const composite = {
        ...match,
        operators,
        kind: pattern.kind,
        name: pattern.name,
        launchedAs: launched,
        ...(pattern.keeps === undefined ? {} : { keeps: pattern.keeps }),
        ...(pattern.makesAgain === undefined ? {} : { makesAgain: pattern.makesAgain }),
        ...(pattern.autocast === undefined ? {} : { autocast: pattern.autocast }),
        ...(isOfOneLine(match, originOf) ? { isFusible: false } : {}),
        ...boundaryOf(graph, { ...match, operators }, given),
      };
      for (const index of operators) found.set(index, composite);
    }
  }
  for (const call of recordedCalls(graph, originOf, (index) => found.has(index))) {
    const boundary = boundaryOf(graph, call, given);
    if (boundary.outputs.length !== 1) continue;
    const composite: Composite = { ...call, kind: 'recorded-call', ...boundary };
    for (const index of call.operators) found.set(index, composite);
  }
  for (const maximum of unrecordedMaxima(graph, originOf, (index) => found.has(index))) {
    const boundary = boundaryOf(graph, maximum, given);
    for (const index of maximum.operators) {
      found.set(index, { ...maximum, kind: 'assumed-maximum', keeps: 'positions', ...boundary });
    }
  }
  return found;
}

const nothingSaid: OperatorOrigin = {};

/** Of what a model writes out, all but the calls that an exporter took apart: smaller patterns find them. */
function outsideCalls(
  operators: readonly number[],
  originOf: (index: number) => OperatorOrigin,
): readonly number[] {
  const callOf = (index: number): string | undefined => originOf(index).call?.name;
  const calls = operators.flatMap((index) => callOf(index) ?? []);
  const isTakenApart = (call: string): boolean => calls.indexOf(call) !== calls.lastIndexOf(call);
  return operators.filter((index) => {
    const call = callOf(index);
    return call === undefined || !isTakenApart(call);
  });
}

function anchorsByType(
  { operators }: Graph,
  patterns: readonly CompositePattern[],
): ReadonlyMap<string, readonly Operator[]> {
  const byType = new Map<string, Operator[]>();
  for (const { anchors } of patterns) for (const type of anchors) byType.set(type, []);
  for (const operator of operators) byType.get(operator.type)?.push(operator);
  return byType;
}

/** The values that cross the boundary of a match. */
function boundaryOf(
  graph: Graph,
  { operators }: CompositeMatch,
  given: ReadonlySet<string>,
): Pick<Composite, 'inputs' | 'outputs'> {
  const members = new Set(operators);
  const inputs = new Set<string>();
  const outputs: string[] = [];
  for (const index of operators) {
    const operator = graph.operators[index];
    if (operator === undefined) continue;
    for (const input of operator.inputs) {
      const producer = graph.values.get(input)?.producer;
      if (input !== '' && (producer === undefined || !members.has(producer))) inputs.add(input);
    }
    for (const output of operator.outputs) {
      const isRead = readersOf(graph, output).some(({ index: reader }) => !members.has(reader));
      if (isRead || given.has(output)) outputs.push(output);
    }
  }
  return { inputs: [...inputs], outputs };
}
