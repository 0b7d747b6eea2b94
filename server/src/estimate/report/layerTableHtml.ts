/** Layers as a table of a page: repeated ones in one row, and all of them below, folded away. */

import { escapeHtml } from '../../model/escapeHtml.ts';
import { largestOf } from '../../model/extremes.ts';
import { formatCount } from '../../model/format.ts';
import { foldLayers } from './foldLayers.ts';
import { costsSomething, drawnAmount, layerTime, layerWriter } from './layerCells.ts';
import type { LayerReport, Report } from './report.ts';

export function layerTables({ layers }: Report): string {
  const listed = layers.filter(costsSomething);
  const folded = foldLayers(listed);
  const firstOf = new Map(folded.map((layer, index) => [index, firstLayer(listed, layer)]));
  const tools =
    '<p class="tools"><label>Filter layers <input type="search" id="filter" placeholder="name or type"></label> <button type="button" data-copy="csv">Copy as CSV</button> <button type="button" data-copy="markdown">Copy as Markdown</button></p>';
  if (folded.length === listed.length) return `${tools}\n${table('layers', listed, ({ name }) => name)}`;
  return `${tools}
<p>${listed.length} layers in ${folded.length} rows: layers that the model repeats are one row with their sum.</p>
${table('folded', folded, (_, index) => firstOf.get(index) ?? '')}
<details id="each"><summary>Each of the ${listed.length} layers</summary>
${table('layers', listed, ({ name }) => name)}
</details>`;
}

/** The layer that a row of several begins with. */
const firstLayer = (layers: readonly LayerReport[], { operators, name }: LayerReport): string =>
  layers.find((layer) => layer.operators === operators)?.name ?? name;

const columns = [
  'layer',
  'output',
  'parameters',
  'forward',
  'backward',
  'time',
  '',
  'saved',
  'communication',
  'exposed',
] as const;

function table(
  id: string,
  layers: readonly LayerReport[],
  layerOf: (layer: LayerReport, index: number) => string,
): string {
  const cellsOf = layerWriter();
  const longest = Math.max(largestOf(layers.map(lengthOf)), 0);
  const heads = columns.map((title, index) =>
    title === ''
      ? '<th class="bar"><span class="unseen">time and exposed communication</span>'
      : `<th scope="col" data-column="${index}"${index < 2 ? '' : ' class="number"'}>${title}`,
  );
  const rows = layers.map((layer, index) => {
    const cells = cellsOf(layer);
    const number = (text: string): string => `<td class="number">${text}`;
    return [
      `<tr data-layer="${escapeHtml(layerOf(layer, index))}" data-values="${valuesOf(layer).join(' ')}">`,
      `<td class="name"><code>${escapeHtml(layer.name)}</code> <small>${escapeHtml(layer.type)}</small>`,
      `<td class="shape">${escapeHtml(cells.output)}`,
      number(layer.parameters === 0 ? '' : formatCount(layer.parameters)),
      number(cells.forward),
      number(cells.backward),
      number(cells.time),
      `<td class="bar">${shareBar(layer, longest)}`,
      number(cells.saved),
      number(cells.communication),
      number(cells.exposed),
    ].join('');
  });
  return `<table id="${id}" class="layers">\n<thead><tr>${heads.join('')}\n<tbody>\n${rows.join('\n')}\n</table>`;
}

const lengthOf = (layer: LayerReport): number =>
  drawnAmount(layerTime(layer)) + drawnAmount(layer.time.exposedCommunication);

/** Time, and behind it what of the communication nothing hides. */
function shareBar(layer: LayerReport, longest: number): string {
  if (longest === 0) return '';
  const percent = (value: number | null): number => (100 * drawnAmount(value)) / longest;
  const [time, exposed] = [percent(layerTime(layer)), percent(layer.time.exposedCommunication)];
  const rects = [
    `<rect class="forward" width="${time.toFixed(1)}" height="8"/>`,
    ...(exposed < 0.1
      ? []
      : [`<rect class="exposed" x="${time.toFixed(1)}" y="2" width="${exposed.toFixed(1)}" height="4"/>`]),
  ];
  return `<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">${rects.join('')}</svg>`;
}

/** What the columns after the first two are sorted by; -1 where nobody knows. */
function valuesOf(layer: LayerReport): readonly string[] {
  const { flops, time, memory, parameters } = layer;
  const backward =
    flops.backwardData === null || flops.backwardWeight === null
      ? null
      : flops.backwardData + flops.backwardWeight;
  return [
    parameters,
    flops.forward,
    backward,
    layerTime(layer),
    memory.activations,
    time.communication,
    time.exposedCommunication,
  ].map((value) => (value === null ? '-1' : String(Number(value.toPrecision(6)))));
}
