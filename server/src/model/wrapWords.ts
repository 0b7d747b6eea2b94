/**
 * Text in lines that break between words; a word that is longer than its line has one of its own. A number stays with what
 * it counts. `roomOf`: how many characters a line takes, by its index.
 */
export function wrapWords(text: string, roomOf: (line: number) => number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<=[^\s\d]) /)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && longer.length > roomOf(lines.length)) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return line === '' ? lines : [...lines, line];
}
