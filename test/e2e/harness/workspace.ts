/** The folder that an editor under test shows: copies of the samples, a few broken models, calm settings. */

import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const samples = resolve(import.meta.dirname, '../../../samples');

const wantedSamples = [
  'resnet50.onnx',
  'alexnet.onnx',
  'gpt2.onnx',
  'gpt2.layers.yaml',
  'alexnet.layers.yaml',
];

/** A model that the processor trains in seconds. */
const smallSpec = `name: small
dims: { batch: 4 }
inputs:
  pixels: float32[batch, 64]
layers:
  - fc1: Linear(64, 128)
  - act: ReLU()
  - fc2: Linear(128, 10)
scenario: { cluster: rtx-4090, precision: fp32, optimizer: sgd }
`;

export const workspaceFiles = {
  truncated: 'truncated.onnx',
  random: 'random.onnx',
  empty: 'empty.onnx',
  small: 'small.layers.yaml',
} as const;

/** Creates the folder; `settings` are added to the workspace's. */
export function createWorkspace(settings: Readonly<Record<string, unknown>>): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'layercost-e2e-')), 'models');
  mkdirSync(join(folder, '.vscode'), { recursive: true });
  writeFileSync(
    join(folder, '.vscode/settings.json'),
    JSON.stringify({ ...calmSettings, ...settings }, undefined, 2),
  );
  for (const name of wantedSamples) cpSync(join(samples, name), join(folder, name));
  const whole = readFileSync(join(samples, 'resnet50.onnx'));
  writeFileSync(join(folder, workspaceFiles.truncated), whole.subarray(0, Math.floor(whole.length / 2)));
  writeFileSync(join(folder, workspaceFiles.random), pseudoRandomBytes(4096));
  writeFileSync(join(folder, workspaceFiles.empty), '');
  writeFileSync(join(folder, workspaceFiles.small), smallSpec);
  return folder;
}

/** Where a sample has the text right after some other text, as an editor counts. */
export function placeOf(
  sample: string,
  after: string,
  text: string,
): { readonly line: number; readonly column: number; readonly length: number } {
  const lines = readFileSync(join(samples, sample), 'utf8').split('\n');
  const line = lines.findIndex((candidate) => candidate.includes(after));
  if (line < 0) throw new Error(`${sample} has no ${JSON.stringify(after)} any more`);
  const column = (lines[line] ?? '').indexOf(after) + after.length + 1;
  return { line: line + 1, column, length: text.length };
}

/** Nothing pops up, completes or blinks while a test types. */
const calmSettings = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'editor.minimap.enabled': false,
  'editor.cursorBlinking': 'solid',
  'editor.autoClosingBrackets': 'never',
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.suggestOnTriggerCharacters': false,
  'files.autoSave': 'off',
  'extensions.ignoreRecommendations': true,
  'git.enabled': false,
};

/** The same bytes in every run (linear congruential generator, Numerical Recipes). */
function pseudoRandomBytes(count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  let state = 1;
  for (let i = 0; i < count; i += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}
