/** The keys written last to a map: what a misspelt name is compared with, where all of thousands would take seconds. */

/** A person who misspells a name most often means one written shortly before. */
const most = 100;

interface Walk {
  readonly keys: Iterator<string>;
  walked: number;
  recent: string[];
}

const walks = new WeakMap<ReadonlyMap<string, unknown>, Walk>();

/**
 * The last hundred keys of a map that only grows, in the order they were added. Every key is walked over once, however
 * often this is asked while the map grows.
 */
export function recentKeys(map: ReadonlyMap<string, unknown>): readonly string[] {
  let walk = walks.get(map);
  if (walk === undefined) {
    walk = { keys: map.keys(), walked: 0, recent: [] };
    walks.set(map, walk);
  }
  // The iterator of a map continues with what is added, unless it has reached the end.
  for (; walk.walked < map.size; walk.walked += 1) {
    const { done, value } = walk.keys.next();
    if (done === true) break;
    walk.recent.push(value);
    if (walk.recent.length >= 2 * most) walk.recent = walk.recent.slice(-most);
  }
  return walk.recent.slice(-most);
}
