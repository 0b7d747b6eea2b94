/** Makes text fit a width: names lose their middle, sentences break at blanks. */

/**
 * The text in at most `width` characters: `/model/tra…/h.0/attn/c_proj`. More is left of the end, which tells the layer
 * from its neighbours, than of the beginning, which it shares with them.
 */
export function shortenMiddle(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  const head = Math.floor((width - 1) / 3);
  const tail = Math.max(0, width - 1 - head);
  return `${characters.slice(0, head).join('')}…${tail === 0 ? '' : characters.slice(-tail).join('')}`;
}

/**
 * The text in lines of at most `width`, where its words allow; all but the first begin with `indent` blanks. A number
 * stays with what it counts.
 */
export function wrapText(text: string, width: number | undefined, indent: number): readonly string[] {
  if (width === undefined || text.length <= width) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<=[^\s\d]) /)) {
    const longer = line === '' ? word : `${line} ${word}`;
    const room = width - (lines.length === 0 ? 0 : indent);
    if (line !== '' && longer.length > room) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  if (line !== '') lines.push(line);
  return lines.map((each, index) => (index === 0 ? each : ' '.repeat(indent) + each.trimStart()));
}
