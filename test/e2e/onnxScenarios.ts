/** What a person does with a binary model, once its layers are shown: the other text, a spec of it, sizes, fixes. */

import { expect } from 'vitest';
import { workspaceFiles } from './harness/workspace.ts';
import type { Scenario } from './scenarios.ts';

const togglesText: Scenario = {
  name: 'layers and ONNX text show the same place',
  steps: async (editor) => {
    await editor.openFile('resnet50.onnx');
    await editor.lineMatching(/Conv.*FLOP/);
    await editor.runCommand('Layercost: Go to Most Expensive Layer');
    await editor.statusMatching(/1 of \d+ by cost/);
    const layer = await editor.lineAtCursor();
    expect(layer).toMatch(/- \w+: Conv2d\(/);
    await editor.runCommand('Layercost: Show as ONNX Text');
    await editor.activeTab('resnet50.onnx.onnxtxt').waitFor();
    const operator = await editor.until('the operators of the layer', async () => {
      const line = await editor.lineAtCursor();
      return /BatchNormalization|Conv/.test(line ?? '') ? line : undefined;
    });
    expect(operator).toMatch(/conv1/);
    await editor.runCommand('Layercost: Show as Layers');
    await editor.activeTab('resnet50.onnx.layers.yaml').waitFor();
    await editor.until('the layer again', async () =>
      (await editor.lineAtCursor()) === layer ? true : undefined,
    );
  },
};

const savesSpec: Scenario = {
  name: 'a binary model is saved as a layer spec with the same costs, which can be changed',
  steps: async (editor) => {
    await editor.openFile('resnet50.onnx');
    const total = /[\d,.]+ \wFLOP\b/;
    const before = total.exec(await editor.lensMatching(total))?.[0];
    await editor.runCommand('Layercost: Save as Layer Spec');
    await editor.activeTab('Untitled-1').waitFor();
    await editor.lineMatching(/^name: "resnet50"/);
    const after = total.exec(await editor.lensMatching(total))?.[0];
    expect(after).toBe(before);
    await editor.goTo(await editor.lineNumber(/^\s+batch:/), 20);
    await editor.type(' 4');
    await editor.lensMatching(/batch 4/);
  },
};

const setsDimensions: Scenario = {
  name: 'a model with dynamic axes has no cost until its dimensions are set',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.dynamic);
    await editor.lensMatching(/cost unknown/);
    await editor.lensMatching(/Set dimensions: sequence_length/);
    await editor.runCommand('Layercost: Set Dimensions');
    expect(await editor.proposedInput()).toBe('batch_size=8, sequence_length=512');
    await editor.answerInput('sequence_length=128, batch_size=4');
    // 2 · 4 samples · 128 tokens · 64 · 64, and as much for the gradient of the weight.
    await editor.lensMatching(/^(?!.*≥).*8\.39 MFLOP/);
    await editor.lensMatching(/batch 4/);
    await editor.noProblemMatching(/has no value/);
    await editor.runCommand('Layercost: Show as ONNX Text');
    await editor.activeTab(`${workspaceFiles.dynamic}.onnxtxt`).waitFor();
    await editor.lensMatching(/8\.39 MFLOP/);
  },
};

const fixesFinding: Scenario = {
  name: 'a fix of a finding changes the scenario of a binary model',
  steps: async (editor) => {
    await editor.openFile('resnet50.onnx');
    await editor.lensMatching(/batch 1\b/);
    await editor.lensMatching(/Quick fixes…/);
    await editor.runCommand('Layercost: List Quick Fixes');
    await editor.chooseInQuickInput('Use a batch of', 'samples per second');
    await editor.lensMatching(/batch (?!1\b)\d+/);
  },
};

/** Parameters by hand: 216 + 8 of the convolution, 16 of the normalization, 80 of the last layer, whose bias is frozen. */
const opensProgram: Scenario = {
  name: 'an archive of torch.export opens as layers with costs',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.program);
    await editor.activeTab(`${workspaceFiles.program}.layers.yaml`).waitFor();
    await editor.lensMatching(/\b320\b/);
    // 2 · 16 · 16 places · 27 · 8.
    expect(await editor.lineMatching(/conv: Conv2d\(3, 8.*FLOP/)).toMatch(/FLOP/);
    await editor.runCommand('Layercost: Show as ONNX Text');
    await editor.activeTab(`${workspaceFiles.program}.onnxtxt`).waitFor();
    await editor.lineMatching(/Conv.*FLOP/);
  },
};

const costsPython: Scenario = {
  name: 'lines of Python say what they cost in the open model that was exported from them',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.exported);
    await editor.lineMatching(/fc.*FLOP/);
    await editor.openFile(workspaceFiles.python);
    const product = /return torch\.relu\(self\.fc\(x\)\).*FLOP/;
    const before = await editor.lineMatching(product);
    await editor.lensMatching(/FLOP/);
    expect(await editor.hover('relu')).toMatch(/forward[\s\S]*backward/);
    await editor.goTo(1, 13);
    await editor.type('\n# a line above it\n# and another');
    await editor.until('the cost to follow its line', async () => {
      const lines = await editor.visibleLines();
      const moved = lines.findIndex((line) => product.test(line));
      return moved === 11 && lines[moved] === before ? true : undefined;
    });
  },
};

const offersArchive: Scenario = {
  name: 'a Python file alone offers the model that lies beside it, and shows its costs',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.python);
    await editor.lensMatching(/Cost This Model/);
    await editor.lensMatching(/Show Costs From blocks\.pt2/);
    await editor.clickUntil(
      editor.page.getByText('Show Costs From blocks.pt2'),
      editor.page
        .locator('.view-line')
        .filter({ hasText: /torch\.relu\(.*FLOP/ })
        .first(),
      'costs from blocks.pt2',
    );
  },
};

const costsCells: Scenario = {
  name: 'lines of a notebook say what they cost in the open model that was exported from its cells',
  steps: async (editor) => {
    await editor.openFile(workspaceFiles.exportedCells);
    await editor.lineMatching(/fc.*FLOP/);
    await editor.openFile(workspaceFiles.notebook);
    await editor.cellLineMatching(/return torch\.relu\(self\.fc\(x\)\).*FLOP/);
    await editor.cellLineMatching(/return self\.head\(x\).*FLOP/);
  },
};

export const onnxScenarios: readonly Scenario[] = [
  opensProgram,
  costsCells,
  costsPython,
  offersArchive,
  togglesText,
  savesSpec,
  setsDimensions,
  fixesFinding,
];
