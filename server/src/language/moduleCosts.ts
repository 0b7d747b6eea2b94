/** What the modules of a model cost, the most expensive first, each with the line to go to; equal modules are one. */

import type { IcicleNode } from '../charts/icicleChart.ts';
import { moduleTree } from '../estimate/figures/moduleTree.ts';
import { drawnAmount } from '../estimate/report/layerCells.ts';
import { makeReport } from '../estimate/report/makeReport.ts';
import { formatBytes, formatPercent, formatTime } from '../model/format.ts';
import type { LayerCost } from '../model/stepCost.ts';
import { bytes, seconds } from '../model/units.ts';
import { type ModelView, rowOfLayer } from './modelView.ts';

export type CostMeasure = 'time' | 'memory' | 'exposed';

export interface ModuleCost {
  /** `h.* × 12`, or the model. */
  readonly name: string;
  /** `4.31 ms`. */
  readonly cost: string;
  /** Of the model's; empty where the model has none. */
  readonly share: string;
  /** Counted from 0; absent where no line says its first layer. */
  readonly line?: number;
  readonly children: readonly ModuleCost[];
}

/** One tree, whose root is the model; `undefined` where nothing is costed. A part that is unknown adds nothing. */
export function moduleCosts(view: ModelView, measure: CostMeasure): ModuleCost | undefined {
  const { opened, cost, costed } = view.estimate;
  if (cost === undefined || opened.analysis === undefined || !costed) return undefined;
  const { model, layers } = makeReport(opened, opened.analysis, cost, []);
  const { amountOf, textOf } = measures[measure];
  const costs = new Map(cost.layers.map((layer) => [layer.name, layer]));
  const root = moduleTree(model.name, layers, ({ name }) => {
    const layer = costs.get(name);
    return layer === undefined ? 0 : amountOf(layer);
  });
  const lines = new Map<string, number | undefined>();
  const lineOf = (layer: string): number | undefined => {
    if (!lines.has(layer)) lines.set(layer, rowOfLayer(view, layer)?.line);
    return lines.get(layer);
  };
  const costOf = ({ name, value, layer, children }: IcicleNode): ModuleCost => {
    const line = lineOf(layer);
    return {
      name,
      cost: textOf(value),
      share: root.value > 0 ? formatPercent(value / root.value) : '',
      ...(line === undefined ? {} : { line }),
      children: children
        .filter((child) => child.value > 0)
        .toSorted((one, other) => other.value - one.value)
        .map(costOf),
    };
  };
  return costOf(root);
}

const measures: Readonly<
  Record<CostMeasure, { amountOf: (layer: LayerCost) => number; textOf: (value: number) => string }>
> = {
  time: {
    amountOf: ({ time }) => drawnAmount(time.forward) + drawnAmount(time.backward),
    textOf: (time) => formatTime(seconds(time)),
  },
  memory: {
    amountOf: ({ memory }) =>
      drawnAmount(memory.activations) + drawnAmount(memory.gradient) + drawnAmount(memory.optimizerState),
    textOf: (size) => formatBytes(bytes(size)),
  },
  exposed: {
    amountOf: ({ time }) => drawnAmount(time.exposedCommunication),
    textOf: (time) => formatTime(seconds(time)),
  },
};
