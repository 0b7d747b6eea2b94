/** Values of symbolic dimensions: which are given, which the model has, and which are left open. */

import type { ModelAnalysis } from '../../analysis/modelAnalysis.ts';
import type { ScenarioRequest } from '../../model/scenario.ts';
import type { Report } from './scenarioReport.ts';

export function mergeDimensions(requests: readonly ScenarioRequest[]): ReadonlyMap<string, number> {
  const merged = new Map<string, number>();
  for (const request of requests) {
    for (const [name, value] of Object.entries(request.dimensions ?? {})) {
      if (!merged.has(name)) merged.set(name, value);
    }
  }
  return merged;
}

export function reportUnknownDimensions(
  given: ReadonlyMap<string, number>,
  analysis: ModelAnalysis,
  settled: readonly string[],
  report: Report,
): void {
  const known = [...new Set([...analysis.symbols.map(({ name }) => name), ...settled])];
  for (const [name, value] of given) {
    // 0 is a size: a decoder's past is empty at its first step.
    if (!(Number.isInteger(value) && value >= 0)) {
      report(
        'error',
        'scenario/invalid',
        `Dimension \`${name}\` is ${value}; it takes a whole number from 0`,
        'dimensions',
      );
    }
    if (known.includes(name) || name === analysis.batchSymbol) continue;
    report(
      'warning',
      'scenario/invalid',
      `The model has no symbolic dimension \`${name}\`; ${known.length === 0 ? 'all its dimensions are numbers' : `it has ${known.join(', ')}`}`,
      'dimensions',
    );
  }
}

export function bindDimensions(
  given: ReadonlyMap<string, number>,
  batch: number,
  analysis: ModelAnalysis,
  report: Report,
): Readonly<Record<string, number>> {
  const bound: Record<string, number> = {};
  for (const { name, default: standard, limit } of analysis.symbols) {
    const isBatch = name === analysis.batchSymbol;
    const value = isBatch ? batch : (given.get(name) ?? standard);
    if (value !== undefined) bound[name] = value;
    if (value !== undefined && limit !== undefined && value > limit) {
      report(
        'warning',
        'scenario/out-of-range',
        `Dimension \`${name}\` is ${value}, but the model was exported for at most ${limit}; give at most ${limit}, or export it for more`,
        isBatch ? 'batch' : 'dimensions',
      );
    }
    if (value === undefined) {
      report(
        'warning',
        'shape/unbound-dimension',
        `Dimension \`${name}\` has no value, so costs that depend on it are unknown`,
        'dimensions',
        [name],
      );
    }
  }
  if (analysis.batchSymbol !== undefined) bound[analysis.batchSymbol] = batch;
  return bound;
}
