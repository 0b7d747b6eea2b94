/** Memory of the language server with many documents open, and when they are closed and opened again. */

import { spawn } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver/node';
import { connect, textAddress } from '../lsp/testServer.ts';

const count = 200;

interface OpenedDocument {
  readonly uri: string;
  readonly languageId: string;
  readonly text: string;
}

/** Copies of the samples, half binary models and half layer specs, as an editor with 200 tabs shows one after another. */
export async function showOpenDocuments(root: string, folder: string): Promise<void> {
  const server = spawn(process.execPath, [join(root, 'dist/server.js'), '--stdio']);
  const client = await connect(
    createProtocolConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin)),
    {},
    () => server.kill(),
  );
  const resident = (): string => {
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
    return `${Math.round(Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]) / 1024)} MB`;
  };
  const documents = await makeDocuments(root, folder, (uri) =>
    client.connection
      .sendRequest<{ text: string }>('workspace/textDocumentContent', { uri })
      .then(({ text }) => text),
  );
  const openAll = async (): Promise<void> => {
    for (const { uri, languageId, text } of documents) {
      await client.open(uri, languageId, text);
      await client.hints(uri, 50);
    }
  };
  const figures: string[] = [];
  await openAll();
  figures.push(resident());
  for (const { uri } of documents)
    await client.connection.sendNotification('textDocument/didClose', { textDocument: { uri } });
  await client.connection.sendRequest('workspace/symbol', { query: 'nothing' });
  figures.push(resident());
  await openAll();
  figures.push(resident());
  const characters = documents.reduce((sum, { text }) => sum + text.length, 0);
  console.log(
    `${count} documents (${(characters / 1e6).toFixed(0)} MB of text), resident memory: open, closed, open again  ${figures.join(', ')}`,
  );
  await client.stop();
}

async function makeDocuments(
  root: string,
  folder: string,
  textOf: (uri: string) => Promise<string>,
): Promise<readonly OpenedDocument[]> {
  const samples = join(root, 'samples');
  const named = (ending: string): readonly string[] =>
    readdirSync(samples)
      .filter((name) => name.endsWith(ending))
      .map((name) => join(samples, name));
  const binaries = named('.onnx');
  const specs = named('.layers.yaml');
  const documents: OpenedDocument[] = [];
  for (let index = 0; index < count / 2; index += 1) {
    const binary = binaries[index % binaries.length] ?? '';
    const copy = join(folder, `${index}-${basename(binary)}`);
    copyFileSync(binary, copy);
    const uri = textAddress(pathToFileURL(copy).href);
    documents.push({ uri, languageId: 'onnx-text', text: await textOf(uri) });
    const spec = specs[index % specs.length] ?? '';
    const address = pathToFileURL(join(folder, `${index}-${basename(spec)}`)).href;
    documents.push({ uri: address, languageId: 'layer-spec', text: readFileSync(spec, 'utf8') });
  }
  return documents;
}
