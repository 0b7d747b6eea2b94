/** What moved between two snapshots of costs. */

import type { Costs } from './takeCosts.ts';

export interface Moved {
  readonly model: string;
  readonly scenario: string;
  readonly name: string;
  readonly before: number | null | undefined;
  readonly after: number | null | undefined;
}

/** Numbers that differ by more than `tolerance` of the larger one, or that only one of the two has. */
export function compareCosts(
  before: readonly Costs[],
  after: readonly Costs[],
  tolerance: number,
): readonly Moved[] {
  const keyOf = ({ model, scenario }: Costs): string => `${model}\n${scenario}`;
  const known = new Map(before.map((costs) => [keyOf(costs), costs.numbers]));
  const moved: Moved[] = [];
  for (const costs of after) {
    const old = known.get(keyOf(costs));
    known.delete(keyOf(costs));
    const names = new Set([...Object.keys(old ?? {}), ...Object.keys(costs.numbers)]);
    for (const name of names) {
      const [left, right] = [old?.[name], costs.numbers[name]];
      if (!isNear(left, right, tolerance)) {
        moved.push({ model: costs.model, scenario: costs.scenario, name, before: left, after: right });
      }
    }
  }
  for (const key of known.keys()) {
    const [model = '', scenario = ''] = key.split('\n');
    moved.push({ model, scenario, name: 'everything', before: 1, after: undefined });
  }
  return moved;
}

function isNear(
  left: number | null | undefined,
  right: number | null | undefined,
  tolerance: number,
): boolean {
  if (left === right) return true;
  if (typeof left !== 'number' || typeof right !== 'number') return false;
  return Math.abs(left - right) <= tolerance * Math.max(Math.abs(left), Math.abs(right));
}
