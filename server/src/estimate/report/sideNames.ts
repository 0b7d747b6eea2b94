/** What the two sides of a comparison are called: by what tells them apart. */

import { counted } from '../../model/counted.ts';
import { formatCount } from '../../model/format.ts';
import { describeParts } from './describeScenario.ts';
import type { Report } from './report.ts';

/** `gpt2` and `llama`, `8 GPUs` and `64 GPUs`, or a revision and `now`. */
export interface SideNames {
  readonly left: string;
  readonly right: string;
}

/** Two models are told apart by their names, else by where their files are; two scenarios of one by what differs. */
export function sideNames(left: Report, right: Report, files?: SideNames): SideNames {
  if (left.model.name !== right.model.name) return { left: left.model.name, right: right.model.name };
  return (
    (files === undefined ? undefined : differentPaths(files)) ??
    differentParts(left, right) ?? { left: 'first', right: 'second' }
  );
}

/** `v1/model.onnx` and `v2/model.onnx` are `v1` and `v2`: what both begin or end with is left out. */
function differentPaths(files: SideNames): SideNames | undefined {
  if (files.left === files.right) return undefined;
  const [left, right] = [files.left.split(/[/\\]/), files.right.split(/[/\\]/)];
  const shorter = Math.min(left.length, right.length);
  const same = (at: (index: number) => readonly [string | undefined, string | undefined]): number => {
    let count = 0;
    while (count < shorter - 1 && at(count)[0] === at(count)[1]) count += 1;
    return count;
  };
  const start = same((index) => [left[index], right[index]]);
  const end = same((index) => [left.at(-1 - index), right.at(-1 - index)]);
  const own = (parts: readonly string[]): string =>
    parts.slice(start, start + end < shorter ? parts.length - end : parts.length).join('/');
  return { left: own(left), right: own(right) };
}

/** In characters: heads of columns stay short. The first part that differs is named at any length. */
const longest = 28;

function differentParts(left: Report, right: Report): SideNames | undefined {
  const [before, after] = [partsOf(left), partsOf(right)];
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  const pairs = keys
    .map((key) => [before.get(key) ?? without(key), after.get(key) ?? without(key)] as const)
    .filter(([one, other]) => one !== other);
  const [first, ...rest] = pairs;
  if (first === undefined) return undefined;
  let [one, other] = first;
  for (const [nextOne, nextOther] of rest) {
    if (Math.max(`${one}, ${nextOne}`.length, `${other}, ${nextOther}`.length) > longest) break;
    one = `${one}, ${nextOne}`;
    other = `${other}, ${nextOther}`;
  }
  return { left: one, right: other };
}

function partsOf(report: Report): ReadonlyMap<string, string> {
  const { scenario, model } = report;
  return new Map([
    ['cluster', scenario.cluster],
    ['gpus', counted(scenario.gpus, scenario.device ?? 'GPU')],
    ['batch', shortBatch(scenario)],
    ...describeParts(scenario, model.batchDimension),
  ]);
}

function shortBatch({ batchPerGpu, globalBatch, accumulate }: Report['scenario']): string {
  if (globalBatch !== undefined) return `global batch ${formatCount(globalBatch)}`;
  return `batch ${accumulate === undefined ? '' : `${formatCount(accumulate)} × `}${formatCount(batchPerGpu)}`;
}

const without = (key: string): string => `no ${key}`;
