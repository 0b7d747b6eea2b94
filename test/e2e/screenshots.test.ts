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
const page = { width: 1440, height: 900, scale: 1.5 };

/** A binary model with the hover of a layer. */
async function showResnet(editor: EditorPage): Promise<void> {
  await editor.openFile('resnet50.onnx');
  await editor.lineMatching(/Conv.*FLOP/);
  await editor.hover('Conv');
}

/** A layer spec whose batch was just changed so that gradients are waited for. */
async function showGpt2(editor: EditorPage): Promise<void> {
  await editor.openFile('gpt2.layers.yaml');
  await editor.lensMatching(/GPUs/);
  await editor.typeOver(placeOf('gpt2.layers.yaml', 'batch: ', '8'), '1');
  await editor.problemMatching(/waits for gradients/);
}

const pictures = [
  { model: 'resnet50', show: showResnet },
  { model: 'gpt2', show: showGpt2 },
];

for (const [theme, title] of Object.entries(themes)) {
  for (const { model, show } of pictures) {
    it(`${model}-${theme}.png`, async () => {
      const setting = readSetting();
      const host = await launchCodeServer(setting, { 'workbench.colorTheme': title });
      mkdirSync(target, { recursive: true });
      try {
        await inEditor(
          host,
          setting,
          `${model}-${theme}`,
          async (editor) => {
            await show(editor);
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
