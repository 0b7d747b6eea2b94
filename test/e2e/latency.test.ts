/**
 * How long a person waits for what is painted: `npm run e2e -- --latency`. Nothing is asserted but that it appears; the
 * figures are printed.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { it } from 'vitest';
import { makeReport, type ReportResult } from '../../server/src/protocol.ts';
import { llamaGraph } from '../bench/llamaGraph.ts';
import { show } from '../bench/measure.ts';
import { startTestServer } from '../lsp/testServer.ts';
import type { EditorPage } from './harness/editorPage.ts';
import { launchCodeServer } from './harness/host.ts';
import { inEditor } from './harness/inEditor.ts';
import { readSetting } from './harness/setting.ts';
import { startStopwatch } from './harness/stopwatch.ts';

const lens = '.codelens-decoration';
const line = '.view-line';

const llama = 'llama.onnx';
/** About those of Llama-3-8B as torch exports it. */
const llamaOperators = 5_800;

const spec = 'long.layers.yaml';
const specLayers = 290;
const probed = 12;

/** A chain of projections; the width of the layer `probe` is what is typed. */
function longSpec(): string {
  const layers = Array.from({ length: specLayers }, (_, i) =>
    i === probed ? '  - probe: Linear(64)' : `  - fc${i}: Linear(${256 + 64 * (i % 5)})`,
  );
  return `name: long\ndims: { batch: 64 }\ninputs:\n  x: float32[batch, 256]\nlayers:\n${layers.join('\n')}\nscenario: { cluster: dgx-a100, gpus: 8 }\n`;
}

async function watch(name: string, steps: (editor: EditorPage) => Promise<void>): Promise<void> {
  const setting = readSetting();
  const host = await launchCodeServer(setting, { samplesOnly: true });
  writeFileSync(join(host.folder, llama), llamaGraph(llamaOperators));
  writeFileSync(join(host.folder, spec), longSpec());
  try {
    await inEditor(host, setting, name, steps);
  } finally {
    await host.close();
  }
}

/** Keys that change the width: a digit more, a digit less. */
const keys = Array.from({ length: 80 }, (_, i) => (i % 2 === 0 ? String(1 + (i % 9)) : 'Backspace'));
/** Not counted: the first ones wait for the compiler of the JavaScript engine. */
const warmUp = 20;

it('a keystroke in a layer spec of 300 lines', async () => {
  await watch('keystroke', async (editor) => {
    await editor.openFile(spec);
    await editor.lensMatching(/FLOP/);
    await editor.goTo(6 + probed, '  - probe: Linear(64'.length + 1);
    await editor.lineMatching(/probe: Linear\(64\).*FLOP/);
    const times: number[] = [];
    for (const key of keys) {
      const width = key === 'Backspace' ? '64' : `64${key}`;
      // Forward and two gradients: each 2 operations for every sample and the widths on both sides.
      const flops = (3 * 2 * 64 * (256 + 64 * ((probed - 1) % 5)) * Number(width)) / 1e6;
      const text = new RegExp(`probe: Linear\\(${width}\\)\\D*${figures(flops)} MFLOP`);
      const lap = await startStopwatch(editor.page, 'keydown', { selector: line, text });
      await editor.press(key);
      times.push(await lap());
    }
    print('keystroke to painted hint, 300 lines', times.slice(warmUp));
  });
});

it('a large binary model is double-clicked', async () => {
  const times: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    await watch(`opening-${run}`, async (editor) => {
      const lap = await startStopwatch(editor.page, 'dblclick', {
        selector: line,
        text: /FLOP|cost unknown/,
      });
      await editor.openFile(llama);
      times.push(await lap());
    });
  }
  print(`double-click on ${llamaOperators} operators to first hint, cold`, times);
});

it('another precision', async () => {
  await watch('precision', async (editor) => {
    await editor.openFile(llama);
    await editor.lensMatching(/\bbf16\b/);
    const times: number[] = [];
    for (const precision of ['fp32', 'bf16', 'fp32', 'bf16', 'fp32']) {
      await editor.runCommand('Layercost: Choose Precision');
      await editor.chooseInQuickInput(precision, precision);
      const text = new RegExp(`\\b${precision}\\b`);
      const lap = await startStopwatch(editor.page, 'mouseup', { selector: lens, text });
      await editor.chooseInQuickInput('This workspace', 'This workspace');
      times.push(await lap());
    }
    print('precision to lens', times);
  });
});

/** As many distinct layers as the largest models have modules. */
const panelLayers = 2_000;

it('the panel of a model with 2,000 layers', async () => {
  const layers = Array.from({ length: panelLayers }, (_, i) => `  - fc${i}: Linear(${256 + 8 * (i % 97)})`);
  const client = await startTestServer();
  const uri = 'file:///models/deep.layers.yaml';
  const text = `name: deep\ndims: { batch: 64 }\ninputs:\n  x: float32[batch, 256]\nlayers:\n${layers.join('\n')}\n`;
  await client.open(uri, 'layer-spec', text);
  const params = { uri, page: 'report', format: 'html', nonce: 'n0nce' };
  const html = (await client.connection.sendRequest<ReportResult>(makeReport, params)).text;
  await client.stop();
  const browser = await chromium.launch({
    executablePath: readSetting().chromium,
    args: ['--no-sandbox', '--disable-gpu'],
  });
  const page = await browser.newPage({ viewport: { width: 700, height: 900 }, bypassCSP: true });
  await page.evaluate(
    'globalThis.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} })',
  );
  await page.setContent(html);
  await page.evaluate(`document.querySelectorAll('details').forEach((each) => { each.open = true; })`);
  // It comes as a message, not as source that the page would have to compile.
  await page.evaluate((next) => Object.assign(globalThis, { next }), html);
  const acts = {
    scroll: `let y = 0; const go = () => { scrollTo(0, (y += 400)); if (y < 20000) requestAnimationFrame(go); }; go();`,
    sort: `document.querySelector('#layers th[data-column="5"] button').click();`,
    filter: `const box = document.getElementById('filter'); box.value = 'fc12'; box.dispatchEvent(new Event('input', { bubbles: true }));`,
    'tried totals': `dispatchEvent(new MessageEvent('message', { data: { kind: 'tried', rows: [{ name: 'one training step', value: '1 ms', detail: '' }], sentence: 'x' } }));`,
    'another page': `dispatchEvent(new MessageEvent('message', { data: { kind: 'page', html: next } }));`,
    'a layer at the cursor': `dispatchEvent(new MessageEvent('message', { data: { kind: 'mark', layer: 'fc' + Math.floor(Math.random() * 2000) } }));`,
    'sort of another page': `document.querySelector('#layers th[data-column="0"] button').click();`,
  };
  // On a busy machine a frame is late for others: the page's own time says what it takes by itself.
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async (): Promise<number> =>
    1000 *
    ((await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration')
      ?.value ?? Number.NaN);
  for (const [act, script] of Object.entries(acts)) {
    const frames: number[] = [];
    const processor: number[] = [];
    for (let run = 0; run < 5; run += 1) {
      const before = await spent();
      frames.push(await page.evaluate<number>(longestFrame(script)));
      processor.push((await spent()) - before);
    }
    print(`${panelLayers} layers in the panel, longest frame: ${act}`, frames);
    print(`${panelLayers} layers in the panel, processor time of the second: ${act}`, processor);
  }
  await browser.close();
});

/** Milliseconds between two frames, at most, in the second after a script has run. */
const longestFrame = (script: string): string => `new Promise((resolve) => {
  requestAnimationFrame((first) => {
    let [last, longest] = [first, 0];
    const next = (now) => {
      longest = Math.max(longest, now - last);
      last = now;
      if (now - first < 1000) requestAnimationFrame(next);
      else resolve(longest);
    };
    requestAnimationFrame(next);
    { ${script} }
  });
})`;

/** As hints write figures: three digits. */
const figures = (value: number): string => value.toPrecision(3).replace('.', '\\.');

function print(what: string, times: readonly number[]): void {
  const sorted = [...times].sort((a, b) => a - b);
  const late = sorted[Math.ceil(0.95 * sorted.length) - 1];
  const seen = times.map((wall) => ({ wall, processor: Number.NaN }));
  show(what, seen, `95th percentile ${late?.toFixed(0)} ms`);
}
