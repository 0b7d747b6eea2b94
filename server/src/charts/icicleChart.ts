/** Modules as bars under the module that holds them, as wide as what they cost. */

import { formatPercent } from '../model/format.ts';
import { type Chart, chartOf, narrowWidth, type Sheet } from './chart.ts';
import { type Box, bar, fitLabel, label } from './shapes.ts';

export interface IcicleNode {
  readonly name: string;
  /** Of a module the sum of its parts; not negative. */
  readonly value: number;
  /** The first layer it stands for. */
  readonly layer: string;
  readonly children: readonly IcicleNode[];
}

export interface Icicle {
  /** A word for addresses: `time`. */
  readonly name: string;
  /** `time of forward and backward`. */
  readonly title: string;
  readonly root: IcicleNode;
  /** What the sum is of, as ` over 4 stages`; left out, of one GPU. */
  readonly over?: string;
  readonly textOf: (value: number) => string;
}

const [width, rowHeight] = [1120, 26];
/** Deeper modules are below the row that can still be read. */
const mostRows = 7;

/** `undefined` where nothing costs anything. */
export function icicleChart({ name, title, root, over = '', textOf }: Icicle): Chart | undefined {
  if (!(root.value > 0)) return undefined;
  const largest = leavesOf(root)
    .toSorted((one, other) => other.value - one.value)
    .slice(0, named);
  const texts = largest.map((node) => `${node.name} ${formatPercent(node.value / root.value)}`);
  return chartOf({
    name: `modules-${name}`,
    title: `Modules by ${title}`,
    summary: `Of ${textOf(root.value)}${over}, the most is in ${texts.join(', ')}.`,
    ...barsOf(root, textOf, width),
    narrow: barsOf(root, textOf, narrowWidth),
    table: {
      columns: ['module', title, 'share'],
      rows: root.children.map((node) => [
        node.name,
        textOf(node.value),
        formatPercent(node.value / root.value),
      ]),
    },
  });
}

function barsOf(root: IcicleNode, textOf: Icicle['textOf'], width: number): Sheet {
  const body: string[] = [];
  let rows = 0;
  const visit = (node: IcicleNode, left: number, depth: number): void => {
    const room = (node.value / root.value) * width;
    if (room < leastWidth || depth >= mostRows) return;
    rows = Math.max(rows, depth + 1);
    const box: Box = {
      left,
      right: left + room,
      top: depth * rowHeight,
      bottom: (depth + 1) * rowHeight - 1,
    };
    const amount = `${textOf(node.value)}, ${formatPercent(node.value / root.value)}`;
    body.push(
      bar(box, depth % 2 === 0 ? 'node' : 'node odd', { note: `${node.name}: ${amount}`, layer: node.layer }),
    );
    const text =
      [`${node.name}  ${amount}`, `${node.name}  ${textOf(node.value)}`].find(
        (each) => fitLabel(each, room - 8) === each,
      ) ?? fitLabel(node.name, room - 8);
    if (text !== '') body.push(label(left + 5, box.top + 17, text));
    let x = left;
    for (const child of node.children) {
      visit(child, x, depth + 1);
      x += (child.value / root.value) * width;
    }
  };
  visit(root, 0, 0);
  return { width, height: rows * rowHeight, body };
}

/** In pixels. */
const leastWidth = 0.7;
const named = 3;

/** With the names of the modules that hold them. */
const leavesOf = (node: IcicleNode): readonly IcicleNode[] =>
  node.children.flatMap((child) =>
    child.children.length === 0
      ? [child]
      : leavesOf(child).map((leaf) => ({ ...leaf, name: `${child.name} / ${leaf.name}` })),
  );
