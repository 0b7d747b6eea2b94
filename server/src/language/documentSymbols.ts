/** The outline: modules, and the layers in them; the models of a text that holds several, each with what is its own. */

import { largestOf, smallestOf } from '../model/extremes.ts';
import { formatTime } from '../model/format.ts';
import { printable } from '../model/readableIssues.ts';
import { add } from '../model/units.ts';
import { lineCost } from './lineCost.ts';
import {
  hasLayerLines,
  holdsLine,
  type LayerRow,
  type ModelView,
  type TextBlock,
  viewsOf,
} from './modelView.ts';
import { endOfLine, type Range, rangeOfLine } from './textLines.ts';
import { layerNames } from './wholeLayers.ts';

export interface DocumentSymbol {
  readonly name: string;
  readonly detail: string;
  readonly kind: 'module' | 'layer';
  /** Holds the ranges of all children. */
  readonly range: Range;
  readonly selection: Range;
  readonly children: readonly DocumentSymbol[];
}

/** Deeper scopes join the last of these; names of thousands of parts are no modules anyone wrote. */
const deepestOutline = 64;

export function documentSymbols(view: ModelView): readonly DocumentSymbol[] {
  return view.others === undefined ? symbolsOf(view, treeOf(view, view.rows)) : symbolsOfModels(view);
}

/** What models share stands beside them, with what it costs in the first that has it. */
function symbolsOfModels(view: ModelView): readonly DocumentSymbol[] {
  const views = viewsOf(view);
  const shared = new Map<number, LayerRow>();
  const models = views.flatMap((each): readonly DocumentSymbol[] => {
    const { part } = each;
    if (part === undefined) return [];
    for (const row of each.rows) {
      if (!holdsLine(each, row.line) && !shared.has(row.line)) shared.set(row.line, row);
    }
    const own = each.rows.filter((row) => holdsLine(each, row.line));
    const { cost, costed } = each.estimate;
    return [
      {
        name: part.name,
        detail: cost !== undefined && costed ? `step ${formatTime(cost.totals.time.step)}` : 'cost unknown',
        kind: 'module',
        range: { start: { line: part.firstLine, character: 0 }, end: endOfLine(view.text, part.lastLine) },
        selection: rangeOfLine(view.text, part.firstLine),
        children: symbolsOf(each, treeOf(each, own)),
      },
    ];
  });
  return [...symbolsOf(view, treeOf(view, [...shared.values()])), ...models].sort(byLine);
}

/** Rows below the modules they are in. */
function treeOf(view: ModelView, rows: readonly LayerRow[]): Branch {
  const ancestorsOf = new Map(
    view.estimate.opened.analysis?.layers.map((layer) => [layer.name, layer.ancestors]),
  );
  const root: Branch = { path: '', branches: new Map(), rows: [] };
  for (const row of rows) {
    // A block's lines stand below the block's own place in the text, not below each of its calls.
    const spec = hasLayerLines(view);
    const block = spec ? blockAt(view, row.line) : undefined;
    const ancestors =
      block !== undefined ? [block.name] : spec ? [] : (ancestorsOf.get(row.layers[0]?.name ?? '') ?? []);
    let branch = root;
    for (const path of ancestors.slice(0, deepestOutline)) {
      const next = branch.branches.get(path) ?? { path, branches: new Map(), rows: [] };
      branch.branches.set(path, next);
      branch = next;
    }
    branch.rows.push(row);
  }
  return root;
}

const blockAt = (view: ModelView, line: number): TextBlock | undefined =>
  view.blocks.find(({ firstLine, lastLine }) => line >= firstLine && line <= lastLine);

interface Branch {
  readonly path: string;
  readonly branches: Map<string, Branch>;
  readonly rows: LayerRow[];
}

function symbolsOf(view: ModelView, branch: Branch): readonly DocumentSymbol[] {
  const layers = branch.rows.map((row): DocumentSymbol => {
    const last = largestOf(row.lines);
    const first = smallestOf(row.lines);
    return {
      name: shortName(row.name, branch.path),
      detail: detailOf(row),
      kind: 'layer',
      range: { start: { line: first, character: 0 }, end: endOfLine(view.text, last) },
      selection: rangeOfLine(view.text, row.line),
      children: [],
    };
  });
  const modules = [...branch.branches.values()].flatMap((child): readonly DocumentSymbol[] => {
    const children = symbolsOf(view, child);
    const block = hasLayerLines(view) ? view.blocks.find(({ name }) => name === child.path) : undefined;
    const first = block?.firstLine ?? smallestOf(children.map((symbol) => symbol.range.start.line));
    const last = largestOf(children.map((symbol) => symbol.range.end.line));
    const [head] = children;
    if (head === undefined) return [];
    return [
      {
        name: shortName(child.path, branch.path),
        detail: '',
        kind: 'module',
        range: { start: { line: first, character: 0 }, end: endOfLine(view.text, last) },
        selection: rangeOfLine(view.text, first),
        children,
      },
    ];
  });
  return [...modules, ...layers].sort(byLine);
}

const byLine = (left: DocumentSymbol, right: DocumentSymbol): number =>
  left.selection.start.line - right.selection.start.line;

function detailOf(row: LayerRow): string {
  const { time, unknown } = lineCost(row);
  const types = [...new Set(row.layers.map((layer) => layer.type))];
  const type = row.group ? `${layerNames(row).length} layers` : types.join(', ');
  const total = add(time.forward, time.backward);
  return unknown ? `${type}, cost unknown` : total > 0 ? `${type}, ${formatTime(total)}` : type;
}

/** The part of a path below its parent: `/layer1/layer1.0` in `/layer1` is `layer1.0`. An editor shows no empty name. */
function shortName(path: string, parent: string): string {
  const rest = path.startsWith(parent) ? path.slice(parent.length).replace(/^[/.]/, '') : path;
  return printable(rest || path || '(unnamed)');
}
