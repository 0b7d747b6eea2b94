/** Elements of SVG from plain numbers; text is escaped here, and places have one decimal. */

import { escapeHtml } from '../model/escapeHtml.ts';
import { wrapWords } from '../model/wrapWords.ts';

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** One decimal is a tenth of a pixel. */
const tenths = (value: number): number => Math.round(value * 10) / 10;
export const place = (value: number): string => String(tenths(value));

/** `note` is shown where the pointer rests; `layer` is what a click leads to. */
export function bar(
  box: Box,
  kind: string,
  { note, layer }: { readonly note?: string; readonly layer?: string } = {},
): string {
  const { left, top, right, bottom } = box;
  const rect = `<rect class="${kind}" x="${place(left)}" y="${place(top)}" width="${place(Math.max(0.4, right - left))}" height="${place(bottom - top)}"${layer === undefined || layer === '' ? '' : ` data-layer="${escapeHtml(layer)}"`}`;
  return note === undefined ? `${rect}/>` : `${rect}><title>${escapeHtml(note)}</title></rect>`;
}

export const label = (x: number, y: number, text: string, kind = ''): string =>
  `<text x="${place(x)}" y="${place(y)}"${kind === '' ? '' : ` class="${kind}"`}>${escapeHtml(text)}</text>`;

export const line = (
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  kind: string,
): string =>
  `<line class="${kind}" x1="${place(x1)}" y1="${place(y1)}" x2="${place(x2)}" y2="${place(y2)}"/>`;

/** A line through points; those that lie on a straight way along an axis are left out. */
export function pathOf(points: readonly (readonly [number, number])[]): string {
  const rounded = points.map(([x, y]) => [tenths(x), tenths(y)] as const);
  const corners: (readonly [number, number])[] = [];
  for (const point of rounded) {
    const [last, before] = [corners.at(-1), corners.at(-2)];
    if (last !== undefined && before !== undefined && isOnTheWay(before, last, point)) corners.pop();
    corners.push(point);
  }
  return corners
    .map(([x, y], index) => {
      const last = corners[index - 1];
      if (last === undefined) return `M${x} ${y}`;
      if (last[1] === y) return `H${x}`;
      return last[0] === x ? `V${y}` : `L${x} ${y}`;
    })
    .join('');
}

/** Along one axis, without a way back. */
const isOnTheWay = (
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  [x3, y3]: readonly [number, number],
): boolean =>
  (x1 === x2 && x2 === x3 && (y2 - y1) * (y3 - y2) >= 0) ||
  (y1 === y2 && y2 === y3 && (x2 - x1) * (x3 - x2) >= 0);

/** In pixels: a wide letter of the charts' 12-pixel font. */
export const letterWidth = 6.6;
export const boldWidth = 7.6;

/** Characters that fit, or '' where fewer than three do. */
export function fitLabel(text: string, room: number, width = letterWidth): string {
  const most = Math.floor(room / width);
  if (text.length <= most) return text;
  return most < 4 ? '' : `${text.slice(0, most - 1)}…`;
}

/** Lines that fit into `room` pixels, broken between words; a longer word is cut. */
export function wrapLabel(text: string, room: number): readonly string[] {
  return wrapWords(text, () => Math.floor(room / letterWidth)).map((each) => fitLabel(each, room));
}

/** At most the last `most` characters: of a name with its modules in front, the layer, and modules that fit whole. */
export function fitTail(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = text.slice(1 - most);
  const [slash, dot] = [tail.indexOf('/'), tail.indexOf('.')];
  if (slash >= 0 && slash < tail.length - 1) return `…${tail.slice(slash)}`;
  // A dot after the ellipsis would be read as a part of it.
  return `…${dot >= 0 && dot < tail.length - 1 ? tail.slice(dot + 1) : tail}`;
}

/** Stripes over a kind, so that it is known without its colour. */
export const stripes = (name: string, kind: string): string =>
  `<defs><pattern id="${name}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="${kind}" width="6" height="6"/><rect class="stripe" width="2" height="6"/></pattern></defs>`;

/** Squares with names in rows from `left`, none beyond `right`; `height` is that of the rows. */
export function legend(
  entries: readonly (readonly [kind: string, title: string])[],
  left: number,
  top: number,
  right: number,
): { readonly body: readonly string[]; readonly height: number } {
  let [x, row] = [left, 0];
  const body = entries.flatMap(([kind, title]) => {
    const wide = 18 + title.length * letterWidth;
    if (x > left && x + wide > right) [x, row] = [left, row + 1];
    const [from, y] = [x, top + row * legendRow];
    x += wide + 18;
    return [
      bar({ left: from, top: y, right: from + 12, bottom: y + 12 }, kind),
      label(from + 18, y + 10.5, title),
    ];
  });
  return { body, height: (row + 1) * legendRow };
}

/** In pixels, from one row of a legend to the next. */
export const legendRow = 18;
