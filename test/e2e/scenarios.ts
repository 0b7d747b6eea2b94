/** What a person does in an editor, step by step, the same in both hosts. */

import type { Frame } from 'playwright-core';
import { expect } from 'vitest';
import type { EditorPage } from './harness/editorPage.ts';
import type { Host, HostWishes } from './harness/host.ts';
import type { PageWishes } from './harness/inEditor.ts';
import { placeIn, placeOf, smallSpec, trainScript, wideSpec, workspaceFiles } from './harness/workspace.ts';

/** A scenario: what it shows, and the steps. */
export interface Scenario {
  readonly name: string;
  /** What its editor needs beside the usual. */
  readonly wishes?: HostWishes;
  readonly page?: PageWishes;
  readonly steps: (editor: EditorPage, host: Host) => Promise<void>;
}

/** Such as `231 GFLOP · 1.2 ms`. */
const costHint = /\d (?:[kMGT]?FLOP)\b.*\d (?:ns|µs|ms|s)\b/;

const opensBinaryModel: Scenario = {
  name: 'a binary model opens as layers with costs',
  steps: async (editor) => {
    await editor.openFile('resnet50.onnx');
    await editor.lensMatching(/25,557,032|25\.6 M/);
    const line = await editor.lineMatching(/Conv.*FLOP/);
    expect(line).toMatch(costHint);
    const hover = await editor.hover('Conv');
    expect(hover).toMatch(/forward/);
    expect(hover).toMatch(/backward/);
    expect(hover).toMatch(/FLOP/);
    await editor.statusMatching(/H100/);
  },
};

const opensConfig: Scenario = {
  name: 'the config of a model opens as a layer spec with costs',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.config);
    await editor.page.locator('.editor-actions').getByLabel('Open Config as Layer Spec').first().click();
    await editor.lensMatching(/step .* parameters/);
    expect(await editor.lineMatching(/q_proj: Linear\(512.*FLOP/)).toMatch(costHint);
  },
};

const opensCaffeNet: Scenario = {
  name: 'a Caffe net opens with costs',
  steps: async (editor) => {
    await editor.openFile('alexnet.prototxt');
    await editor.lensMatching(/step .* parameters/);
    await editor.goTo(40);
    expect(await editor.lineMatching(/layer \{.*FLOP/)).toMatch(costHint);
  },
};

const showsBrokenModel: Scenario = {
  name: 'a broken model says what is wrong',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.truncated);
    await editor.problemMatching(/truncated|ends/i);
    await editor.openFile(workspaceFiles.empty);
    await editor.problemMatching(/empty/i);
    await editor.openFile(workspaceFiles.random);
    await editor.problemMatching(/not an ONNX|ONNX/i);
    // The server is still there.
    await editor.openFile('alexnet.onnx');
    await editor.lineMatching(/Conv.*FLOP/);
  },
};

const changesCluster: Scenario = {
  name: 'another cluster changes the numbers at once',
  steps: async (editor) => {
    await editor.openFile('resnet50.onnx');
    const before = await editor.lineMatching(/Conv.*FLOP/);
    await editor.chooseCluster('k80-10gbe');
    await editor.statusMatching(/K80/);
    const after = await editor.until('another hint', async () => {
      const line = (await editor.visibleLines()).find((text) => /Conv.*FLOP/.test(text));
      return line !== undefined && line !== before ? line : undefined;
    });
    expect(after).toMatch(costHint);
  },
};

const changesOwnScenario: Scenario = {
  name: 'a choice edits the scenario of a layer spec, and can be undone',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.runCommand('Layercost: Choose Batch per GPU');
    await editor.answerInput('16');
    await editor.lineMatching(/batch: 16/);
    await editor.lensMatching(/batch 16/);
    await editor.press('Control+z');
    await editor.lineMatching(/batch: 8/);
    await editor.lensMatching(/batch 8/);
  },
};

const plansParallelism: Scenario = {
  name: 'a parallel layout is planned, and written into the scenario',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.runCommand('Layercost: Plan Parallelism');
    await editor.chooseInQuickInput('dgx-h100', 'current');
    await editor.answerQuestion(/^GPUs in all/, '16');
    await editor.answerQuestion(/^Global batch/, '256');
    await editor.chooseInQuickInput('', 'Whichever is fastest');
    await editor.chooseInQuickInput('pp 2', 'pp 2');
    await editor.chooseInQuickInput('', 'Apply to this model');
    await editor.statusMatching(/pp2 · dp8/);
    await editor.goTo(placeOf('gpt2.layers.yaml', 'scenario: ', '{').line);
    const scenario = await editor.lineMatching(/^scenario:/);
    expect(scenario).toMatch(/gpus: 16.*global-batch: 256.*parallel: "pp=2,/);
    await editor.press('Control+z');
    await editor.statusMatching(/64 GPUs · batch 8/);
  },
};

const leadsToCosts: Scenario = {
  name: 'marks show where time goes, and a command leads there',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.until('marks in the gutter', async () =>
      (await editor.gutterMarks()) > 0 ? true : undefined,
    );
    await editor.runCommand('Layercost: Go to Most Expensive Layer');
    await editor.statusMatching(/1 of \d+ by cost/);
    await editor.runCommand('Layercost: Go to Next Most Expensive Layer');
    await editor.statusMatching(/2 of \d+ by cost/);
  },
};

const listsModules: Scenario = {
  name: 'a tree lists modules by cost and leads to their lines, and the status bar says the limit',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.statusMatching(/compute \d+ %|communication \d+ %/);
    const tree = editor.page.locator('.pane', { hasText: 'Costs by Module' });
    if ((await tree.locator('.monaco-list-row').count()) === 0) await tree.locator('.pane-header').click();
    const first = tree.locator('.monaco-list-row').first();
    await editor.until('the most expensive module', async () =>
      /h\[\*\] × 12/.test((await first.textContent()) ?? '') ? true : undefined,
    );
    await tree.locator('.monaco-list-row', { hasText: 'lm_head' }).click();
    const { line } = placeOf('gpt2.layers.yaml', 'lm_head: ', '');
    await editor.statusMatching(new RegExp(`Ln ${line}\\b`));
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'batch: ', '8'), '512');
    await editor.statusMatching(/does not fit/);
  },
};

const saysCosts: Scenario = {
  name: 'a command says what the hints of a line show',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    const { line } = placeOf('gpt2.layers.yaml', '- fc: ', 'Linear');
    await editor.goTo(line, 1);
    await editor.runCommand('Layercost: Read Cost of Line');
    await editor.notificationMatching(new RegExp(`Line ${line}: .*FLOP`));
  },
};

const warnsWhileTyping: Scenario = {
  name: 'warnings follow while a layer spec is typed',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/./);
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'batch: ', '8'), '256');
    await editor.problemMatching(/memory/i);
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'batch: ', '256'), '1');
    await editor.noProblemMatching(/does not fit/i);
    // So few samples are computed faster than the host launches them.
    await editor.problemMatching(/waits for the host/i);
  },
};

const startsSpec: Scenario = {
  name: 'a new spec begins with a model, and keys complete while typing',
  steps: async (editor) => {
    await editor.runCommand('Layercost: New Layer Spec');
    await editor.chooseInQuickInput('transformer', 'transformer');
    await editor.lineMatching(/TransformerEncoderLayer|MultiheadAttention/);
    await editor.press('Escape');
    await editor.press('Control+a');
    await editor.press('Delete');
    await editor.type('lay');
    await editor.proposalMatching(/^layers/);
    await editor.press('Tab');
    await editor.lineMatching(/- fc:/);
  },
};

const typesLayer: Scenario = {
  name: 'a layer is typed: proposals, signature, hint, error, fix',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.small);
    await editor.lineMatching(/fc2.*FLOP/);
    const { line, column, length } = placeIn(smallSpec, 'fc2: ', 'Linear(128, 10)');
    await editor.goTo(line, column + length);
    await editor.press('Enter');
    await editor.type('out: Lin');
    await editor.complete('Linear');
    await editor.signature(/^Linear\(in_features, out_features/);
    await editor.type('12, 4');
    await editor.problemMatching(/`in_features` is 12, but the last axis of the input is 10/);
    await editor.goTo(line + 1, placeIn('  - out: Linear(12', 'Linear(', '12').column + 1);
    await editor.fix(/Remove `12`/);
    await editor.noProblemMatching(/in_features/);
    expect(await editor.lineMatching(/out: Linear\(4\).*FLOP/)).toMatch(costHint);
  },
};

const appliesFinding: Scenario = {
  name: 'a finding appears while a scenario is typed, and its fix takes it away',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.wide);
    await editor.lineMatching(/fc2.*FLOP/);
    await editor.typeOver(placeIn(wideSpec, 'cluster: ', 'rtx-4090'), 't4');
    await editor.typeOver(placeIn(wideSpec.replace('rtx-4090', 't4'), 'precision: ', 'fp32'), 'bf16');
    await editor.problemMatching(/has no bf16 tensor cores/);
    await editor.lensMatching(/bf16/);
    const precision = placeIn(wideSpec.replace('rtx-4090', 't4'), 'precision: ', 'fp32');
    await editor.goTo(precision.line, precision.column + 1);
    await editor.fix(/^Use fp16: .* faster/);
    await editor.noProblemMatching(/tensor cores/);
    await editor.lineMatching(/scenario: .*fp16/);
  },
};

const navigates: Scenario = {
  name: 'a dim is renamed, a block is found, a text is formatted',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    const dim = placeOf('gpt2.layers.yaml', '  heads', ': 12');
    await editor.goTo(dim.line, dim.column - 2);
    await editor.rename('n_heads');
    await editor.lineMatching(/^\s*n_heads: 12/);
    await editor.lineMatching(/MultiheadAttention\(d, n_heads/);
    const call = placeOf('gpt2.layers.yaml', '- h: ', 'decoder');
    await editor.goTo(call.line, call.column + 2);
    await editor.press('F12');
    const block = placeOf('gpt2.layers.yaml', 'blocks:', '');
    await editor.statusMatching(new RegExp(`Ln ${block.line + 1}, Col 3\\b`));
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'Linear(d, ', '4*d'), '4  *  d');
    await editor.runCommand('Format Document');
    await editor.lineMatching(/Linear\(d, 4\*d\)/);
  },
};

const survivesItsServer: Scenario = {
  name: 'a server that is killed is started again with its documents',
  steps: async (editor, host) => {
    await editor.openFile('alexnet.onnx');
    await editor.lineMatching(/Conv.*FLOP/);
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    const [server] = await host.languageServers(editor.page);
    if (server === undefined) throw new Error('no language server is found');
    await server.kill();
    await editor.until('another language server', async () =>
      (await host.languageServers(editor.page)).find(({ id }) => id !== server.id),
    );
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'batch: ', '8'), '256');
    await editor.lensMatching(/batch 256/);
    await editor.problemMatching(/memory/i);
    await editor.openFile('alexnet.onnx');
    await editor.lineMatching(/Conv.*FLOP/);
  },
};

/** Of the whole model, wherever it is shown. */
const total = /step time/;

/** A browser loads pages from an address of their own; where that is blocked there is a text. */
export const blockedReport: Scenario = {
  name: 'a report whose page is blocked is a text',
  steps: async (editor) => {
    await editor.page.route('**/contrib/webview/browser/pre/**', (route) => route.abort());
    await showReport(editor);
    await editor.notificationMatching(/The page has not loaded/);
    await editor.pressInNotification('Show as Text');
    await editor.activeTab('alexnet.onnx report').waitFor();
    await editor.page.keyboard.press('Control+End');
    await editor.lineMatching(total);
  },
};
const renderedReport: Scenario = {
  name: 'the report is a rendered page',
  steps: async (editor) => {
    await showReport(editor);
    await editor.pageMatching(total);
  },
};

/** Sorted by its reader, it keeps the order while the text changes; a click on a layer goes to its line. */
const reportPanel: Scenario = {
  name: 'the report follows the text, and leads to its lines',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/step/);
    await editor.runCommand('Layercost: Show Report');
    await editor.pageMatching(/batch 8 per GPU/);
    const panel = await editor.frameWith('body.scripted table.layers', 'the page of the report');
    const times = panel.locator('th[data-column="5"]').first();
    await times.click();
    // Typing needs the text, which the click left.
    await editor.page.locator('.editor-group-container .view-line').first().click();
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'batch: ', '8'), '16');
    await editor.pageMatching(/batch 16 per GPU/);
    await editor.until('the order that was chosen', async () =>
      (await times.getAttribute('aria-sort')) === 'descending' ? true : undefined,
    );
    await panel.locator('table.layers tr[data-layer="lm_head"]').first().click();
    await editor.until('the layer marked', async () =>
      (await panel.locator('tr.here[data-layer="lm_head"]').count()) > 0 ? true : undefined,
    );
    await editor.page.locator('.view-line', { hasText: 'lm_head' }).first().waitFor();
  },
};

/** The report of GPT-2, where other scenarios are tried. */
async function openControls(editor: EditorPage): Promise<Frame> {
  await editor.openFile('gpt2.layers.yaml');
  await editor.lensMatching(/batch 8/);
  await editor.runCommand('Layercost: Show Report');
  await editor.pageMatching(/batch 8 per GPU/);
  return editor.frameWith('body.scripted #what-if', 'the controls of the report');
}

/** Another scenario is looked at while the text stays, then kept. */
const triesScenario: Scenario = {
  name: 'another scenario is tried in the report, and kept when asked',
  steps: async (editor) => {
    const panel = await openControls(editor);
    const step = panel.locator('dl.glance b').first();
    const before = await step.textContent();
    await panel.locator('#what-if [name=batch]').focus();
    await editor.press('ArrowRight');
    await editor.until('the totals of another batch', async () =>
      (await step.textContent()) === before ? undefined : true,
    );
    await editor.pageMatching(/batch 16 per GPU/);
    // Its scaling curve stands beside that of the scenario that is written.
    const curves = panel.locator('svg.scaling text');
    await editor.until('both curves in the legend', async () =>
      (await curves.filter({ hasText: /^batch (8|16)$/ }).count()) === 2 ? true : undefined,
    );
    // The text is as it was; a click into it brings it to the front.
    const text = editor.page.locator('.editor-group-container .view-line').first();
    await text.click();
    await editor.lensMatching(/batch 8/);
    await panel.locator('#what-if [name=checkpoint]').selectOption('block');
    await editor.pageMatching(/checkpoint block/);
    await editor.until('what was tried', async () =>
      (await panel.locator('#tried li').count()) >= 3 ? true : undefined,
    );
    await panel.locator('#keep').click();
    await text.click();
    await editor.lensMatching(/batch 16/);
    await editor.goTo(49);
    await editor.lineMatching(/checkpoint: block/);
    await editor.until('a scenario that is written', async () =>
      (await panel.locator('#keep').isDisabled()) ? true : undefined,
    );
  },
};

const overlaysTried: Scenario = {
  name: 'the scaling page draws what was tried in the report too',
  steps: async (editor) => {
    const panel = await openControls(editor);
    await panel.locator('#what-if [name=batch]').focus();
    await editor.press('ArrowRight');
    await editor.pageMatching(/batch 16 per GPU/);
    await editor.page.locator('.editor-group-container .view-line').first().click();
    await editor.runCommand('Layercost: Show Scaling');
    await editor.pageMatching(/gpt2: scaling[\s\S]*batch 8: [\s\S]*batch 16: /);
  },
};

/** The buttons of the walkthrough are about the model that was open before it. */
const walkthrough: Scenario = {
  name: 'the walkthrough is about the model that was open before it',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.goTo(1);
    await editor.openWalkthrough('Layercost');
    await editor.statusMatching(/batch 8/);
    await editor.page.getByText('See what a layer costs', { exact: true }).first().click();
    await editor.page.getByRole('button', { name: 'Go to Most Expensive Layer', exact: true }).click();
    await editor.statusMatching(/1 of \d+ by cost/);
    await editor.activeTab('gpt2.layers.yaml').waitFor();
  },
};

/** A list that is left without a choice leaves no empty text behind. */
const newSpecLeft: Scenario = {
  name: 'a new layer spec that nothing was chosen for is closed again',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.runCommand('Layercost: New Layer Spec');
    await editor.leaveQuickInput('transformer');
    await editor.activeTab('gpt2.layers.yaml').waitFor();
  },
};

const renderedScaling: Scenario = {
  name: 'the scaling curve is a rendered page',
  steps: async (editor) => {
    await showScaling(editor);
    await editor.pageMatching(/efficiency/);
  },
};

/** With what VS Code has beside the text unless somebody changes it: the explorer and the minimap. */
const staysInSight: Scenario = {
  name: 'hints and lenses end before the minimap in a window of 1,280 pixels',
  wishes: { samplesOnly: true, settings: { 'editor.minimap.enabled': true } },
  page: { width: 1280, height: 800, scale: 1 },
  steps: async (editor) => {
    for (const name of ['resnet50.onnx', 'gpt2.layers.yaml', 'tinyllama.layers.yaml', 'bert-base.onnx']) {
      await editor.openFile(name);
      await editor.lensMatching(/step .*\| | parameters/);
      await editor.lineMatching(/FLOP/);
      for (let page = 0; page < 3; page += 1) {
        const shown = await editor.endsOfCosts();
        if (page === 0) expect(shown.filter(({ isLens }) => isLens).length, name).toBeGreaterThan(0);
        // The hint of a line that is longer than the window by itself is scrolled to, with its line.
        expect(
          shown.filter(({ begins, ends }) => begins < -8 && ends > 0),
          name,
        ).toEqual([]);
        await editor.scroll(600);
        await editor.page.waitForTimeout(1_000);
      }
    }
  },
};

async function showScaling(editor: EditorPage): Promise<void> {
  await editor.openFile('alexnet.onnx');
  await editor.lensMatching(/step/);
  await editor.runCommand('Layercost: Show Scaling');
}

async function showReport(editor: EditorPage): Promise<void> {
  await editor.openFile('alexnet.onnx');
  await editor.lensMatching(/step/);
  await editor.runCommand('Layercost: Show Report');
}

export const scenarios: readonly Scenario[] = [
  opensBinaryModel,
  opensCaffeNet,
  opensConfig,
  showsBrokenModel,
  changesCluster,
  changesOwnScenario,
  plansParallelism,
  staysInSight,
  leadsToCosts,
  listsModules,
  saysCosts,
  warnsWhileTyping,
  startsSpec,
  typesLayer,
  appliesFinding,
  navigates,
  renderedReport,
  reportPanel,
  triesScenario,
  overlaysTried,
  walkthrough,
  newSpecLeft,
  renderedScaling,
  survivesItsServer,
];

/** In a browser, which starts no processes. */
export const refusedRevision: Scenario = {
  name: 'a browser says why it compares no revisions',
  steps: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.runCommand('Layercost: Compare with Git Revision');
    await editor.notificationMatching(/Git does not run in a browser: use desktop VS Code/);
  },
};

/** The same of a model of Python, with what there is to do. */
export const refusedExport: Scenario = {
  name: 'a browser says why it builds no model of Python',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.script);
    await editor.lensMatching(/Cost This Model/);
    await editor.clickUntil(
      editor.page.locator('.codelens-decoration').getByText('Cost This Model').first(),
      editor.page.getByText(/which a browser cannot start.*open a \.pt2 or \.onnx file/).first(),
      'why no model is built',
    );
  },
};

/** Needs processes, which a browser cannot start. */
export const benchmarkScenarios: readonly Scenario[] = [
  {
    name: 'a model is compared with a revision of its file',
    wishes: { isRepository: true, settings: { 'git.enabled': true } },
    steps: async (editor) => {
      await editor.openFile('gpt2.layers.yaml');
      await editor.lensMatching(/batch 8/);
      await editor.typeOver(placeOf('gpt2.layers.yaml', 'd: ', '768'), '1536');
      await editor.until('revisions of the file', async () => {
        await editor.runCommand('Layercost: Compare with Git Revision');
        const commit = editor.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Add models' });
        return commit
          .waitFor({ timeout: 3_000 })
          .then(() => true as const)
          .catch(() => undefined);
      });
      await editor.chooseInQuickInput('Add models', 'Add models');
      await editor.pageMatching(/Layers that differ/);
      await editor.pageMatching(/124,439,808 parameters/);
    },
  },
  {
    name: 'the benchmark runs on the processor, and its times are stale after an edit',
    steps: async (editor) => {
      await editor.openFile(workspaceFiles.small);
      await editor.lineMatching(/Linear.*FLOP/);
      await editor.runCommand('Layercost: Benchmark on GPU');
      await editor.notificationMatching(/Benchmark/);
      await editor.lineMatching(/Linear.*measured/);
      await editor.lensMatching(/measured .* on CPU/);
      await editor.typeOver(placeIn(smallSpec, '- fc2: Linear(128, ', '10'), '20');
      await editor.lensMatching(/benchmark is stale: the model computes something else now/);
      expect((await editor.visibleLines()).filter((line) => line.includes('measured'))).toEqual([]);
      await editor.typeOver(placeIn(smallSpec, '- fc2: Linear(128, ', '20'), '10');
      await editor.lineMatching(/Linear.*measured/);
      await editor.runCommand('Layercost: Benchmark Results…');
      await editor.chooseInQuickInput('small', 'current');
      await editor.chooseInQuickInput('Remove', 'Remove');
      await editor.until('the times gone', async () =>
        (await editor.visibleLines()).some((line) => line.includes('measured')) ? undefined : true,
      );
    },
  },
  {
    name: 'a model of a script is built, its lines show what they cost, and follow when it is saved',
    steps: async (editor) => {
      await editor.openFile(workspaceFiles.script);
      await editor.runCommand('Layercost: Cost This Model');
      await editor.lineMatching(/fc1\(x\).*FLOP/);
      await editor.lensMatching(/Cost This Model/);
      await editor.until('what the model was called with', async () =>
        (await editor.notifications()).find((notification) =>
          /was called with x=float32\[batch, /.test(notification),
        ),
      );
      await editor.pressInNotification('Keep');
      const cost = (line: string): string | undefined => /[\d.]+ \w*FLOP/.exec(line)?.[0];
      const before = cost(await editor.lineMatching(/fc1\(x\).*FLOP/));
      await editor.typeOver(placeIn(trainScript, 'nn.Linear(128, ', '10'), '4000');
      await editor.press('Control+s');
      await editor.until(
        'the cost of more classes',
        async () => {
          const now = (await editor.visibleLines()).find((text) => /fc1\(x\).*FLOP/.test(text));
          return now !== undefined && cost(now) !== before ? true : undefined;
        },
        60_000,
      );
    },
  },
  {
    name: 'the benchmark can be cancelled, and keeps what was measured',
    steps: async (editor) => {
      await editor.openFile(workspaceFiles.deep);
      await editor.lensMatching(/./);
      await editor.runCommand('Layercost: Benchmark on GPU');
      // A busy machine takes longer over the whole step, which is measured before the layers.
      const layer = async (): Promise<string | undefined> =>
        (await editor.notifications()).find((notification) => /layer stack/.test(notification));
      await editor.until('a layer that is measured', layer, 100_000);
      await editor.pressInNotification('Cancel');
      await editor.until('the end of the benchmark', async () =>
        (await editor.notifications()).length === 0 ? true : undefined,
      );
      await editor.lensMatching(/measured .* on CPU/);
    },
  },
  {
    name: 'the benchmark takes the interpreter of the Python extension',
    wishes: { pythonExtension: true, settings: { 'layercost.benchmark.python': '' } },
    steps: async (editor) => {
      await editor.openFile(workspaceFiles.small);
      await editor.lineMatching(/Linear.*FLOP/);
      await editor.runCommand('Layercost: Benchmark on GPU');
      await editor.notificationMatching(/bare-python has no torch/);
      await editor.pressInNotification('Select Interpreter');
      await editor.runCommand('Layercost: Benchmark on GPU');
      await editor.lensMatching(/measured .* on CPU/);
    },
  },
];
