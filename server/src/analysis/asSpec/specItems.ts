/** What a list of layers holds: calls, and calls of blocks, each with its place among modules and its names. */

import { tally } from '../../model/tally.ts';
import { isAnonymousTensor } from '../../model/tensorNames.ts';
import type { GraphCalls } from './callsOfGraph.ts';
import { type CallPath, functionWord } from './pathOfCall.ts';
import type { RepeatedCalls } from './repeatedCalls.ts';
import { type SpecCall, valuesOf } from './specCall.ts';
import { wordOf } from './specValues.ts';

export interface SpecItem {
  readonly path: CallPath;
  /** Absent for a call of a block. */
  readonly call?: SpecCall;
  readonly block?: SpecBlockItem;
  /** By repetition of the list it is in: indices of operators. */
  readonly operators: readonly (readonly number[])[];
}

export interface SpecBlockItem extends RepeatedCalls {
  /** What it is made of, as it stands in the first repetition. */
  readonly items: readonly SpecItem[];
  /** Values of the first repetition that leave it, those that the next one takes first. */
  readonly outs: readonly string[];
}

/** The list of layers of the model. */
export function specItems(
  { main }: GraphCalls,
  paths: readonly CallPath[],
  repetitions: readonly RepeatedCalls[],
): readonly SpecItem[] {
  const items: SpecItem[] = [];
  const itemOf = (
    index: number,
    count: number,
    period: number,
    prefix: readonly string[] = [],
  ): readonly SpecItem[] => {
    const call = main[index];
    const whole = paths[index];
    if (call === undefined || whole === undefined) return [];
    const path = pathWithin(whole, prefix);
    const operators = Array.from(
      { length: count },
      (_, block) => main[index + block * period]?.operators ?? [],
    );
    return [{ path, call, operators }];
  };
  let next = 0;
  for (const repetition of repetitions) {
    const { start, period, count, carried, gives } = repetition;
    while (next < start) items.push(...itemOf(next++, 1, 0));
    const prefix = prefixOfBlock(paths, repetition);
    const inside = Array.from({ length: period }, (_, offset) =>
      itemOf(start + offset, count, period, prefix),
    ).flat();
    const own = carried.map((each) => each.gives);
    items.push({
      path: { module: prefix.slice(0, -1), name: prefix.at(-1) ?? 'blocks' },
      block: {
        ...repetition,
        items: inside,
        outs: [...own, ...[...gives.keys()].filter((out) => !own.includes(out))],
      },
      operators: Array.from({ length: count }, (_, block) =>
        main
          .slice(start + block * period, start + (block + 1) * period)
          .flatMap(({ operators }) => operators),
      ),
    });
    next = start + period * count;
  }
  while (next < main.length) items.push(...itemOf(next++, 1, 0));
  return items;
}

/** `mlp.fc` of `layers.0.mlp.fc` in a block of `layers`. */
function pathWithin(path: CallPath, prefix: readonly string[]): CallPath {
  const isWithin = prefix.length > 0 && prefix.every((part, depth) => path.module[depth] === part);
  return isWithin ? { ...path, module: path.module.slice(prefix.length + 1) } : path;
}

/** `model.layers` of `model.layers.0.…` and `model.layers.1.…`. */
function prefixOfBlock(paths: readonly CallPath[], { start, period }: RepeatedCalls): readonly string[] {
  const first = paths.slice(start, start + period).map(({ module, name }) => [...module, name]);
  const second = paths.slice(start + period, start + 2 * period).map(({ module, name }) => [...module, name]);
  const counts = new Map<string, number>();
  for (const [at, path] of first.entries()) {
    const other = second[at] ?? [];
    const differs = path.findIndex((part, depth) => part !== other[depth]);
    if (differs > 0) {
      const prefix = path.slice(0, differs).join('\n');
      tally(counts, prefix);
    }
  }
  const [most] = [...counts].toSorted((left, right) => right[1] - left[1]);
  return most === undefined ? [] : most[0].split('\n');
}

export interface SpecNames {
  /** By value that a line gives, or that a block is given. */
  readonly ofValues: ReadonlyMap<string, string>;
  readonly ofBlocks: ReadonlyMap<SpecBlockItem, string>;
}

/** Names that tell all lines apart, each as short as it can be: `q_proj`, or `layer1_0_conv1` where several end alike. */
export function nameItems(
  items: readonly SpecItem[],
  stored: ReadonlyMap<string, SpecCall>,
  inputs: ReadonlyMap<string, string>,
): SpecNames {
  const wanted: { readonly values: readonly string[]; readonly parts: readonly string[] }[] = [];
  const blocks: SpecBlockItem[] = [];
  const add = (item: SpecItem): void => {
    const { module, name, isFunction } = item.path;
    const parts = isFunction ? [name] : [...module, name];
    if (item.call !== undefined) wanted.push({ values: item.call.outputs, parts });
    if (item.block === undefined) return;
    const { block } = item;
    blocks.push(block);
    for (const inner of block.items) add(inner);
    wanted.push({ values: block.outs.map((out) => block.gives.get(out) ?? ''), parts });
  };
  for (const item of items) add(item);
  for (const [value, call] of storedOf(items, stored)) {
    const isNamed = call.callee === 'Parameter' || call.callee === 'Buffer';
    wanted.push({
      values: call.outputs,
      parts: isNamed ? partsOfStored(value, call) : [functionWord(call.callee)],
    });
  }
  const seen = new Set<string>();
  const words = wanted.map(({ parts }) => parts.map((part) => part.replace(/[^A-Za-z0-9]+/g, '_')));
  const suffixes = new Map<string, number>();
  for (const parts of words) {
    // What one module calls several times has numbers.
    if (seen.has(parts.join('.'))) continue;
    seen.add(parts.join('.'));
    for (let length = 1; length <= parts.length; length += 1) {
      const suffix = parts.slice(-length).join('_');
      tally(suffixes, suffix);
    }
  }
  const taken = new Set([...reserved, ...inputs.values()]);
  const counts = new Map<string, number>();
  const free = (word: string): string => {
    let count = counts.get(word) ?? 1;
    let name = count === 1 ? word : `${word}_${count}`;
    for (; taken.has(name); name = `${word}_${count}`) count += 1;
    counts.set(word, count);
    taken.add(name);
    return name;
  };
  const ofValues = new Map(inputs);
  for (const [index, { values }] of wanted.entries()) {
    const parts = words[index] ?? [];
    let length = 1;
    while (length < parts.length && !isGood(parts.slice(-length).join('_'), suffixes)) length += 1;
    const name = wordOf(parts.slice(-length).join('_'), 'layer');
    for (const value of values) ofValues.set(value, free(name));
  }
  const ofBlocks = new Map<SpecBlockItem, string>();
  for (const block of blocks) {
    const { module = [], name = 'blocks' } = items.find((item) => item.block === block)?.path ?? {};
    const container = [...module, name].findLast((part) => /^[A-Za-z]/.test(part)) ?? 'blocks';
    const singular = container.replace(/(?<=[a-z]{2})s$/, '');
    ofBlocks.set(block, free(wordOf(singular === container ? `${container}_block` : singular, 'block')));
  }
  return { ofValues, ofBlocks };
}

/** The stored tensors that lines read: of blocks, those of the repetition that is written out. */
function storedOf(
  items: readonly SpecItem[],
  stored: ReadonlyMap<string, SpecCall>,
): ReadonlyMap<string, SpecCall> {
  const found = new Map<string, SpecCall>();
  const visit = (call: SpecCall): void => {
    for (const value of valuesOf(call)) {
      const given = stored.get(value);
      if (given === undefined || found.has(value)) continue;
      found.set(value, given);
      visit(given);
    }
  };
  const visitItems = (list: readonly SpecItem[]): void => {
    for (const { call, block } of list) {
      if (call !== undefined) visit(call);
      if (block !== undefined) visitItems(block.items);
    }
  };
  visitItems(items);
  return found;
}

/** `model`, `embed_positions` of `model.embed_positions`; what an exporter numbered is called by what it is. */
function partsOfStored(value: string, { callee }: SpecCall): readonly string[] {
  const parts = value.split(/[./]/).filter(Boolean);
  const isNumbered = isAnonymousTensor(value) || /^\w+_output_\d+$/.test(parts.at(-1) ?? '');
  return isNumbered ? [callee === 'Parameter' ? 'weight' : 'table'] : parts;
}

const isGood = (name: string, suffixes: ReadonlyMap<string, number>): boolean =>
  suffixes.get(name) === 1 && /^[A-Za-z]/.test(name);

const reserved = [
  'input',
  'from',
  'to',
  'frozen',
  'recompute',
  'precision',
  'True',
  'False',
  'None',
  'true',
  'false',
  'null',
];
