/** Layers as a table of a page: which columns and rows it has, and what its cells hold. */

import { describe, expect, test } from 'vitest';
import { layerTables } from '../../../server/src/estimate/report/layerTableHtml.ts';
import type { LayerReport, Report } from '../../../server/src/estimate/report/report.ts';
import { smallReport } from '../../support/smallReport.ts';

const linear = smallReport.layers[0] ?? expect.fail('no layer');
const layer = (name: string, change: Partial<LayerReport> = {}): LayerReport => ({
  ...linear,
  name,
  operators: [name],
  ...change,
});
const page = (layers: readonly LayerReport[], change: Partial<Report> = {}): string =>
  layerTables({ ...smallReport, ...change, layers: [...layers] });

const headsOf = (html: string): readonly string[] =>
  [...(/<thead><tr>(.*)/.exec(html)?.[1] ?? '').matchAll(/<th[^>]*>([^<]*)/g)].map(([, title = '']) => title);

describe('columns', () => {
  const idle = { ...linear.time, communication: 0, exposedCommunication: 0 };

  test('of a step that communicates', () => {
    expect(headsOf(page([layer('fc')]))).toEqual([
      ...['layer', 'output', 'params', 'forward', 'backward', 'time', '', 'saved', 'comm', 'exposed'],
    ]);
  });

  test('that would be empty are left out, where one layer has something they stay', () => {
    const alone = layer('fc', { time: idle, parameters: 0 });
    expect(headsOf(page([alone]))).toEqual(['layer', 'output', 'forward', 'backward', 'time', '', 'saved']);
    const other = layer('head', { time: idle, type: 'Embedding' });
    expect(headsOf(page([alone, other]))).toContain('params');
    expect(headsOf(page([alone, layer('sent', { type: 'Other' })]))).toContain('comm');
  });

  test('have the place that they are sorted by', () => {
    const places = [...page([layer('fc')]).matchAll(/data-column="(\d+)" class="[^"]*">(\w+)/g)].map(
      ([, place, title]) => `${place} ${title}`,
    );
    expect(places).toEqual([
      ...[
        '0 layer',
        '1 output',
        '2 params',
        '3 forward',
        '4 backward',
        '5 time',
        '7 saved',
        '8 comm',
        '9 exposed',
      ],
    ]);
  });

  test('bars are parts of the longest layer, with what is exposed behind the time', () => {
    // 60 µs and 80 exposed; 20 + 40 and none: 140 is all of the width.
    const html = page([layer('a'), layer('b', { time: idle, type: 'Other' })]);
    const widths = [...html.matchAll(/<rect class="(\w+)" (?:x="([\d.]+)" y="2" )?width="([\d.]+)"/g)].map(
      ([, kind, x, width]) => [kind, x, width],
    );
    expect(widths).toEqual([
      ['forward', undefined, '42.9'],
      ['exposed', '42.9', '57.1'],
      ['forward', undefined, '42.9'],
    ]);
  });
});

test.each([
  ['fc', '', 'fc'],
  ['model.layers.0.fc', 'model.layers.0.', 'fc'],
  ['/model/layers.0/fc', '/model/layers.0/', 'fc'],
  ['<a>.<b>', '&#60;a&#62;.', '&#60;b&#62;'],
])('a name has its modules and its own part: %s', (name, modules, own) => {
  const escaped = name.replaceAll('<', '&#60;').replaceAll('>', '&#62;');
  expect(page([layer(name, { type: 'Lin<ear>' })])).toContain(
    `<div title="${escaped} Lin&#60;ear&#62;"><code><span>${modules}</span><span>${own}</span></code> <small>Lin&#60;ear&#62;</small></div>`,
  );
});

test('a row has the numbers that it is sorted by, -1 where nobody knows', () => {
  const unknown = layer('odd', {
    flops: { forward: 1e9, backwardData: null, backwardWeight: 1e9 },
    time: { ...linear.time, exposedCommunication: null },
    memory: { ...linear.memory, activations: 0 },
  });
  const values = (of: LayerReport) => /data-values="([^"]*)"/.exec(page([of]))?.[1]?.split(' ');
  expect(values(layer('fc'))).toEqual([
    ...['2362370', '2416000000', '4832000000', '0.00006', '786432', '0.00012', '0.00008'],
  ]);
  expect(values(unknown)).toEqual([...['2362370', '1000000000', '-1', '0.00006', '0', '0.00012', '-1']]);
});

describe('layers that a model repeats', () => {
  const repeated = [layer('h.0.fc'), layer('h.1.fc'), layer('head', { type: 'Other' })];

  test('are one row, which leads to the first of them, and all follow', () => {
    const html = page(repeated);
    expect(html).toContain(
      '<p>3 layers in 2 rows: layers that the model repeats are one row with their sum.</p>',
    );
    expect(html).toContain('<summary>Each of the 3 layers</summary>');
    const rows = [...html.matchAll(/<tr data-layer="([^"]*)"/g)].map(([, name]) => name);
    expect(rows).toEqual(['h.0.fc', 'head', 'h.0.fc', 'h.1.fc', 'head']);
  });

  test('are none: there is one table', () => {
    const html = page(repeated.slice(1));
    expect(html).not.toContain('<details');
    expect(html.match(/<table/g)).toHaveLength(1);
  });
});

test('layers that cost nothing have no row', () => {
  const none = { forward: 0, backwardData: 0, backwardWeight: 0 };
  const free = layer('view', {
    ...{
      parameters: 0,
      flops: none,
      operations: { forward: 0, backward: 0 },
      bytes: { forward: 0, backward: 0 },
    },
    time: { ...linear.time, forward: 0, backward: 0, communication: 0, exposedCommunication: 0 },
    memory: { parameters: 0, activations: 0, gradient: 0 },
  });
  expect(page([layer('fc'), free])).not.toContain('data-layer="view"');
});

test('stages compute at once, which is said of several', () => {
  const text = 'A layer has the time of all micro-batches on its stage.';
  const stage = {
    ...{
      rank: 0,
      first: 'fc',
      last: 'fc',
      forward: 1,
      backward: 2,
      parameters: 1,
      alive: 1,
      peak: 1,
      sent: 0,
    },
  };
  const laidOut = (stages: number): Report['parallel'] => ({
    ...{ replicas: 1, microBatches: 8, bubble: 0, collectives: [], whole: [] },
    ...{ tensorCommunication: 0, contextCommunication: 0, expertCommunication: 0 },
    stages: Array.from({ length: stages }, () => stage),
  });
  const said = (stages: number): boolean => page([layer('fc')], { parallel: laidOut(stages) }).includes(text);
  expect([page([layer('fc')]).includes(text), said(1), said(2)]).toEqual([false, false, true]);
});
