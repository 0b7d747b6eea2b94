/** A report that is short enough to read, or to hand to a program that has little room. */

import { findingsToRead } from './findingsToRead.ts';
import { foldLayers } from './foldLayers.ts';
import { costsSomething, layerTime } from './layerCells.ts';
import type { LayerReport, Report } from './report.ts';

/** The report with its `top` most expensive layers, repeated ones as one, without messages, and with each advice once. */
export function shortReport({ messages: _, ...report }: Report, top: number): Report {
  return {
    ...report,
    layers: mostExpensive(report.layers.filter(costsSomething), top),
    findings: findingsToRead(report),
  };
}

/** The layers that take the most time, the first most; those whose time is unknown before them. */
export function mostExpensive(layers: readonly LayerReport[], top: number): readonly LayerReport[] {
  const time = (layer: LayerReport): number => layerTime(layer) ?? Number.POSITIVE_INFINITY;
  return foldLayers(layers)
    .toSorted((left, right) => time(right) - time(left))
    .slice(0, top);
}
