/**
 * The page of a report in a browser alone, in the colours of the editor's four kinds of theme: nothing that axe finds,
 * nothing cut off, and all of it by the keyboard.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeReport, type ReportResult } from '../../server/src/protocol.ts';
import { startTestServer } from '../lsp/testServer.ts';
import { themeColours } from '../support/themeColours.ts';
import { readSetting } from './harness/setting.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const spec = readFileSync(resolve(import.meta.dirname, '../../samples/gpt2.layers.yaml'), 'utf8');

let browser: Browser;
const pages = new Map<string, string>();

beforeAll(async () => {
  const { chromium: executablePath } = readSetting();
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const client = await startTestServer();
  const uri = 'file:///models/gpt2.layers.yaml';
  await client.open(uri, 'layer-spec', spec.replace('batch: 8', 'batch: 1'));
  for (const page of ['report', 'scaling']) {
    const asked = { uri, page, format: 'html', nonce: 'n0nce' };
    pages.set(page, (await client.connection.sendRequest<ReportResult>(makeReport, asked)).text);
  }
  const longUri = 'file:///models/long.layers.yaml';
  const block = 'transformer.decoder_stack.residual_block';
  const long = Array.from(
    { length: 12 },
    (_, i) =>
      `  - ${block}_${i}_post_attention_normalization: LayerNorm(4096)\n  - ${block}_${i}_feed_forward_projection: Linear(4096)`,
  );
  const longText = `inputs:\n  x: float32[4, 4096]\nlayers:\n${long.join('\n').replaceAll('.', '_')}\nscenario: { cluster: g5-48xlarge, gpus: 64 }\n`;
  await client.open(longUri, 'layer-spec', longText);
  const ofLong = { uri: longUri, page: 'report', format: 'html', nonce: 'n0nce' };
  pages.set('long', (await client.connection.sendRequest<ReportResult>(makeReport, ofLong)).text);
  const deep = Array.from({ length: 400 }, (_, i) => `  - fc${i}: Linear(${64 + i})`).join('\n');
  const deepUri = 'file:///models/deep.layers.yaml';
  await client.open(deepUri, 'layer-spec', `inputs:\n  x: float32[4, 64]\nlayers:\n${deep}\n`);
  const asked = { uri: deepUri, page: 'report', format: 'html', nonce: 'n0nce' };
  pages.set('deep', (await client.connection.sendRequest<ReportResult>(makeReport, asked)).text);
  await client.stop();
}, 120_000);
afterAll(() => browser.close());

async function show(name: string, theme: string, width: number): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, bypassCSP: true });
  await page.setContent(pages.get(name) ?? '');
  const variables = Object.entries(themeColours[theme] ?? {}).map(
    ([key, value]) => `--vscode-${key}: ${value};`,
  );
  // What is not laid out yet has no width that could be too large.
  const whole = 'figure, .rows { content-visibility: visible !important; contain: none !important; }';
  await page.addStyleTag({ content: `:root { ${variables.join(' ')} } ${whole}` });
  return page;
}

describe.each(Object.keys(themeColours))('in %s', (theme) => {
  it.each(['report', 'scaling'])('axe finds nothing in the page of the %s', async (name) => {
    const page = await show(name, theme, 1280);
    await page.addScriptTag({ content: axe });
    const found = await page.evaluate<readonly string[]>(
      `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).slice(0, 3).join(' | ')))`,
    );
    expect(found).toEqual([]);
    await page.close();
  });

  it.each([
    ['report', 420],
    ['report', 480],
    ['scaling', 420],
    ['report', 1024],
    ['report', 1600],
    ['scaling', 1024],
    ['scaling', 1600],
  ] as const)('nothing of the %s is cut off at %i pixels', async (name, width) => {
    const page = await show(name, theme, width);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await page.close();
  });
});

it.each(['report', 'scaling'])('charts are read without scrolling beside a text: %s', async (name) => {
  const page = await show(name, 'light', 420);
  const charts = await page.evaluate<readonly (readonly [number, number, number])[]>(
    `[...document.querySelectorAll('.chart')].filter((each) => each.getBoundingClientRect().width > 0).map((each) =>
        [each.getBoundingClientRect().width, each.viewBox.baseVal.width, each.closest('figure').scrollWidth - each.closest('figure').clientWidth])`,
  );
  expect(charts).toHaveLength(name === 'report' ? 5 : 1);
  for (const [width, units, cut] of charts) {
    expect(width).toBeLessThanOrEqual(420);
    expect(cut).toBe(0);
    // Letters of 12 units are not drawn smaller than ten pixels.
    expect((12 * width) / units).toBeGreaterThanOrEqual(10);
  }
  await page.close();
});

it.each(['report', 'scaling'])('letters of charts are no larger than those of the page: %s', async (name) => {
  const page = await show(name, 'light', 760);
  const letters = await page.evaluate<readonly number[]>(
    `[...document.querySelectorAll('.chart')].filter((each) => each.getBoundingClientRect().width > 0).map((each) =>
        12 * each.getBoundingClientRect().width / each.viewBox.baseVal.width)`,
  );
  expect(letters.filter((size) => size > 15)).toEqual([]);
  await page.close();
});

it.each([
  ['report', 420],
  ['report', 440],
  ['report', 620],
  ['scaling', 420],
  ['scaling', 440],
  ['scaling', 620],
] as const)('tables of the %s are read without scrolling sideways at %i pixels', async (name, width) => {
  const page = await show(name, 'light', width);
  const cut = await page.evaluate<readonly string[]>(
    `[...document.querySelectorAll('table, .wide')].filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.className + ' ' + each.scrollWidth)`,
  );
  expect(cut).toEqual([]);
  await page.close();
});

it('the keyboard sorts and goes along the rows', async () => {
  const page = await show('report', 'dark', 1280);
  const time = page.locator('#folded th[data-column="5"] button, #layers th[data-column="5"] button').first();
  await time.focus();
  await page.keyboard.press('Enter');
  const head = page.locator('th[data-column="5"]').first();
  expect(await head.getAttribute('aria-sort')).toBe('descending');
  await page.locator('table.layers tbody tr[tabindex="0"]').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  expect(await page.locator('table.layers tr.here').count()).toBeGreaterThan(0);
  await page.close();
});

it('rows of a long table are drawn when the reader comes to them, and none is lost', async () => {
  const page = await show('deep', 'dark', 1280);
  const shown = page.locator('#layers tbody tr:visible');
  const count = await page.locator('#layers tbody tr').count();
  expect(count).toBeGreaterThanOrEqual(400);
  expect(await shown.count()).toBeLessThan(count);
  await page.locator('#layers th[data-column="5"] button').click();
  expect(await shown.count()).toBeLessThan(count);
  await page.locator('#layers tbody tr:visible').last().focus();
  await page.keyboard.press('ArrowDown');
  expect(
    await page.evaluate(
      'document.activeElement.matches("tr[data-layer]") && document.activeElement.offsetHeight > 0',
    ),
  ).toBe(true);
  const last = await page.locator('#layers tbody tr').last().getAttribute('data-layer');
  await scrollTo(page, bottom, last ?? '');
  expect(await shown.count()).toBe(count);
  expect(await amounts(page)).toEqual((await amounts(page)).toSorted((a, b) => b - a));
  await page.locator('#filter').fill('fc399');
  expect(await shown.count()).toBe(1);
  await page.close();
});

it('a page without its script has all its rows and charts, and so has paper', async () => {
  const plain = await browser.newPage({ javaScriptEnabled: false });
  await plain.setContent(pages.get('deep') ?? '');
  expect(await plain.locator('#layers tbody tr:visible').count()).toBe(400);
  await plain.close();
  const page = await show('deep', 'light', 1280);
  await page.locator('#layers th[data-column="5"] button').click();
  const shown = page.locator('#layers tbody tr:visible');
  const onScreen = await shown.count();
  await page.emulateMedia({ media: 'print' });
  await page.evaluate('dispatchEvent(new Event("beforeprint"))');
  expect(await shown.count()).toBe(400);
  expect(await amounts(page)).toEqual((await amounts(page)).toSorted((a, b) => b - a));
  await page.evaluate('dispatchEvent(new Event("afterprint"))');
  expect(await shown.count()).toBe(onScreen);
  await page.close();
});

/** What the column of time is sorted by, of the rows that are shown. */
const amounts = (page: Page): Promise<readonly number[]> =>
  page.evaluate(
    `[...document.querySelectorAll('#layers tbody tr:not(.later)')].map((each) => Number(each.dataset.values.split(' ')[3]))`,
  );

const bottom = 'document.body.scrollHeight';
const topOfRows = 'document.getElementById("layers").getBoundingClientRect().top + scrollY - 100';

/** Scrolls to a place until the row of a layer is laid out. */
async function scrollTo(page: Page, place: string, layer: string): Promise<void> {
  const row = page.locator(`#layers tr[data-layer="${layer}"]:visible`);
  for (let i = 0; i < 40 && (await row.count()) === 0; i += 1) {
    await page.evaluate(`scrollTo(0, ${place})`);
    await page.waitForTimeout(100);
  }
  expect(await row.count()).toBe(1);
}

it.each([1024, 1600])(
  'the layer table says names, types and communication whole at %i pixels',
  async (width) => {
    const page = await show('long', 'light', width);
    await page.evaluate(`document.querySelectorAll('details').forEach((each) => { each.open = true; })`);
    const cut = await page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('table.layers :is(td, th) *')]
      .filter((each) => each.className !== 'unseen' && each.clientWidth > 0 && each.scrollWidth > each.clientWidth + 1)
      .map((each) => each.textContent)`,
    );
    expect(cut).toEqual([]);
    const right = await page.evaluate<number>(
      `Math.max(...[...document.querySelectorAll('table.layers td')].map((each) => each.getBoundingClientRect().right))`,
    );
    expect(right).toBeLessThanOrEqual(width);
    expect(await page.locator('table.layers th:visible', { hasText: 'exposed' }).count()).toBeGreaterThan(0);
    await page.close();
  },
);

it('a page in the place of another has all its rows, which are read when they are wanted', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, bypassCSP: true });
  await page.addInitScript(
    'globalThis.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} })',
  );
  await page.goto('about:blank');
  const html = pages.get('deep') ?? '';
  await page.setContent(html);
  await page.evaluate(
    `dispatchEvent(new MessageEvent('message', { data: { kind: 'page', html: ${JSON.stringify(html)} } }))`,
  );
  const rows = page.locator('#layers tbody tr');
  const shown = page.locator('#layers tbody tr:visible');
  expect(await rows.count()).toBeLessThan(400);
  expect(await shown.count()).toBe(await rows.count());
  // A layer that the text points to is shown though its row was not read yet, with those around it.
  await page.evaluate(
    `dispatchEvent(new MessageEvent('message', { data: { kind: 'mark', layer: 'fc200' } }))`,
  );
  await page.locator('#layers tr.here:visible', { hasText: 'fc200' }).waitFor();
  expect(await shown.count()).toBeLessThan(400);
  await page.locator('#layers tr:visible', { hasText: 'fc201' }).scrollIntoViewIfNeeded();
  // Again another page: the reader stays at the row.
  const top = () =>
    page.evaluate<number>(`document.querySelector('#layers tr.here').getBoundingClientRect().top`);
  await page.evaluate(`scrollBy(0, ${await top()} - 100)`);
  const before = await top();
  await page.evaluate(
    `dispatchEvent(new MessageEvent('message', { data: { kind: 'page', html: ${JSON.stringify(html)} } }))`,
  );
  expect(await page.locator('#layers tr.here:visible').count()).toBe(1);
  expect(Math.abs((await top()) - before)).toBeLessThan(2);
  await scrollTo(page, topOfRows, 'fc0');
  await scrollTo(page, bottom, 'fc399');
  expect(await shown.count()).toBe(400);
  await page.locator('#filter').fill('fc398');
  expect(await shown.count()).toBe(1);
  await page.close();
});

it.each([1280, 420])('a chart is saved as a picture with its colours at %i pixels', async (width) => {
  const page = await show('report', 'dark', width);
  const download = page.waitForEvent('download');
  await page.locator('.either:has(svg.timeline) + .save').click();
  const file = await download;
  expect(file.suggestedFilename()).toBe('timeline.png');
  const bytes = readFileSync(await file.path());
  // Width and height of the header (PNG specification, 11.2.2): twice those of the drawing.
  expect([bytes.readUInt32BE(16) % 2, bytes.readUInt32BE(16)]).toEqual([0, 2240]);
  expect(bytes.length).toBeGreaterThan(5_000);
  await page.close();
});
