/** Makes text fit a width: names lose their middle, sentences break at blanks. */

import { wrapWords } from '../../model/wrapWords.ts';

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
  const lines = wrapWords(text, (line) => width - (line === 0 ? 0 : indent));
  return lines.map((each, index) => (index === 0 ? each : ' '.repeat(indent) + each.trimStart()));
}
