/**
 * Pictures to look at: what a person passes through, in both editors, in each kind of theme, on a small and a large screen.
 * `npm run e2e -- --journeys` writes them below `.cache/journeys`.
 */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it } from 'vitest';
import type { EditorPage } from './harness/editorPage.ts';
import { launchCodeServer, launchWeb } from './harness/host.ts';
import { inEditor } from './harness/inEditor.ts';
import { readSetting } from './harness/setting.ts';
import { placeOf, workspaceFiles } from './harness/workspace.ts';

const target = resolve(import.meta.dirname, '../../.cache/journeys');

const hosts = { web: launchWeb, 'code-server': launchCodeServer };

const themes = {
  light: 'Default Light Modern',
  dark: 'Default Dark Modern',
  contrast: 'Default High Contrast',
  'contrast-light': 'Default High Contrast Light',
};

const sizes = [
  { width: 1024, height: 768 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
];

/** Each ends where there is something to look at. */
const journeys: Readonly<Record<string, (editor: EditorPage) => Promise<void>>> = {
  layers: async (editor) => {
    await editor.openFile('resnet50.onnx');
    await editor.lineMatching(/conv2: Conv2d\(64, 64.*sum of/);
    await editor.hover('Conv2d');
  },
  finding: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'cluster: ', 'dgx-h100'), 'g5-48xlarge');
    await editor.problemMatching(/exposed/);
    await editor.press('F8');
  },
  clusters: async (editor) => {
    await editor.openFile('alexnet.onnx');
    await editor.lensMatching(/batch/);
    await editor.runCommand('Layercost: Choose Cluster');
    await editor.page.locator('.quick-input-list .monaco-list-row').nth(4).waitFor();
  },
  mistake: async (editor) => {
    await editor.openFile('tinyllama.layers.yaml');
    await editor.lensMatching(/FLOP/);
    await editor.typeOver(placeOf('tinyllama.layers.yaml', '- gate: ', 'Linear'), 'Linaer');
    await editor.problemMatching(/Linaer/);
  },
  dimensions: async (editor) => {
    await editor.openFile(workspaceFiles.dynamic);
    await editor.lensMatching(/cost unknown/);
    await editor.runCommand('Layercost: Set Dimensions');
    await editor.proposedInput();
  },
  plan: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.runCommand('Layercost: Plan Parallelism');
    await editor.chooseInQuickInput('dgx-h100', 'current');
    await editor.answerQuestion(/^GPUs in all/, '8, 16');
    await editor.answerQuestion(/^Global batch/, '256');
    await editor.chooseInQuickInput('', 'Fastest');
    await editor.chooseInQuickInput('', 'Whichever is fastest');
    await editor.page.locator('.quick-input-list .monaco-list-row', { hasText: 'dp 16' }).first().waitFor();
  },
  revision: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'd: ', '768'), '1536');
    await editor.until('revisions of the file, or why there are none', async () => {
      await editor.runCommand('Layercost: Compare with Git Revision');
      await editor.page.waitForTimeout(2_000);
      const commit = editor.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Add models' });
      return (await commit.isVisible()) || (await editor.notifications()).length > 0 ? true : undefined;
    });
    if ((await editor.notifications()).length > 0) return;
    await editor.chooseInQuickInput('Add models', 'Add models');
    await editor.pageMatching(/Layers that differ/);
  },
  mistakes: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'cluster: ', 'dgx-h100'), 'dgx-h10');
    await editor.typeOver(placeOf('gpt2.layers.yaml', 'd: ', '768'), '0');
    await editor.problemMatching(/dgx-h10/);
    await editor.runCommand('Problems: Focus on Problems View');
    await editor.page.waitForTimeout(1_500);
  },
  walkthrough: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.openWalkthrough('Layercost');
    await editor.page.waitForTimeout(2_000);
  },
  tree: async (editor) => {
    await editor.openFile('gpt2.layers.yaml');
    await editor.lensMatching(/batch 8/);
    await editor.runCommand('Explorer: Focus on Costs by Module View');
    await editor.page
      .locator('.pane', { hasText: 'Costs by Module' })
      .locator('.monaco-list-row')
      .first()
      .waitFor();
    await editor.press('ArrowRight');
    await editor.page.waitForTimeout(1_000);
  },
  processors: async (editor) => {
    await editor.openFile('alexnet.onnx');
    await editor.lensMatching(/batch/);
    await editor.chooseCluster('cpu-1gbe');
    await editor.runCommand('Layercost: Show Report');
    await editor.page.waitForTimeout(3_000);
  },
  scaling: async (editor) => {
    await editor.openFile('bert-base.onnx');
    await editor.lensMatching(/FLOP/);
    await editor.runCommand('Layercost: Show Scaling');
    await editor.page.waitForTimeout(4_000);
  },
  report: async (editor) => {
    await editor.openFile('bert-base.onnx');
    await editor.lensMatching(/FLOP/);
    await editor.runCommand('Layercost: Show Report');
    await editor.page.waitForTimeout(3_000);
  },
};

for (const [host, launch] of Object.entries(hosts)) {
  for (const [theme, title] of Object.entries(themes)) {
    for (const [journey, walk] of Object.entries(journeys)) {
      it(`${host} ${journey} ${theme}`, async () => {
        const setting = readSetting();
        const running = await launch(setting, {
          isRepository: journey === 'revision',
          settings: {
            'workbench.colorTheme': title,
            ...(journey === 'revision' ? { 'git.enabled': true } : {}),
          },
        });
        mkdirSync(target, { recursive: true });
        try {
          await inEditor(
            running,
            setting,
            `${journey}-${theme}`,
            async (editor) => {
              await walk(editor);
              for (const size of sizes) {
                await editor.page.setViewportSize(size);
                // What appears fades in.
                await editor.page.waitForTimeout(800);
                const name = `${host}-${journey}-${theme}-${size.width}.png`;
                await editor.page.screenshot({ path: join(target, name) });
              }
            },
            { width: 1280, height: 800, scale: 1 },
          );
        } finally {
          await running.close();
        }
      });
    }
  }
}
