/** Models of Python as archives: by stand-ins for the interpreter, and by a real one with torch 2.5 or newer where there is one. */

import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ModelAnalysis } from '../../server/src/analysis/modelAnalysis.ts';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { archivePath } from '../../server/src/export/archivePath.ts';
import { exportModel } from '../../server/src/export/exportModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

const script = resolve(import.meta.dirname, '../../server/src/export/python');
const folder = mkdtempSync(join(tmpdir(), 'layercost-export-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each([
  ['train.py:Net', 'train.Net.pt2'],
  ['models/gpt.py:make', 'models.gpt.make.pt2'],
  ['package.module:Class.build', 'package.module.Class.build.pt2'],
  ['hf:meta-llama/Llama-3.1-8B', 'hf.meta-llama.Llama-3.1-8B.pt2'],
  ['../../../etc/passwd:x', 'etc.passwd.x.pt2'],
  ['::', 'model.pt2'],
])('%s lies in %s', (target, name) => {
  expect(archivePath('/work', target)).toBe(join('/work/.layercost/exports', name));
});

describe('an interpreter that behaves badly', () => {
  /** Reads what it is given, as the real one does. */
  function standIn(name: string, body: string): string {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\ncat > /dev/null\n${body}\n`);
    chmodSync(path, 0o755);
    return path;
  }
  const run = (python: string, more: { totalSeconds?: number; signal?: AbortSignal } = {}) =>
    exportModel(
      { target: 'x:y', output: join(folder, 'x.pt2'), inputs: {} },
      { script, python, findPythons: async () => [], ...more },
    );

  it.each([
    ['silent', 'exit 0', 'crash', /ended with status 0 during start-up/],
    [
      'crash',
      'echo "Segmentation fault" >&2; exit 3',
      'crash',
      /status 3 during start-up: Segmentation fault/,
    ],
    ['garbage', 'echo hello', 'crash', /a line that is no event: hello/],
    [
      'untraceable',
      `echo '{"event":"refused","kind":"model","message":"ValueError: no"}'; exit 1`,
      'model',
      /could not be built or traced \(ValueError: no\)/,
    ],
    [
      'torchless',
      `echo '{"event":"refused","kind":"torch-missing","message":"no module named torch"}'; exit 1`,
      'torch-missing',
      /pip install torch.*No Python with torch was found/,
    ],
  ])('%s', async (name, body, failure, message) => {
    expect(await run(standIn(name, body))).toEqual({
      kind: 'failed',
      failure,
      message: expect.stringMatching(message),
    });
  });

  it('is not there', async () => {
    expect(await run(join(folder, 'nobody'))).toMatchObject({
      failure: 'no-interpreter',
      message: expect.stringMatching(/cannot be started \(ENOENT\)/),
    });
  });

  it('hangs, and is stopped with what it started', async () => {
    const hanging = standIn('hanging', 'sleep 100 & echo $! > "$0.pid"; wait');
    expect(await run(hanging, { totalSeconds: 1 })).toMatchObject({ failure: 'timeout' });
    const child = Number(readFileSync(`${hanging}.pid`, 'utf8'));
    await expect.poll(() => isRunning(child)).toBe(false);
  });

  it('is cancelled', async () => {
    const stopping = new AbortController();
    const running = run(standIn('slow', 'sleep 100'), { signal: stopping.signal });
    setTimeout(() => stopping.abort(), 200);
    expect(await running).toEqual({ kind: 'cancelled' });
    expect(await run('python3', { signal: AbortSignal.abort() })).toEqual({ kind: 'cancelled' });
  });
});

/** One that has ended may wait for somebody to ask how. */
function isRunning(process: number): boolean {
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(process)], { encoding: 'utf8' }).stdout.trim();
  return state !== '' && !state.startsWith('Z');
}

const python = [process.env.LAYERCOST_PYTHON, 'python3'].find(
  (candidate) => candidate !== undefined && hasTorch(candidate),
);

function hasTorch(candidate: string): boolean {
  const program = 'import sys, torch; sys.exit(tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5))';
  return spawnSync(candidate, ['-c', program]).status === 0;
}

if (python === undefined) console.warn('no Python with torch 2.5 or newer: real exports are not tested');

const source = `import torch
from torch import nn

class Language(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.embed = nn.Embedding(100, d)
        self.layer = nn.TransformerEncoderLayer(d, 4, 64, batch_first=True)
        self.head = nn.Linear(d, 100)
    def forward(self, tokens):
        return self.head(self.layer(self.embed(tokens)))

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
    def forward(self, left, right):
        return self.a(left) + right
`;

/** Each has a table of 32 by 8 or a product of as many weights, and 8 biases. */
const ways = `from dataclasses import dataclass
import torch
from torch import nn

class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 8)

class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Linear(32, 8)
    def training_step(self, batch, index):
        return self.network(batch).sum()

@dataclass
class Scores:
    scores: torch.Tensor

class Result(Linear):
    def forward(self, x):
        return Scores(self.linear(x))

class Named(Linear):
    def forward(self, **given):
        return self.linear(given['x'])

class Batch(Linear):
    def forward(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.linear(x), y)

class Labelled(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(32, 8)
        self.bias = nn.Parameter(torch.zeros(8))
    def forward(self, input_ids, labels):
        scores = self.table(input_ids) + self.bias
        return nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())

class Skipping(Linear):
    layerdrop = 0.1
    def forward(self, x):
        return x if torch.rand([]) < self.layerdrop else self.linear(x)
`;

/** What `layercost_inputs()` beside a class of `ways` gives. */
const inputsOf: Readonly<Record<string, string>> = {
  Named: "def layercost_inputs(): return {'x': torch.zeros(4, 32)}",
  Batch: 'def layercost_inputs(): return ((torch.zeros(4, 32), torch.zeros(4, 8)),)',
};

describe.skipIf(python === undefined)('a real interpreter', () => {
  writeFileSync(join(folder, 'train.py'), source);
  const exported = async (target: string) => {
    const output = join(folder, 'out', `${Math.random()}.pt2`);
    const outcome = await exportModel(
      { target: join(folder, target), output, inputs: {} },
      { script, python: python ?? 'python3' },
    );
    return { outcome, opened: existsSync(output) ? opened(output) : undefined };
  };
  const opened = (path: string): OpenedModel =>
    openModel(byteSourceOfBuffer(readFileSync(path)), 'model.pt2', { dimensions: { batch: 4, seq: 16 } });

  it('a class of a file: in training mode, with named dimensions, without weights', async () => {
    const { outcome, opened } = await exported('train.py:Language');
    expect(outcome).toMatchObject({ kind: 'done', notes: [] });
    expect(opened?.analysis?.batchSymbol).toBe('batch');
    const { cost, training } = estimateModel(opened ?? never(), [{ batch: 4, dimensions: { seq: 16 } }]);
    expect(cost?.totals.exact).toBe(true);
    // 100·32 twice, bias of the head; of the layer 4·32² + 4·32, 2·32·64 + 64 + 32, 4·32.
    expect(elementsOf(training?.analysis)).toBe(2 * 3200 + 100 + 4 * 1024 + 128 + 4096 + 96 + 128);
    expect(opened?.issues.map(({ code }) => code)).not.toContain('shape/unbound-dimension');
  }, 60_000);

  it.each([
    ['a network inside of a module', 'Steps.network'],
    ['a dataclass as the result', 'Result'],
    ['inputs of any name', 'Named'],
    ['inputs in a tuple', 'Batch'],
    ['labels that it cannot be called without', 'Labelled'],
    ['layers that are skipped at random', 'Skipping'],
  ])(
    '%s',
    async (_, target) => {
      const file = `${target.replace('.', '')}.py`;
      writeFileSync(join(folder, file), `${ways}\n${inputsOf[target] ?? ''}\n`);
      const { outcome, opened } = await exported(`${file}:${target}`);
      expect(outcome).toMatchObject({ kind: 'done' });
      expect(elementsOf(opened?.analysis)).toBe(32 * 8 + 8);
    },
    60_000,
  );

  it.each([
    [
      'parses.py',
      'import argparse, sys\np = argparse.ArgumentParser()\np.add_argument("--data", required=True)\np.parse_args()',
      /ends when it is imported.*__main__/,
    ],
    [
      'missing.py',
      'import no_such_package',
      /imports no_such_package, which .* does not find: install it there/,
    ],
    ['reads.py', 'import torch\ntorch.load("no-such-file.pt")', /reads no-such-file.pt when it is imported/],
    ['gpu.py', 'import torch\ndef Net(): return torch.nn.Linear(2, 2).cuda()', /asks for a GPU/],
    [
      'steps.py',
      'import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.network = torch.nn.Linear(2, 2)',
      /Net has no forward\(\): name a network inside of it, such as network/,
    ],
  ])(
    '%s: says what to do',
    async (file, text, message) => {
      writeFileSync(join(folder, file), text);
      const { outcome } = await exported(`${file}:Net`);
      expect(outcome).toEqual({
        kind: 'failed',
        failure: expect.any(String),
        message: expect.stringMatching(message),
      });
    },
    60_000,
  );

  it('says what is wrong with what it was asked', async () => {
    expect((await exported('train.py:Pair')).outcome).toEqual({
      kind: 'failed',
      failure: 'inputs',
      message: expect.stringMatching(/forward\(left, right\).*layercost_inputs\(\)/),
    });
  }, 60_000);
});

const elementsOf = (analysis: ModelAnalysis | undefined): number =>
  (analysis?.parameters ?? never()).reduce((sum, { elements }) => sum + (elements ?? Number.NaN), 0);

function never(): never {
  throw new Error('nothing was written');
}
