/** What compiled forward keeps for backward, by what the backward of each operator reads. */

import { producerOf } from '../../../composites/flow.ts';
import { itemAt } from '../../../model/at.ts';
import type { Operator } from '../../../model/graph.ts';
import { hasTrait } from '../../../operators/operatorFacts.ts';
import type { KeptTensor } from '../../behaviour.ts';
import { type CompiledGraph, extra, isFusible, keptTensor } from './compiledGraph.ts';
import { type Asked, keptOf } from './keep.ts';
import { usedFarApart } from './usedFarApart.ts';

export interface KeptForBackward {
  /** Values of the graph, and tensors made only to be kept. */
  readonly values: ReadonlySet<string>;
  /** By the operator that is the first to keep each. */
  readonly saved: ReadonlyMap<number, readonly KeptTensor[]>;
  /** What the backward of an operator reads of forward. */
  readonly readBy: (operator: Operator) => readonly string[];
  /** Backward of the operator normalizes a batch again, and uses the result more than once. */
  readonly normalizesAgain: (operator: Operator) => boolean;
}

export function keptForBackward(graph: CompiledGraph): KeptForBackward {
  const { values: graphValues } = graph.training.analysis.graph;
  const asked = new Map<string, Asked>();
  const weightCopies = new Map<number, KeptTensor[]>();
  const reads = new Map<number, readonly string[]>();
  /** By what is no value of the graph, such as a mask: what it is made of. */
  const madeOf = new Map<string, readonly string[]>();
  const first = new Map<string, number>();
  for (const operator of graph.training.analysis.graph.operators) {
    const names: string[] = [];
    for (const each of askedBy(graph, operator)) {
      if ('weightCopy' in each) {
        const known = weightCopies.get(operator.index) ?? [];
        known.push(each);
        weightCopies.set(operator.index, known);
        continue;
      }
      names.push(each.key);
      if (each.from[0] !== each.key) madeOf.set(each.key, each.from);
      for (const key of [each.key, ...each.from.filter((from) => !graphValues.has(from))]) {
        if (!first.has(key)) first.set(key, operator.index);
      }
      const before = asked.get(each.key);
      asked.set(
        each.key,
        before === undefined ? each : { ...each, mustStay: before.mustStay || each.mustStay },
      );
    }
    reads.set(operator.index, names);
  }
  const sourcesOf = sources(graph);
  const values = keptOf(asked, sourcesOf, weightOf(graph));
  const saved = new Map<number, KeptTensor[]>();
  for (const [index, copies] of weightCopies) saved.set(index, copies);
  for (const key of values) {
    const index = first.get(key) ?? graphValues.get(key)?.consumers[0] ?? graphValues.get(key)?.producer;
    const role = graphValues.get(key)?.role;
    if (index === undefined || role === 'constant' || role === 'buffer' || graph.isWeight(key)) continue;
    const known = saved.get(index) ?? [];
    known.push(keptTensor(`${key}:${graph.bytesOf(key)}`, graph.bytesOf(key)));
    saved.set(index, known);
  }
  /** A value that is computed again is read as what it is made of. */
  const leaves = (key: string, found: Set<string>, hops: number): void => {
    const from = values.has(key) || hops > 16 ? undefined : sourcesOf(key);
    if (from === undefined) found.add(key);
    else for (const each of from) leaves(each, found, hops + 1);
  };
  const readBy = (operator: Operator): readonly string[] => {
    const found = new Set<string>();
    for (const key of reads.get(operator.index) ?? []) {
      // The mask of a value that is kept anyway is read off it.
      const read = values.has(key) ? [key] : (madeOf.get(key) ?? [key]);
      for (const each of read) leaves(each, found, 0);
    }
    return [...found];
  };
  const normalizesAgain = (operator: Operator): boolean =>
    !hasTrait(operator, 'threshold-of-result') &&
    (reads.get(operator.index) ?? []).some((key) => {
      const name = maskedValue(key) ?? key;
      const producer = makerOf(graph, values.has(key) || values.has(name) ? '' : name);
      return producer !== undefined && graph.partOf(producer) === 'batch normalization';
    });
  return { values, saved, readBy, normalizesAgain };
}

const makerOf = ({ training }: CompiledGraph, name: string): Operator | undefined =>
  producerOf(training.analysis.graph, name);

type Request = ({ readonly key: string } & Asked) | KeptTensor;

function askedBy(graph: CompiledGraph, operator: Operator): readonly Request[] {
  const { index } = operator;
  const lowered = graph.eager.operators[index];
  const cost = graph.costOf(index);
  if (lowered === undefined || cost === undefined || lowered.saved.length === 0) return [];
  const part = graph.partOf(operator);
  const [output = ''] = operator.outputs;
  if (part === 'window') {
    // Where the largest was: an offset of one byte (`_low_memory_max_pool_with_offsets`).
    if (operator.type.includes('MaxPool')) return [request(offsetsOf(graph, operator), true)];
    // The partitioner takes the backward of other pooling for a library's, which reads the input as it is.
    return graph.readsOf(operator).map((name) => request(name, true));
  }
  const threshold = thresholdOf(graph, operator);
  return lowered.saved.flatMap((tensor): readonly Request[] => {
    if (tensor.weightCopy) return [tensor];
    const name = nameIn(tensor.key);
    if (name === undefined) {
      const key = extra(tensor.key, tensor.bytes);
      if (part === 'extern' || !hasTrait(operator, 'loss-of-scores')) return [request(key, true)];
      return [{ key, mustStay: false, from: inputsAgain(graph, operator) }];
    }
    // Its own result, which was stored in the type that libraries read.
    const isNarrowed = name === output && tensor.bytes > graph.bytesOf(name);
    if (isNarrowed && part !== 'extern') {
      return [
        {
          key: extra(`${name} as computed`, tensor.bytes),
          mustStay: false,
          from: inputsAgain(graph, operator),
        },
      ];
    }
    if (threshold !== undefined) return [{ key: threshold.mask, mustStay: false, from: [threshold.of] }];
    if (part !== 'extern') return [request(name, false)];
    // A library reads it in the type that it computes in: a cast is stored for it.
    const isCast = tensor.bytes !== graph.bytesOf(name);
    return [isCast ? request(extra(name, tensor.bytes), true) : request(name, true)];
  });
}

/** One byte per element, whether a value is above a threshold: `threshold_backward` asks that of the result, others of what they were given. */
function thresholdOf(
  graph: CompiledGraph,
  operator: Operator,
): { readonly of: string; readonly mask: string } | undefined {
  const [input = ''] = operator.inputs;
  const [output = ''] = operator.outputs;
  const isOfResult = hasTrait(operator, 'threshold-of-result');
  if (!isOfResult && !hasTrait(operator, 'threshold')) return undefined;
  const of = isOfResult ? output : graph.eager.storage(input);
  return { of, mask: extra(`mask of ${of}`, graph.elementsOf(output)) };
}

/** What an operator can make for backward, beside what it gives. */
export function madeForBackward(graph: CompiledGraph, operator: Operator): readonly string[] {
  const threshold = thresholdOf(graph, operator);
  return [...statisticsOf(graph, operator), ...(threshold === undefined ? [] : [threshold.mask])];
}

/** Of a pooling by maxima: where the largest of each window was. */
export const offsetsOf = (graph: CompiledGraph, { index, outputs }: Operator): string =>
  extra(`${index}/offsets`, graph.elementsOf(outputs[0]));

/** What a result is computed from again: for a softmax also by two numbers of each row. */
function inputsAgain(graph: CompiledGraph, operator: Operator): readonly string[] {
  const inputs = graph.readsOf(operator).filter((name) => !graph.isWeight(name));
  if (graph.partOf(operator) !== 'rows') return inputs;
  const [scores = ''] = inputs;
  const rows = graph.elementsOf(scores) / Math.max(1, graph.rowOf(operator));
  return [scores, extra(`${operator.index}/rows`, 8 * rows)];
}

const request = (key: string, mustStay: boolean): Request & Asked => ({ key, mustStay, from: [key] });

/**
 * What keeping a value takes: its bytes, twice where it would be written for that alone (PyTorch 2.13,
 * torch/_functorch/partitioners.py `get_node_weight`, `is_materialized`).
 */
function weightOf(graph: CompiledGraph): (key: string) => number {
  const { values, operators } = graph.training.analysis.graph;
  const isWrittenFor = (index: number): boolean => {
    return !isFusible(graph.partOf(itemAt(operators, index)));
  };
  return (key) => {
    const value = values.get(key);
    const isWritten =
      value !== undefined &&
      (value.producer === undefined || isWrittenFor(value.producer) || value.consumers.some(isWrittenFor));
    return (isWritten ? 1 : 2) * graph.bytesOf(key);
  };
}

const maskedValue = (key: string): string | undefined => /^mask of (.*)#\d+$/.exec(key)?.[1];

/** `name:bytes per element` of a value; what an operator makes beside its outputs has a key that starts with its index. */
function nameIn(key: string): string | undefined {
  return /^\d+\//.test(key) ? undefined : key.slice(0, key.lastIndexOf(':'));
}

/** What a value can be computed from again, element by element; `undefined` where it cannot. */
function sources(graph: CompiledGraph): (key: string) => readonly string[] | undefined {
  const farApart = usedFarApart(graph);
  return (key) => {
    const operator = makerOf(graph, key);
    if (operator === undefined) return graph.isWeight(key) ? [] : undefined;
    if (farApart.has(operator.index)) return undefined;
    const part = graph.partOf(operator);
    if (part === 'batch normalization') {
      return [...graph.readsOf(operator).slice(0, 1), ...statisticsOf(graph, operator)];
    }
    if (part === 'rows' && graph.eager.groups.get(operator.index)?.kind === 'normalization') {
      return [
        ...graph.readsOf(operator).filter((name) => !graph.isWeight(name)),
        ...statisticsOf(graph, operator),
      ];
    }
    if (part !== 'pointwise') return undefined;
    const own = hasTrait(operator, 'random') ? statisticsOf(graph, operator) : [];
    return [...graph.readsOf(operator).filter((name) => !graph.isWeight(name)), ...own];
  };
}

/** What the operator makes only for backward: kept whatever else is. */
const statisticsOf = (graph: CompiledGraph, { index }: Operator): readonly string[] =>
  (graph.eager.operators[index]?.saved ?? [])
    .filter(({ key }) => nameIn(key) === undefined)
    .map(({ key, bytes }) => extra(key, bytes));
