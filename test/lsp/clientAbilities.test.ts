/**
 * What the server asks of an editor, by what the editor says it can. LSP 3.17, "Client Capabilities": a server asks nothing that an
 * editor did not declare, because an editor answers such a request with an error.
 */

import { afterEach, expect, test } from 'vitest';
import { startTestServer, type TestClient } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});

const uri = 'file:///models/net.layers.yaml';
const text = 'inputs: { x: "float32[batch, 8]" }\nlayers:\n  - a: Linear(8, 8)\n';
const profile = 'file:///models/clusters/mine.json';
/** A path, so that the server looks for the workspace folder and wants to be told when the file changes. */
const settings = { cluster: 'clusters/mine.json', batch: 2 };

const registers = (method: string): string => `register workspace/${method}`;
const pulls = { textDocument: { diagnostic: {} } };
const hints = 'workspace/inlayHint/refresh';
const lenses = 'workspace/codeLens/refresh';
const problems = 'workspace/diagnostic/refresh';

/** By what the editor declares. */
test.each<[string, { readonly workspace?: object; readonly textDocument?: object }, readonly string[]]>([
  ['nothing', {}, []],
  ['an empty workspace', { workspace: {} }, []],
  ['settings', { workspace: { configuration: true } }, ['workspace/configuration']],
  ['no settings', { workspace: { configuration: false } }, []],
  ['folders', { workspace: { workspaceFolders: true } }, ['workspace/workspaceFolders']],
  ['no folders', { workspace: { workspaceFolders: false } }, []],
  [
    'changes of settings, when asked',
    { workspace: { didChangeConfiguration: { dynamicRegistration: true } } },
    [registers('didChangeConfiguration')],
  ],
  [
    'changes of settings, unasked',
    { workspace: { didChangeConfiguration: { dynamicRegistration: false } } },
    [],
  ],
  ['changes of settings, and says no more', { workspace: { didChangeConfiguration: {} } }, []],
  [
    'changes of files, when asked',
    { workspace: { didChangeWatchedFiles: { dynamicRegistration: true } } },
    [registers('didChangeWatchedFiles')],
  ],
  ['changes of files, unasked', { workspace: { didChangeWatchedFiles: { dynamicRegistration: false } } }, []],
  ['changes of files, and says no more', { workspace: { didChangeWatchedFiles: {} } }, []],
  ['new hints', { workspace: { inlayHint: { refreshSupport: true } } }, [hints]],
  ['hints, but no new ones', { workspace: { inlayHint: { refreshSupport: false } } }, []],
  ['hints, and says no more', { workspace: { inlayHint: {} } }, []],
  ['new lenses', { workspace: { codeLens: { refreshSupport: true } } }, [lenses]],
  ['lenses, but no new ones', { workspace: { codeLens: { refreshSupport: false } } }, []],
  ['lenses, and says no more', { workspace: { codeLens: {} } }, []],
  [
    'new diagnostics, which it asks for',
    { workspace: { diagnostics: { refreshSupport: true } }, ...pulls },
    [problems],
  ],
  ['new diagnostics, which it is sent', { workspace: { diagnostics: { refreshSupport: true } } }, []],
  [
    'diagnostics that it asks for, but no new ones',
    { workspace: { diagnostics: { refreshSupport: false } }, ...pulls },
    [],
  ],
  ['diagnostics that it asks for, and says no more', { workspace: { diagnostics: {} }, ...pulls }, []],
  ['diagnostics that it asks for, and no workspace', pulls, []],
  [
    'all of it',
    {
      ...pulls,
      workspace: {
        configuration: true,
        workspaceFolders: true,
        didChangeConfiguration: { dynamicRegistration: true },
        didChangeWatchedFiles: { dynamicRegistration: true },
        inlayHint: { refreshSupport: true },
        codeLens: { refreshSupport: true },
        diagnostics: { refreshSupport: true },
      },
    },
    [
      ...['workspace/configuration', 'workspace/workspaceFolders', hints, lenses, problems],
      ...[registers('didChangeConfiguration'), registers('didChangeWatchedFiles')],
    ],
  ],
])('an editor that can tell of %s', async (_, capabilities, asked) => {
  client = await startTestServer({ capabilities, settings });
  const { connection, files } = client;
  const cluster = { name: 'mine', title: 'Mine', gpu: 'a100-sxm-80gb', gpusPerNode: 1 };
  files.set(profile, new TextEncoder().encode(JSON.stringify(cluster)));
  await connection.sendNotification('workspace/didChangeConfiguration', {
    settings: { layercost: settings },
  });
  await client.open(uri, 'layer-spec', text);
  // It is costed with the settings, however they came.
  const { estimates } = client;
  await expect
    .poll(() => estimates.map(({ summary }) => [summary?.cluster, summary?.batch]))
    .toEqual([['mine', 2]]);
  const seen = client.asked;
  await expect.poll(() => [...seen].sort()).toEqual([...asked].sort());
  // Nothing follows, and nothing went wrong on the way.
  await connection.sendRequest('textDocument/hover', {
    textDocument: { uri },
    position: { line: 2, character: 5 },
  });
  expect([[...seen].sort(), client.problems]).toEqual([[...asked].sort(), []]);
});
