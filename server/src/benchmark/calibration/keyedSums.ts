/** Sums by key. */

export function add(sums: Map<string, number>, key: string, value: number): void {
  const before = sums.get(key);
  sums.set(key, before === undefined ? value : before + value);
}

export function innerOf(maps: Map<string, Map<string, number>>, key: string): Map<string, number> {
  const inner = maps.get(key) ?? new Map<string, number>();
  maps.set(key, inner);
  return inner;
}
