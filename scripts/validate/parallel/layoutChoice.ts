/**
 * What a planner by these predictions would have lost: for each model and number of nodes, the measured time of the layout
 * that is predicted to be the fastest, over that of the fastest; and how far predictions and measurements are in one order.
 */

import { numberIn } from '../../measured/readMeasured.ts';
import { graphOpener } from '../graphs.ts';
import { percent } from '../percent.ts';
import { judgeNanotron } from './judgeNanotron.ts';
import type { ParallelRow } from './parallelRow.ts';

interface Choice {
  readonly model: string;
  readonly nodes: number;
  readonly layouts: number;
  /** 0 where the fastest was chosen. */
  readonly regret: number;
  /** Spearman's, over the layouts. */
  readonly order: number;
}

function choicesOf(rows: readonly ParallelRow[]): readonly Choice[] {
  const cells = new Map<string, ParallelRow[]>();
  for (const row of rows) {
    const key = `${row.row.model} ${row.row.nodes}`;
    cells.set(key, [...(cells.get(key) ?? []), row]);
  }
  return [...cells.values()].flatMap((cell): readonly Choice[] => {
    const [first] = cell;
    if (first === undefined) return [];
    const chosen = cell.reduce((best, each) => (each.predicted < best.predicted ? each : best));
    const fastest = Math.min(...cell.map(({ measured }) => measured));
    return [
      {
        model: first.row.model ?? '',
        nodes: numberIn(first.row, 'nodes'),
        layouts: cell.length,
        regret: chosen.measured / fastest - 1,
        order: rankCorrelation(
          cell.map(({ predicted }) => predicted),
          cell.map(({ measured }) => measured),
        ),
      },
    ];
  });
}

/** Over every row: by default settings, and with what is known or fitted of the cluster. */
export function choiceTableOf(root: string, shared: string): string {
  const found = judgeNanotron(root, shared, graphOpener(root, shared), 1);
  if (found === undefined) return 'The table of nanotron is absent.';
  return [
    'By default settings',
    ...linesOf(choicesOf(found.usual)),
    '',
    'With the cluster of the study, and times of the host fitted to the other sizes of the model',
    ...linesOf(choicesOf(found.fitted)),
  ].join('\n');
}

function linesOf(choices: readonly Choice[]): readonly string[] {
  const mean = (of: readonly number[]): number => of.reduce((total, each) => total + each, 0) / of.length;
  const lineOf = (title: string, some: readonly Choice[]): string =>
    `${title}: ${some.length} cells, regret mean ${percent(mean(some.map(({ regret }) => regret)))}, worst ${percent(Math.max(...some.map(({ regret }) => regret)))}, rank correlation ${mean(some.map(({ order }) => order)).toFixed(2)}`;
  return [
    ...choices.map(
      ({ model, nodes, layouts, regret, order }) =>
        `${model} on ${nodes} nodes: ${layouts} layouts, regret ${percent(regret)}, rank correlation ${order.toFixed(2)}`,
    ),
    lineOf(
      'to 32 nodes',
      choices.filter(({ nodes }) => nodes <= 32),
    ),
    lineOf(
      '64 nodes',
      choices.filter(({ nodes }) => nodes > 32),
    ),
    lineOf('all', choices),
  ];
}

/** Spearman's: that of the ranks; ties have the order they come in. */
function rankCorrelation(one: readonly number[], other: readonly number[]): number {
  const [first, second] = [ranksOf(one), ranksOf(other)];
  const middle = (one.length - 1) / 2;
  let [both, ofFirst, ofSecond] = [0, 0, 0];
  first.forEach((rank, index) => {
    const [a, b] = [rank - middle, (second[index] ?? Number.NaN) - middle];
    both += a * b;
    ofFirst += a * a;
    ofSecond += b * b;
  });
  return both / Math.sqrt(ofFirst * ofSecond);
}

function ranksOf(values: readonly number[]): readonly number[] {
  const order = values
    .map((_, index) => index)
    .sort((a, b) => (values[a] ?? Number.NaN) - (values[b] ?? Number.NaN));
  const ranks = new Array<number>(values.length);
  order.forEach((index, rank) => {
    ranks[index] = rank;
  });
  return ranks;
}
