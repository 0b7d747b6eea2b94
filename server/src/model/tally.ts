/** Adds to what a key stands for; one that was not met before begins at nothing. */
export function tally<Key>(counts: Map<Key, number>, key: Key, amount = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + amount);
}
