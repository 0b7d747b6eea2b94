/** Every data set judged, as a table for people and as the page `docs/ACCURACY.md`. */

import { join } from 'node:path';
import type { Mode } from '../../server/src/model/scenario.ts';
import { calibrate } from '../calibrate/calibrate.ts';
import { measuredSteps, stepModes } from '../calibrate/calibrateSteps.ts';
import { judgeSteps } from '../calibrate/fitSteps.ts';
import { heldTcpRows, tcpRows } from '../calibrate/tcpRates.ts';
import { languageSteps } from '../measured/languageSteps.ts';
import { readMeasured } from '../measured/readMeasured.ts';
import { accuracyPage, accuracyTable, type Entry, rowLines } from './accuracyPage.ts';
import { benchmarkSection } from './benchmarks/benchmarkSection.ts';
import { collectiveSection, judgeCollectives } from './collectives.ts';
import { dataSets } from './dataSets.ts';
import { graphOpener, type OpenGraph } from './graphs.ts';
import { doubtsOfAll, judgeRanges, type RangedStep } from './heldRanges.ts';
import { baselineRatios, judgeDataSet, ratiosOf, statisticsOf } from './judge.ts';
import { kernelEntries, type LayerEntry, layerEntry, layerTable } from './layerPage.ts';
import { layerSets } from './layerSets.ts';
import { judgeNanotron } from './parallel/judgeNanotron.ts';
import { megatronRows } from './parallel/megatronRows.ts';
import { parallelSection } from './parallel/parallelSection.ts';
import { publishedLayouts } from './parallel/publishedLayouts.ts';
import { judgeBatches, judgeLivePeaks, judgePeaks, livePeaks, peakSection, peaksOfParts } from './peaks.ts';
import { judgeLanguage, languageSection } from './scaling/languageSection.ts';
import { judgeScaling } from './scaling/scaledSets.ts';
import { scaledLines, scalingSection } from './scaling/scalingSection.ts';
import { tcpSection } from './tcpSection.ts';

/** `shared`: the folder that holds the larger graphs. `absent`: titles of the sets that could not be judged. */
export function validate(
  root: string,
  shared: string,
  { rows: listed = false }: { readonly rows?: boolean } = {},
): { readonly page: string; readonly table: string; readonly absent: readonly string[] } {
  const measured = join(root, 'measured');
  const open = graphOpener(root, shared);
  const absent: string[] = [];
  const found: Omit<Entry, 'range'>[] = [];
  const ranged: RangedStep[] = [];
  const lines: string[] = [];
  for (const set of dataSets) {
    const judged = judgeDataSet(set, readMeasured(measured, set.file), open);
    if (judged === undefined) {
      absent.push(set.title);
      continue;
    }
    ranged.push(
      ...judged.rows.map((step) => ({
        ...step,
        set: set.title,
        source: `${set.file} ${step.row.source ?? ''}`,
      })),
    );
    found.push({
      ...set,
      rows: judged.rows.length,
      left: judged.left.length,
      statistics: statisticsOf(ratiosOf(judged.rows)),
      baseline: statisticsOf(baselineRatios(judged.rows)),
    });
    if (listed) lines.push(set.title, ...rowLines(judged.rows));
  }
  for (const mode of stepModes) {
    const timm = timmEntries(measured, join(shared, 'models/timm-train'), mode);
    if (timm === undefined) absent.push(`timm, ${mode}`);
    else {
      found.push(...timm.entries);
      ranged.push(...timm.steps);
    }
  }
  const scaled = judgeScaling(measured, open);
  if (scaled === undefined) absent.push('several GPUs');
  else if (listed) for (const { title, rows } of scaled) lines.push(title, ...scaledLines(rows));
  const language = judgeLanguage(languageSteps(measured, open));
  if (listed) lines.push('Language models', ...scaledLines(language));
  const nanotron = judgeNanotron(root, shared, open);
  const parallel = judgeParallel(root, shared, open, nanotron);
  if (parallel === '') absent.push('GPUs that share a copy of a model');
  ranged.push(...language);
  const ranges = judgeRanges(ranged);
  const fitted = doubtsOfAll(ranged);
  lines.unshift(`Half-widths by cause, as fitted: ${JSON.stringify(fitted.doubts)}`);
  const entries = found.map((entry) => ({ ...entry, range: ranges.get(entry.title) }));
  const { summary, held } = calibrate(measured);
  const layers: LayerEntry[] = [];
  for (const set of layerSets) {
    const judged = set.judge(readMeasured(measured, set.file), open);
    if (judged === undefined) absent.push(set.title);
    else layers.push(layerEntry(set, judged));
  }
  layers.push(...kernelEntries(held));
  const batches = judgeBatches(measured, open);
  if (batches === undefined) absent.push('batches of timm');
  const live = judgeLivePeaks(livePeaks(measured), open);
  const peaks =
    batches === undefined || live === undefined
      ? ''
      : `\n${peakSection(judgePeaks(measured, open), live, batches, peaksOfParts(nanotron?.usual ?? []))}`;
  const benchmarks = benchmarkSection(measured, open);
  if (benchmarks === '') absent.push('benchmarks of one H200');
  return {
    page: `${accuracyPage(entries, layers, summary, fitted.steps)}\n${collectiveSection(judgeCollectives(measured))}${tcpSection(heldTcpRows(tcpRows(measured)))}\n${scalingSection(scaled ?? [])}\n${languageSection(language, ranges)}${parallel}${peaks}${benchmarks}`,
    table: [accuracyTable(entries), '', layerTable(layers), parallel, ...lines].join('\n'),
    absent,
  };
}

/** Steps of GPUs that share a copy of a model; empty where their tables are absent. */
export const judgeParallel = (
  root: string,
  shared: string,
  open: OpenGraph,
  nanotron = judgeNanotron(root, shared, open),
): string =>
  parallelSection(
    nanotron,
    {
      usual: megatronRows(shared, 'megatron,torch=1.12,attention=eager'),
      fused: megatronRows(shared, 'megatron,attention=eager,compile=true'),
    },
    publishedLayouts(root, shared),
  );

/** Each half of the families is predicted with corrections fitted to the other half. */
function timmEntries(
  measured: string,
  graphs: string,
  mode: Mode,
): { readonly entries: readonly Omit<Entry, 'range'>[]; readonly steps: readonly RangedStep[] } | undefined {
  const steps = measuredSteps(measured, graphs, mode);
  if (steps === undefined) return undefined;
  const all = judgeSteps(steps);
  const file = mode === 'training' ? 'steps-timm.csv' : 'steps-timm-inference.csv';
  const titleOf = (key: string): string => `timm, ${mode}, ${key.replace(' ', ', ')}, amp`;
  const entries = [...new Set(steps.map(({ key }) => key))].map((key) => {
    const judged = all.filter(({ step }) => step.key === key);
    const ratios = judged.map(({ predicted, step }) => predicted / step.seconds);
    const flat = judged.map(({ step }) => ({ atPeak: step.parts.atPeak, measured: step.seconds }));
    return {
      title: titleOf(key),
      file,
      target: { statistic: 'median' as const, most: 0.12, ninetieth: 0.3 },
      peer: mode === 'training' ? 'Habitat: mean 11.8 % over five networks on six GPUs' : '',
      held: 'families of models: corrections of each half of the families are fitted to the other half',
      rows: judged.length,
      left: 0,
      statistics: statisticsOf(ratios),
      baseline: statisticsOf(baselineRatios(flat)),
    };
  });
  const ranged = all.map(({ step: { key, parts, seconds }, predicted }) => ({
    set: titleOf(key),
    source: file,
    predicted,
    measured: seconds,
    range: { low: parts.range.low * predicted, high: parts.range.high * predicted },
    shares: parts.shares,
  }));
  return { entries, steps: ranged };
}
