/** Layers as a table of a page: repeated ones in one row, and all of them below, folded away. */

import { itemAt } from '../../model/at.ts';
import { escapeHtml } from '../../model/escapeHtml.ts';
import { largestOf } from '../../model/extremes.ts';
import { formatShortCount } from '../../model/format.ts';
import { foldLayers } from './foldLayers.ts';
import { costsSomething, drawnAmount, type LayerCells, layerTime, layerWriter } from './layerCells.ts';
import type { LayerReport, Report } from './report.ts';

export function layerTables({ layers, parallel }: Report): string {
  const listed = layers.filter(costsSomething);
  const folded = foldLayers(listed);
  const firstOf = new Map(folded.map((layer, index) => [index, firstLayer(listed, layer)]));
  const tools =
    '<p class="tools"><label>Filter layers <input type="search" id="filter" placeholder="name or type"></label> <button type="button" data-copy="csv">Copy as CSV</button> <button type="button" data-copy="markdown">Copy as Markdown</button></p>';
  const above =
    parallel === undefined || parallel.stages.length === 1 ? tools : `${tools}\n<p>${besideEachOther}</p>`;
  if (folded.length === listed.length) return `${above}\n${table('layers', listed, ({ name }) => name)}`;
  return `${above}
<p>${listed.length} layers in ${folded.length} rows: layers that the model repeats are one row with their sum.</p>
${table('folded', folded, (_, index) => firstOf.get(index) ?? '')}
<details id="each"><summary>Each of the ${listed.length} layers</summary>
${table('layers', listed, ({ name }) => name)}
</details>`;
}

const besideEachOther =
  'A layer has the time of all micro-batches on its stage. Stages compute at once, so that layers add up to more than the step.';

/** The layer that a row of several begins with. */
const firstLayer = (layers: readonly LayerReport[], { operators, name }: LayerReport): string =>
  layers.find((layer) => layer.operators === operators)?.name ?? name;

interface PageColumn {
  /** Its place among all columns: what the script sorts by. */
  readonly index: number;
  readonly title: string;
  readonly kind: 'name' | 'shape what' | 'number what' | 'number' | 'bar';
  readonly cell: (layer: LayerReport, cells: LayerCells) => string;
}

const textColumn =
  (of: (layer: LayerReport, cells: LayerCells) => string): PageColumn['cell'] =>
  (layer, cells) =>
    escapeHtml(of(layer, cells));

/** `what` leaves first where there is little room. */
const columnsOf = (longest: number): readonly PageColumn[] =>
  (
    [
      ['layer', 'name', nameCell],
      ['output', 'shape what', textColumn((_, { output }) => output)],
      ['params', 'number what', ({ parameters }) => (parameters === 0 ? '' : formatShortCount(parameters))],
      ['forward', 'number what', textColumn((_, { forward }) => forward)],
      ['backward', 'number what', textColumn((_, { backward }) => backward)],
      ['time', 'number', textColumn((_, { time }) => time)],
      ['', 'bar', (layer) => shareBar(layer, longest)],
      ['saved', 'number', textColumn((_, { saved }) => saved)],
      ['comm', 'number', textColumn((_, { communication }) => communication)],
      ['exposed', 'number', textColumn((_, { exposed }) => exposed)],
    ] as const satisfies readonly (readonly [string, PageColumn['kind'], PageColumn['cell']])[]
  ).map(([title, kind, cell], index) => ({ index, title, kind, cell }));

function table(
  id: string,
  layers: readonly LayerReport[],
  layerOf: (layer: LayerReport, index: number) => string,
): string {
  const cellsOf = layerWriter();
  const written = layers.map((layer) => cellsOf(layer));
  const longest = Math.max(largestOf(layers.map(lengthOf)), 0);
  // A step in inference has no backward, and one GPU no communication: their columns would be empty.
  const columns = columnsOf(longest).filter(({ cell }) =>
    layers.some((layer, index) => cell(layer, itemAt(written, index)) !== ''),
  );
  const heads = columns.map(({ index, title, kind }) =>
    kind === 'bar'
      ? '<th class="bar"><span class="unseen">time and exposed communication</span>'
      : `<th scope="col" data-column="${index}" class="${kind}">${title}`,
  );
  const rows = layers.map((layer, row) =>
    [
      `<tr data-layer="${escapeHtml(layerOf(layer, row))}" data-values="${valuesOf(layer).join(' ')}">`,
      ...columns.map(({ kind, cell }) => `<td class="${kind}">${cell(layer, itemAt(written, row))}`),
    ].join(''),
  );
  return `<div class="rows"><table id="${id}" class="layers">\n<thead><tr>${heads.join('')}\n<tbody>\n${rows.join('\n')}\n</table></div>`;
}

/** Where there is no room, the type goes to a line of its own, then the layer's own name. */
function nameCell({ name, type }: LayerReport): string {
  const at = name.lastIndexOf(name.includes('/') ? '/' : '.') + 1;
  const [modules, own] = [escapeHtml(name.slice(0, at)), escapeHtml(name.slice(at))];
  return `<div title="${escapeHtml(`${name} ${type}`)}"><code><span>${modules}</span><span>${own}</span></code> <small>${escapeHtml(type)}</small></div>`;
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
