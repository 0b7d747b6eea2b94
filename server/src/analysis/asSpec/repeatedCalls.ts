/**
 * Blocks of calls that stand several times in a row, each fed by the one before: what a layer spec writes as
 * `decoder() * 32`. They are found by what is called and proven by data flow, so that names and scopes do not matter.
 */

import { tally } from '../../model/tally.ts';
import type { GraphCalls } from './callsOfGraph.ts';
import { type SpecCall, valuesOf } from './specCall.ts';

export interface RepeatedCalls {
  /** Index of the first call of the first block. */
  readonly start: number;
  readonly period: number;
  readonly count: number;
  /** What each block is given by the one before: outside before the first, and as the first block gives it. */
  readonly carried: readonly { readonly given: string; readonly gives: string }[];
  /** What the last block gives to the rest of the model, by the name it has in the first. */
  readonly gives: ReadonlyMap<string, string>;
  /** Stored tensors that every block has for itself, as the first has them. */
  readonly owned: ReadonlySet<string>;
}

/** In order; none overlap. */
export function repeatedCalls(calls: GraphCalls, outputs: readonly string[]): readonly RepeatedCalls[] {
  const flow = flowOf(calls, outputs);
  const work: Work = { left: mostComparisons };
  const found: RepeatedCalls[] = [];
  const search = (from: number, to: number): void => {
    const best = bestRepetition(flow, from, to, work);
    if (best === undefined) return;
    search(from, best.start);
    found.push(best);
    search(best.start + best.period * best.count, to);
  };
  search(0, calls.main.length);
  return found;
}

interface Flow {
  readonly calls: GraphCalls;
  /** By call: the same number where the same is called. */
  readonly kinds: readonly number[];
  /** By call: the values it reads. */
  readonly reads: readonly (readonly string[])[];
  readonly producer: ReadonlyMap<string, number>;
  /** Calls that read a value, stored tensors between them included. */
  readonly readers: ReadonlyMap<string, readonly number[]>;
  readonly outputs: ReadonlySet<string>;
  /** Weights that several calls use. */
  readonly shared: ReadonlySet<string>;
  readonly storedKey: (value: string) => string;
}

function flowOf(calls: GraphCalls, outputs: readonly string[]): Flow {
  const { main, stored } = calls;
  const numbers = new Map<string, number>();
  const kinds = main.map((call) => {
    const key = keyOf(call, () => '#');
    const known = numbers.get(key) ?? numbers.size;
    numbers.set(key, known);
    return known;
  });
  const producer = new Map<string, number>();
  const readers = new Map<string, number[]>();
  const weights = new Map<string, number>();
  const read = (value: string, index: number): void => {
    const known = readers.get(value);
    if (known === undefined) readers.set(value, [index]);
    else if (known.at(-1) === index) return;
    else known.push(index);
    for (const each of valuesOf(stored.get(value) ?? nothing)) read(each, index);
  };
  for (const [index, call] of main.entries()) {
    for (const value of call.outputs) producer.set(value, index);
    for (const value of valuesOf(call)) read(value, index);
    if (call.weight !== undefined) tally(weights, call.weight);
  }
  const keys = new Map<string, string>();
  const storedKey = (value: string): string => {
    const known = keys.get(value);
    if (known !== undefined) return known;
    const call = stored.get(value);
    const key = call === undefined ? `?${value}` : keyOf(call, storedKey);
    keys.set(value, key);
    return key;
  };
  const shared = new Set([...weights].flatMap(([name, count]) => (count > 1 ? [name] : [])));
  const reads = main.map(valuesOf);
  return { calls, kinds, reads, producer, readers, outputs: new Set(outputs), shared, storedKey };
}

const nothing: SpecCall = {
  callee: '',
  kind: 'module',
  inputs: [],
  settings: [],
  outputs: [],
  operators: [],
};

const keyOf = (call: SpecCall, keyOfTensor: (value: string) => string): string =>
  [
    call.callee,
    call.frozen ?? '',
    call.outputs.length,
    ...call.inputs.map((input) => (input.kind === 'tensor' ? keyOfTensor(input.value) : `=${input.text}`)),
    '|',
    ...call.settings,
  ].join(' ');

/** Blocks longer than this are no blocks; looking for them would take long. */
const longestBlock = 1500;

/** Calls that may still be compared; behind that, what repeats is written out. */
interface Work {
  left: number;
}

/** Under a second; the largest of 133 exported models, of 17,000 operators, compares 4 million. */
const mostComparisons = 40_000_000;

/** What following the data flow of a call takes, in comparisons. */
const proofCost = 20;

/** Of the repetitions between two calls the one that saves most lines. */
function bestRepetition(flow: Flow, from: number, to: number, work: Work): RepeatedCalls | undefined {
  const { kinds } = flow;
  const length = to - from;
  const longest = Math.min(longestBlock, length / 2, work.left / 2 / Math.max(1, length));
  work.left -= longest * length;
  const runs: { readonly start: number; readonly period: number; readonly length: number }[] = [];
  for (let period = 2; period <= longest; period += 1) {
    let start = from;
    for (let index = from; index <= to - period; index += 1) {
      if (index < to - period && kinds[index] === kinds[index + period]) continue;
      if (index - start >= period) runs.push({ start, period, length: index - start });
      start = index + 1;
    }
  }
  const saved = ({ period, length }: { period: number; length: number }): number =>
    Math.floor(length / period) * period;
  runs.sort((left, right) => saved(right) - saved(left) || left.period - right.period);
  for (const run of runs.slice(0, mostRuns)) {
    const found = alignedRepetition(flow, run, work);
    if (found !== undefined) return found;
  }
  return undefined;
}

const mostRuns = 40;

/** Where the blocks begin: where they hand the fewest tensors to each other, and as many as can be. */
function alignedRepetition(
  flow: Flow,
  { start, period, length }: { readonly start: number; readonly period: number; readonly length: number },
  work: Work,
): RepeatedCalls | undefined {
  const most = Math.floor(length / period) + 1;
  for (const count of new Set([most, most - 1])) {
    if (count < 2) continue;
    let best: RepeatedCalls | undefined;
    for (let at = start; at + count * period <= start + length + period && at < start + period; at += 1) {
      work.left -= period * count * proofCost;
      if (work.left < 0) return best;
      const found = provenRepetition(flow, at, period, count);
      if (found === undefined) continue;
      if (best === undefined || found.carried.length < best.carried.length) best = found;
      if (best.carried.length === 1) break;
    }
    if (best !== undefined) return best;
  }
  return undefined;
}

function provenRepetition(
  { calls: { main, stored }, reads, producer, readers, outputs, shared, storedKey }: Flow,
  start: number,
  period: number,
  count: number,
): RepeatedCalls | undefined {
  const end = start + period * count;
  const isWithin = (value: string, block: number): boolean =>
    (readers.get(value) ?? []).every(
      (index) => index >= start + block * period && index < start + (block + 1) * period,
    );
  /** By value outside the first block: what the first block gives in its place. */
  const carried = new Map<string, string>();
  const owned = new Set<string>();
  const common = new Set<string>();
  /** Whether a stored tensor of the first block is like another block's, and every block has its own. */
  const isOwnStored = (value: string, image: string, block: number, like: Map<string, string>): boolean => {
    const known = like.get(value);
    if (known !== undefined) return known === image;
    like.set(value, image);
    if (value === image) {
      common.add(value);
      return !owned.has(value);
    }
    if (common.has(value) || !isWithin(value, 0) || !isWithin(image, block)) return false;
    if (storedKey(value) !== storedKey(image)) return false;
    owned.add(value);
    const [parts, its] = [value, image].map((each) => valuesOf(stored.get(each) ?? nothing));
    return (parts ?? []).every((part, at) => isOwnStored(part, its?.[at] ?? '', block, like));
  };
  let before: ReadonlyMap<string, string> = new Map();
  for (let block = 1; block < count; block += 1) {
    const like = new Map<string, string>();
    for (let offset = 0; offset < period; offset += 1) {
      const first = main[start + offset];
      const other = main[start + block * period + offset];
      if (first === undefined || other === undefined) return undefined;
      if (first.weight !== undefined && shared.has(first.weight)) return undefined;
      const own = reads[start + offset] ?? [];
      const its = reads[start + block * period + offset] ?? [];
      for (const [at, value] of own.entries()) {
        const image = its[at];
        if (image === undefined) return undefined;
        const from = producer.get(value);
        if (like.has(value) || (from !== undefined && from >= start)) {
          if (like.get(value) !== image) return undefined;
        } else if (value === image) {
          if (carried.has(value) || owned.has(value)) return undefined;
          common.add(value);
          like.set(value, image);
        } else if (stored.has(value)) {
          if (!isOwnStored(value, image, block, like)) return undefined;
        } else {
          if (common.has(value)) return undefined;
          const gives = block === 1 ? image : carried.get(value);
          if (gives === undefined) return undefined;
          const expected = block === 1 ? image : before.get(gives);
          const index = producer.get(gives) ?? -1;
          if (expected !== image || index < start || index >= start + period) return undefined;
          carried.set(value, gives);
          like.set(value, image);
        }
      }
      for (const [at, value] of first.outputs.entries()) {
        const image = other.outputs[at];
        if (image === undefined || (value === '') !== (image === '')) return undefined;
        like.set(value, image);
      }
    }
    before = like;
  }
  if (carried.size === 0) return undefined;
  // What leaves a block is read by the next one in its place, or comes from the last.
  const last = new Map([...before].map(([value, image]) => [image, value]));
  const gives = new Map<string, string>();
  const carriedOut = new Set(carried.values());
  for (let index = start; index < end; index += 1) {
    const block = Math.floor((index - start) / period);
    for (const value of main[index]?.outputs ?? []) {
      const isRead = outputs.has(value) || !isWithin(value, block);
      if (value === '' || !isRead) continue;
      if (block === count - 1) gives.set(last.get(value) ?? '', value);
      else {
        if (outputs.has(value)) return undefined;
        const next = (readers.get(value) ?? []).every((reader) => {
          const at = Math.floor((reader - start) / period);
          return reader < end && (at === block || at === block + 1);
        });
        if (!next) return undefined;
        const named = block === 0 ? value : main[start + ((index - start) % period)]?.outputs;
        const own = typeof named === 'string' ? named : named?.[main[index]?.outputs.indexOf(value) ?? 0];
        if (own === undefined || !carriedOut.has(own)) return undefined;
      }
    }
  }
  if (gives.has('')) return undefined;
  return {
    start,
    period,
    count,
    carried: [...carried].map(([given, out]) => ({ given, gives: out })),
    gives,
    owned,
  };
}
