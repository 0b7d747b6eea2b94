/** Comments of YAML, line by line. */

/** Where the comment of a line begins: at a `#` after a blank, outside quotes; -1 where there is none. */
export function startOfComment(line: string): number {
  let quote = '';
  for (let index = 0; index < line.length; index += 1) {
    const character = line[index] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '#' && (index === 0 || /\s/.test(line[index - 1] ?? ''))) return index;
  }
  return -1;
}
