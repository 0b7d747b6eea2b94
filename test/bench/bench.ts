/** The figures of `npm run bench`. Each is a median of several runs with its extremes. */

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver-protocol/node';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { onnxTextScheme, onnxTextSuffix } from '../../server/src/protocol.ts';
import { llamaGraph } from './llamaGraph.ts';

/** Measures and prints everything. `root` is the project's folder, with `dist/` built. */
export async function bench(root: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'layercost-bench-'));
  try {
    console.log(`Node ${process.version}; times in ms: median (least to most) of n runs\n`);
    const resnet = join(root, 'samples/resnet50.onnx');
    const cli = join(root, 'dist/cli.js');
    const scenario = ['--cluster', 'dgx-a100', '--gpus', '16', '--batch', '64', '--precision', 'bf16'];
    const report = (file: string) =>
      execFileSync(process.execPath, [cli, 'report', file, ...scenario], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    show(
      'node -e 0, whole process',
      repeat(9, () => execFileSync(process.execPath, ['-e', '0'])),
    );
    show(
      'report ResNet-50, whole process',
      repeat(9, () => report(resnet)),
    );

    const large = llamaGraph(9000);
    const largeFile = join(folder, 'llama.onnx');
    writeFileSync(largeFile, large);
    show(
      'report 9,000-operator decoder, whole process',
      repeat(5, () =>
        execFileSync(
          process.execPath,
          [cli, 'report', largeFile, ...scenario, '--dim', 'sequence=2048', '--format', 'json'],
          {
            stdio: ['ignore', 'pipe', 'ignore'],
            maxBuffer: 1 << 28,
          },
        ),
      ),
    );

    await showFirstHint(root, resnet);

    for (const operators of [9_000, 50_000]) {
      const source = byteSourceOfBuffer(llamaGraph(operators));
      const request = { batch: 4, dimensions: { sequence: 2048 }, precision: 'bf16' } as const;
      show(
        `read and analyse ${operators} operators`,
        repeat(5, () => openModel(source, 'llama.onnx')),
      );
      const opened = openModel(source, 'llama.onnx');
      show(
        `cost ${operators} operators again`,
        repeat(5, () => estimateModel(opened, [request])),
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** From asking for the text of a binary model to holding its hints, with the server running and from a cold start. */
async function showFirstHint(root: string, model: string): Promise<void> {
  const fromStart: number[] = [];
  const fromOpening: number[] = [];
  for (let run = 0; run < 7; run += 1) {
    const started = performance.now();
    const server = spawn(process.execPath, [join(root, 'dist/server.js'), '--stdio'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const connection = createProtocolConnection(
      new StreamMessageReader(server.stdout),
      new StreamMessageWriter(server.stdin),
    );
    connection.listen();
    connection.onRequest('workspace/configuration', ({ items }: { items: unknown[] }) =>
      items.map(() => null),
    );
    connection.onRequest('client/registerCapability', () => null);
    for (const refresh of ['inlayHint', 'codeLens', 'diagnostic', 'textDocumentContent']) {
      connection.onRequest(`workspace/${refresh}/refresh`, () => null);
    }
    await connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: null,
      capabilities: { workspace: { configuration: true }, textDocument: { inlayHint: {} } },
    });
    await connection.sendNotification('initialized', {});
    const opened = performance.now();
    const file = pathToFileURL(model);
    const uri = `${onnxTextScheme}:${file.pathname}${onnxTextSuffix}?${encodeURIComponent(file.href)}`;
    const { text } = await connection.sendRequest<{ text: string }>('workspace/textDocumentContent', { uri });
    await connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri, languageId: 'onnx-text', version: 1, text },
    });
    const hints = await connection.sendRequest<unknown[] | null>('textDocument/inlayHint', {
      textDocument: { uri },
      range: { start: { line: 0, character: 0 }, end: { line: text.split('\n').length, character: 0 } },
    });
    const done = performance.now();
    if (hints === null || hints.length === 0) throw new Error('the server gave no hint for ResNet-50');
    fromStart.push(done - started);
    fromOpening.push(done - opened);
    await connection.sendRequest('shutdown');
    await connection.sendNotification('exit');
    connection.dispose();
    server.kill();
  }
  show('first hints on ResNet-50, server running', fromOpening);
  show('first hints on ResNet-50, server start included', fromStart);
}

function repeat(runs: number, work: () => unknown): number[] {
  work();
  return Array.from({ length: runs }, () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  });
}

function show(what: string, times: readonly number[]): void {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1);
  console.log(`${what.padEnd(50)}${at(0.5).padStart(9)}  (${at(0)} to ${at(1)}), n = ${times.length}`);
}
