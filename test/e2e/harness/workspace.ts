/** The folder that an editor under test shows: copies of the samples, a few broken models, calm settings. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { encodeModel } from '../../support/onnxBytes.ts';

const samples = resolve(import.meta.dirname, '../../../samples');
const pythonModels = resolve(import.meta.dirname, '../../language/python');
const program = resolve(import.meta.dirname, '../../formats/pt2/small.pt2');

/** A model that the processor trains in seconds. */
export const smallSpec = `name: small
dims: { batch: 4 }
inputs:
  pixels: float32[batch, 64]
layers:
  - fc1: Linear(64, 128)
  - act: ReLU()
  - fc2: Linear(128, 10)
scenario: { cluster: rtx-4090, precision: fp32, optimizer: sgd }
`;

/** Large enough for matrix products to be what a step takes its time for. */
export const wideSpec = `dims: { batch: 4096, d: 4096 }
inputs:
  x: float32[batch, d]
layers:
  - fc1: Linear(d, d)
  - fc2: Linear(d, d)
scenario: { cluster: rtx-4090, precision: fp32 }
`;

/** A model whose layers the processor measures one after another for half a minute. */
export const deepSpec = `name: deep
dims: { batch: 64 }
inputs:
  x: float32[batch, 512]
blocks:
  part:
    - fc: Linear(512, 512)
    - act: ReLU()
layers:
  - stack: part() * 20
scenario: { cluster: rtx-4090, precision: fp32, optimizer: sgd }
`;

/** A script with a model that no file was made of. */
export const trainScript = `import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))
`;

export const workspaceFiles = {
  truncated: 'truncated.onnx',
  random: 'random.onnx',
  empty: 'empty.onnx',
  small: 'small.layers.yaml',
  wide: 'wide.layers.yaml',
  deep: 'deep.layers.yaml',
  config: 'config.json',
  dynamic: 'dynamic.onnx',
  program: 'small.pt2',
  python: 'blocks.py',
  script: 'train.py',
  exported: 'blocks.pt2',
  notebook: 'cells.ipynb',
  exportedCells: 'cells.pt2',
} as const;

export interface WorkspaceWishes {
  /** Added to the settings of the workspace. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Leaves out the models made for tests. */
  readonly samplesOnly?: boolean;
  /** The folder is a Git repository in which all files are committed. */
  readonly isRepository?: boolean;
}

export function createWorkspace({
  settings = {},
  samplesOnly = false,
  isRepository = false,
}: WorkspaceWishes): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'layercost-e2e-')), 'samples');
  mkdirSync(join(folder, '.vscode'), { recursive: true });
  writeFileSync(
    join(folder, '.vscode/settings.json'),
    JSON.stringify({ ...calmSettings, ...settings }, undefined, 2),
  );
  for (const name of readdirSync(samples)) {
    if (/\.(onnx|layers\.yaml|prototxt)$/.test(name)) cpSync(join(samples, name), join(folder, name));
  }
  if (!samplesOnly) writeTestModels(folder);
  if (isRepository) commitAll(folder);
  return folder;
}

function commitAll(folder: string): void {
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.org'];
  for (const words of [
    ['init', '--quiet'],
    ['add', '.'],
    [...author, 'commit', '--quiet', '-m', 'Add models'],
  ])
    execFileSync('git', words, { cwd: folder });
}

/** Sizes of a small Llama; what is missing is as transformers has it. */
const config = {
  model_type: 'llama',
  hidden_size: 512,
  num_hidden_layers: 4,
  num_attention_heads: 8,
  intermediate_size: 1408,
};

/** Its exporter left two axes open. */
const dynamicModel = encodeModel({
  graph: {
    name: 'dynamic',
    inputs: { x: 'float[batch_size,sequence_length,64]' },
    outputs: { y: 'float[batch_size,sequence_length,64]' },
    initializers: [{ name: 'w', type: 'float[64,64]' }],
    nodes: [{ type: 'MatMul', name: '/fc/MatMul', inputs: ['x', 'w'], outputs: ['y'] }],
  },
});

function writeTestModels(folder: string): void {
  writeFileSync(join(folder, workspaceFiles.config), JSON.stringify(config, undefined, 2));
  const whole = readFileSync(join(samples, 'resnet50.onnx'));
  writeFileSync(join(folder, workspaceFiles.truncated), whole.subarray(0, Math.floor(whole.length / 2)));
  writeFileSync(join(folder, workspaceFiles.random), pseudoRandomBytes(4096));
  writeFileSync(join(folder, workspaceFiles.empty), '');
  writeFileSync(join(folder, workspaceFiles.dynamic), dynamicModel);
  cpSync(program, join(folder, workspaceFiles.program));
  for (const name of [workspaceFiles.python, workspaceFiles.exported, workspaceFiles.exportedCells]) {
    cpSync(join(pythonModels, name), join(folder, name));
  }
  writeFileSync(join(folder, workspaceFiles.notebook), JSON.stringify(notebook()));
  writeFileSync(join(folder, workspaceFiles.small), smallSpec);
  writeFileSync(join(folder, workspaceFiles.wide), wideSpec);
  writeFileSync(join(folder, workspaceFiles.deep), deepSpec);
  writeFileSync(join(folder, workspaceFiles.script), trainScript);
}

/** The classes of `blocks.py` in two cells, of which the archive of cells was exported. */
function notebook(): unknown {
  const source = readFileSync(join(pythonModels, workspaceFiles.python), 'utf8');
  const cells = source.split(/\n\n\n(?=class Model)/).map((text) => ({
    cell_type: 'code',
    execution_count: null,
    metadata: {},
    outputs: [],
    source: text.split(/(?<=\n)/),
  }));
  const metadata = { language_info: { name: 'python' } };
  return { cells, metadata, nbformat: 4, nbformat_minor: 4 };
}

export interface Place {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

/** Where a sample has the text right after some other text, as an editor counts. */
export const placeOf = (sample: string, after: string, text: string): Place =>
  placeIn(readFileSync(join(samples, sample), 'utf8'), after, text);

/** The same in a text. */
export function placeIn(source: string, after: string, text: string): Place {
  const lines = source.split('\n');
  const line = lines.findIndex((candidate) => candidate.includes(after));
  if (line < 0) throw new Error(`the text has no ${JSON.stringify(after)} any more`);
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
  'remote.autoForwardPorts': false,
  'files.exclude': { '**/.vscode': true },
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
