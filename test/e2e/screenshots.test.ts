/** Pictures for the README: `npm run screenshots`. Everyday tests leave them alone. */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it } from 'vitest';
import type { EditorPage } from './harness/editorPage.ts';
import { launchCodeServer } from './harness/host.ts';
import { inEditor } from './harness/inEditor.ts';
import { readSetting } from './harness/setting.ts';
import { placeOf } from './harness/workspace.ts';

const target = resolve(import.meta.dirname, '../../media/screenshots');
const themes = { dark: 'Default Dark Modern', light: 'Default Light Modern' } as const;
const page = { width: 1480, height: 1000, scale: 1.5 };

/** Small letters, and every pixel for the text. */
const settings = {
  'editor.fontSize': 12,
  'editor.hover.above': false,
  'breadcrumbs.enabled': false,
  'window.commandCenter': false,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the editor fills these in
  'window.title': '${activeEditorShort}${separator}${rootName}',
};

/** A binary model with the hover of a layer. */
async function showResnet(editor: EditorPage): Promise<void> {
  await editor.openFile('resnet50.onnx');
  await editor.lineMatching(/Conv.*FLOP/);
  await editor.page.keyboard.press('Control+b');
  await editor.lineMatching(/conv2: Conv2d\(64, 64.*sum of/);
  // The lens moves the lines down when it comes.
  await editor.lensMatching(/batch 64/);
  await editor.hover('Conv2d');
}

/** A layer spec whose cluster was just changed to one in which gradients are waited for. */
async function showGpt2(editor: EditorPage): Promise<void> {
  await editor.openFile('gpt2.layers.yaml');
  await editor.lensMatching(/batch 8/);
  await editor.typeOver(placeOf('gpt2.layers.yaml', 'cluster: ', 'dgx-h100'), 'g5-48xlarge');
  await editor.page.keyboard.press('Control+b');
  await editor.problemMatching(/exposed/);
  await editor.scroll(300);
}

/** A layer being written: what it may be called, with its documentation. */
async function showProposals(editor: EditorPage): Promise<void> {
  await editor.openFile('gpt2.layers.yaml');
  await editor.lensMatching(/batch 8/);
  await editor.page.keyboard.press('Control+b');
  const { line, column } = placeOf('gpt2.layers.yaml', '- fc: ', '');
  await editor.goTo(line, column);
  await editor.press('End');
  await editor.press('Enter');
  await editor.type('gate: Linear(');
  await editor.propose();
  await editor.press('Control+Space');
}

/** What can be done about a finding, and what that saves. */
async function showFixes(editor: EditorPage): Promise<void> {
  await editor.openFile('gpt2.layers.yaml');
  await editor.lensMatching(/batch 8/);
  await editor.typeOver(placeOf('gpt2.layers.yaml', 'batch: ', '8'), '64');
  await editor.lensMatching(/batch 64\b/);
  await editor.page.keyboard.press('Control+b');
  await editor.problemMatching(/The step needs/);
  await editor.press('F8');
  await editor.press('Escape');
  await editor.showFixes();
}

/** The step by number of GPUs, beside the model. */
async function showScaling(editor: EditorPage): Promise<void> {
  await editor.openFile('vgg16.onnx');
  await editor.lensMatching(/batch 32/);
  await editor.page.keyboard.press('Control+b');
  await editor.runCommand('Layercost: Show Scaling');
  await editor.pageMatching(/efficiency/);
}

/** The spec has a scenario of its own; the binary model takes one that somebody might really use. */
const pictures = [
  {
    model: 'resnet50',
    show: showResnet,
    scenario: {
      'layercost.cluster': 'dgx-a100',
      'layercost.gpus': 16,
      'layercost.batch': 64,
      'layercost.precision': 'bf16',
    },
  },
  { model: 'gpt2', show: showGpt2, scenario: {} },
  { model: 'proposals', show: showProposals, scenario: {} },
  { model: 'fixes', show: showFixes, scenario: {} },
  {
    model: 'scaling',
    show: showScaling,
    scenario: { 'layercost.cluster': 'p3-16xlarge', 'layercost.batch': 32, 'layercost.precision': 'fp16' },
  },
];

for (const [theme, title] of Object.entries(themes)) {
  for (const { model, show, scenario } of pictures) {
    it(`${model}-${theme}.png`, async () => {
      const setting = readSetting();
      const host = await launchCodeServer(setting, {
        settings: { ...settings, ...scenario, 'workbench.colorTheme': title },
        samplesOnly: true,
      });
      mkdirSync(target, { recursive: true });
      try {
        await inEditor(
          host,
          setting,
          `${model}-${theme}`,
          async (editor) => {
            await show(editor);
            // What appears fades in.
            await editor.page.waitForTimeout(800);
            await editor.page.screenshot({ path: join(target, `${model}-${theme}.png`) });
          },
          page,
        );
      } finally {
        await host.close();
      }
    });
  }
}
