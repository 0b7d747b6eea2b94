/** Names beside the points of a drawing: none over another, over a point or over what else is drawn. */

import { type Box, label, letterWidth } from './shapes.ts';

export interface NamedPoint {
  readonly x: number;
  readonly y: number;
  /** Of its circle, in pixels. */
  readonly radius: number;
  readonly name: string;
}

/**
 * The names of `points`, the most important first; a point without room at its sides, above or below has none. `circles`
 * are all points that are drawn, named or not.
 */
export function placeLabels(
  points: readonly NamedPoint[],
  circles: readonly Omit<NamedPoint, 'name'>[],
  taken: readonly Box[],
  within: Box,
): readonly string[] {
  const boxes = [...taken];
  return points.flatMap((point) => {
    const free = placesOf(point).find(
      ({ box }) =>
        isInside(box, within) &&
        !boxes.some((other) => overlap(box, other)) &&
        !circles.some((circle) => touches(circle, box)),
    );
    if (free === undefined) return [];
    boxes.push(free.box);
    return [label(free.x, free.box.top + lineHeight - 4, point.name, `${free.anchor}halo`)];
  });
}

interface LabelPlace {
  readonly x: number;
  /** `middle `, `end ` or '': where the text starts from `x`. */
  readonly anchor: '' | 'middle ' | 'end ';
  readonly box: Box;
}

const lineHeight = 16;
const gap = 4;

/** Beside first, where names read best; then over and under, then at the corners. */
function placesOf({ x, y, radius, name }: NamedPoint): readonly LabelPlace[] {
  const room = name.length * letterWidth;
  const far = radius + gap;
  const corner = 0.7 * radius + gap;
  const place = (anchor: LabelPlace['anchor'], at: number, middle: number): LabelPlace => {
    const left = anchor === '' ? at : anchor === 'end ' ? at - room : at - room / 2;
    const box = { left, right: left + room, top: middle - lineHeight / 2, bottom: middle + lineHeight / 2 };
    return { x: at, anchor, box };
  };
  const line = lineHeight / 2;
  return [
    place('', x + far, y),
    place('end ', x - far, y),
    place('middle ', x, y - far - line),
    place('middle ', x, y + far + line),
    place('', x + corner, y - corner - line),
    place('', x + corner, y + corner + line),
    place('end ', x - corner, y - corner - line),
    place('end ', x - corner, y + corner + line),
  ];
}

const isInside = (box: Box, within: Box): boolean =>
  box.left >= within.left &&
  box.right <= within.right &&
  box.top >= within.top &&
  box.bottom <= within.bottom;

const overlap = (one: Box, other: Box): boolean =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

/** The point of the box that is nearest to the centre lies in the circle. */
function touches({ x, y, radius }: Omit<NamedPoint, 'name'>, box: Box): boolean {
  const across = x - Math.min(Math.max(x, box.left), box.right);
  const upwards = y - Math.min(Math.max(y, box.top), box.bottom);
  return Math.hypot(across, upwards) < radius + 1;
}

/** Boxes along a straight line, so that no name lies on it. */
export function boxesAlong(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
): readonly Box[] {
  const steps = Math.max(1, Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 8));
  return Array.from({ length: steps + 1 }, (_, index) => {
    const [x, y] = [x1 + ((x2 - x1) * index) / steps, y1 + ((y2 - y1) * index) / steps];
    return { left: x - 3, right: x + 3, top: y - 3, bottom: y + 3 };
  });
}
