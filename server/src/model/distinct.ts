/** Longer lists are looked through with a set; in these, looking back is quicker than building one. */
const short = 8;

/** The items, each once, in the order in which they are met first; the list itself where none is met again. */
export function distinct<Item>(items: readonly Item[]): readonly Item[] {
  if (items.length > short) return [...new Set(items)];
  for (let index = 1; index < items.length; index += 1) {
    for (let before = 0; before < index; before += 1) {
      if (items[before] === items[index]) return [...new Set(items)];
    }
  }
  return items;
}
