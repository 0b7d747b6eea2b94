/** Every data set judged, as a table for people and as the page `docs/ACCURACY.md`. */

import { join } from 'node:path';
import { calibrate } from '../calibrate/calibrate.ts';
import { measuredSteps } from '../calibrate/calibrateSteps.ts';
import { judgeSteps } from '../calibrate/fitSteps.ts';
import { languageSteps } from '../measured/languageSteps.ts';
import { readMeasured } from '../measured/readMeasured.ts';
import { accuracyPage, accuracyTable, type Entry, rowLines } from './accuracyPage.ts';
import { collectiveSection, judgeCollectives } from './collectives.ts';
import { dataSets } from './dataSets.ts';
import { graphOpener } from './graphs.ts';
import { baselineRatios, judgeDataSet, ratiosOf, shareInRange, statisticsOf } from './judge.ts';
import { kernelEntries, type LayerEntry, layerEntry, layerTable } from './layerPage.ts';
import { layerSets } from './layerSets.ts';
import { judgeBatches, judgeLivePeaks, judgePeaks, livePeaks, peakSection } from './peaks.ts';
import { judgeLanguage, languageSection } from './scaling/languageSection.ts';
import { judgeScaling } from './scaling/scaledSets.ts';
import { scaledLines, scalingSection } from './scaling/scalingSection.ts';

/** `shared`: the folder that holds the larger graphs. `absent`: titles of the sets that could not be judged. */
export function validate(
  root: string,
  shared: string,
  { rows: listed = false }: { readonly rows?: boolean } = {},
): { readonly page: string; readonly table: string; readonly absent: readonly string[] } {
  const measured = join(root, 'measured');
  const open = graphOpener(root, shared);
  const absent: string[] = [];
  const entries: Entry[] = [];
  const lines: string[] = [];
  for (const set of dataSets) {
    const judged = judgeDataSet(set, readMeasured(measured, set.file), open);
    if (judged === undefined) {
      absent.push(set.title);
      continue;
    }
    entries.push({
      ...set,
      rows: judged.rows.length,
      left: judged.left.length,
      statistics: statisticsOf(ratiosOf(judged.rows)),
      baseline: statisticsOf(baselineRatios(judged.rows)),
      inRange: shareInRange(judged.rows),
    });
    if (listed) lines.push(set.title, ...rowLines(judged.rows));
  }
  const timm = timmEntries(measured, join(shared, 'models/timm-train'));
  if (timm === undefined) absent.push('timm, training');
  else entries.push(...timm);
  const scaled = judgeScaling(measured, open);
  if (scaled === undefined) absent.push('several GPUs');
  else if (listed) for (const { title, rows } of scaled) lines.push(title, ...scaledLines(rows));
  const language = judgeLanguage(languageSteps(measured, open));
  if (listed) lines.push('Language models', ...scaledLines(language));
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
      : `\n${peakSection(judgePeaks(measured, open), live, batches)}`;
  return {
    page: `${accuracyPage(entries, layers, summary)}\n${collectiveSection(judgeCollectives(measured))}\n${scalingSection(scaled ?? [])}\n${languageSection(language)}${peaks}`,
    table: [accuracyTable(entries), '', layerTable(layers), '', ...lines].join('\n'),
    absent,
  };
}

/** Each half of the families is predicted with corrections fitted to the other half. */
function timmEntries(measured: string, graphs: string): readonly Entry[] | undefined {
  const steps = measuredSteps(measured, graphs);
  if (steps === undefined) return undefined;
  const all = judgeSteps(steps);
  return [...new Set(steps.map(({ key }) => key))].map((key) => {
    const judged = all.filter(({ step }) => step.key === key);
    const ratios = judged.map(({ predicted, step }) => predicted / step.seconds);
    const flat = judged.map(({ step }) => ({ atPeak: step.parts.atPeak, measured: step.seconds }));
    return {
      title: `timm, training, ${key.replace(' ', ', ')}, amp`,
      file: 'steps-timm.csv',
      target: { statistic: 'median', most: 0.12, ninetieth: 0.3 },
      peer: 'Habitat: mean 11.8 % over five networks on six GPUs',
      held: 'families of models: corrections of each half of the families are fitted to the other half',
      rows: judged.length,
      left: 0,
      statistics: statisticsOf(ratios),
      baseline: statisticsOf(baselineRatios(flat)),
      inRange: undefined,
    };
  });
}
