/** How long a person waits for the first hints of a model. */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver-protocol/node';
import { onnxTextScheme, onnxTextSuffix } from '../../server/src/protocol.ts';
import { processorOf, show, startTimer, type Time } from './measure.ts';

/** From asking for the text of a binary model to holding its hints, with the server running and from a cold start. */
export async function showFirstHint(root: string, model: string): Promise<void> {
  const fromStart: Time[] = [];
  const fromOpening: Time[] = [];
  for (let run = 0; run < 7; run += 1) {
    const wall = startTimer(() => Number.NaN);
    const server = spawn(process.execPath, [join(root, 'dist/server.js'), '--stdio'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const used = (): number => processorOf(server.pid);
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
    const opening = startTimer(used);
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
    const opened = opening();
    const whole = { wall: wall().wall, processor: used() };
    if (hints === null || hints.length === 0) throw new Error('the server gave no hint for ResNet-50');
    fromStart.push(whole);
    fromOpening.push(opened);
    await connection.sendRequest('shutdown');
    await connection.sendNotification('exit');
    connection.dispose();
    server.kill();
  }
  show('first hints on ResNet-50, server running', fromOpening);
  show('first hints on ResNet-50, server start included', fromStart);
}
