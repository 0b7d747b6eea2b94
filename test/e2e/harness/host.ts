/** The two editors: VS Code for the Web, and code-server for the extension host of the desktop. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createWriteStream, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { workerLock } from '../../../server/src/protocol.ts';
import { packPythonExtension } from './pythonExtension.ts';
import type { Setting } from './setting.ts';
import { createWorkspace, type WorkspaceWishes } from './workspace.ts';

export interface Host {
  readonly name: 'web' | 'code-server';
  /** Page that shows the workspace folder. */
  readonly address: string;
  readonly folder: string;
  /** What the server wrote so far. */
  readonly log: () => string;
  /** The language servers that run now. */
  readonly languageServers: (page: Page) => Promise<readonly LanguageServer[]>;
  readonly close: () => Promise<void>;
}

export interface LanguageServer {
  readonly id: string;
  /** Ends it as a system does that runs out of memory: it is told nothing. */
  readonly kill: () => Promise<void>;
}

export interface HostWishes extends WorkspaceWishes {
  /** Beside ours, a stand-in for the Python extension, which chooses the interpreter. */
  readonly pythonExtension?: boolean;
}

const root = resolve(import.meta.dirname, '../../..');

/** Serves the unpacked package to the web editor. */
export async function launchWeb(setting: Setting, wishes: HostWishes = {}): Promise<Host> {
  if (!setting.webEditor) throw new Error('the web editor is not installed; npm run e2e installs it');
  const folder = createWorkspace(wishes);
  const state = mkdtempSync(join(tmpdir(), 'layercost-web-'));
  const script = join(root, 'scripts/serveWebEditor.mjs');
  const server = start([script, setting.webEditor, setting.unpacked, folder], join(state, 'log'));
  const address = await server.waitFor(/^(http:\S+)$/m);
  return hostOf('web', address, folder, state, server, serverWorkers);
}

/** In a browser the server is a worker of the extension host, which is one too. */
async function serverWorkers(page: Page): Promise<readonly LanguageServer[]> {
  const servers: LanguageServer[] = [];
  for (const worker of page.workers()) {
    const id = await worker.evaluate<string>('self.name').catch(() => '');
    if (id.includes(workerLock)) servers.push({ id, kill: () => worker.evaluate('self.close()') });
  }
  return servers;
}

/** Installs the package into an empty code-server, then starts it. */
export async function launchCodeServer(setting: Setting, wishes: HostWishes = {}): Promise<Host> {
  if (!setting.codeServer) throw new Error('code-server is not installed; npm run e2e installs it');
  const folder = createWorkspace({
    ...wishes,
    settings: {
      'layercost.benchmark.python': setting.python,
      'layercost.export.onSave': true,
      ...wishes.settings,
    },
  });
  const state = mkdtempSync(join(tmpdir(), 'layercost-code-server-'));
  const places = ['user', 'extensions'].map((name) => join(state, name));
  for (const place of places) mkdirSync(place);
  const [user = '', extensions = ''] = places;
  const kept = [
    '--user-data-dir',
    user,
    '--extensions-dir',
    extensions,
    '--config',
    join(state, 'config.yaml'),
  ];
  const packages = [setting.package];
  if (wishes.pythonExtension && setting.python !== undefined) {
    packages.push(packPythonExtension(join(state, 'python-extension'), setting.python));
  }
  for (const file of packages) {
    const install = spawnSync(process.execPath, [setting.codeServer, ...kept, '--install-extension', file], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    if (!/successfully installed/.test(install.stdout)) {
      throw new Error(`code-server did not install ${file}:\n${install.stdout}${install.stderr}`);
    }
  }
  const port = await findFreePort();
  const quiet = [
    '--auth',
    'none',
    '--disable-workspace-trust',
    '--disable-telemetry',
    '--disable-update-check',
  ];
  const server = start(
    [setting.codeServer, ...kept, ...quiet, '--bind-addr', `127.0.0.1:${port}`],
    join(state, 'log'),
  );
  await server.waitFor(/HTTP server listening on (\S+)/);
  const address = `http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`;
  return hostOf('code-server', address, folder, state, server, async () => serverProcesses(extensions));
}

function serverProcesses(extensions: string): readonly LanguageServer[] {
  const commandLine = (id: string): string => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, 'utf8');
    } catch {
      // It has ended meanwhile.
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((id) => /^\d+$/.test(id))
    .filter((id) => commandLine(id).includes(extensions) && commandLine(id).includes('dist/server.js'))
    .map((id) => ({ id, kill: async () => void process.kill(Number(id), 'SIGKILL') }));
}

/** What the extension and its server wrote to the output channels of the editor. */
function extensionLogs(state: string): readonly string[] {
  return readdirSync(state, { recursive: true, encoding: 'utf8' })
    .filter((file) => /layercost.*\.log$/i.test(file))
    .map((file) => join(state, file));
}

interface Server {
  readonly process: ChildProcess;
  readonly logFile: string;
  readonly waitFor: (pattern: RegExp) => Promise<string>;
}

function hostOf(
  name: Host['name'],
  address: string,
  folder: string,
  state: string,
  server: Server,
  languageServers: Host['languageServers'],
): Host {
  return {
    name,
    address,
    folder,
    languageServers,
    log: () => [server.logFile, ...extensionLogs(state)].map((file) => readFileSync(file, 'utf8')).join('\n'),
    close: async () => {
      await end(server.process);
      rmSync(dirname(folder), { recursive: true, force: true });
      rmSync(state, { recursive: true, force: true });
    },
  };
}

function start(words: readonly string[], logFile: string): Server {
  // An own process group, so that the extension hosts below it end with it.
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const log = createWriteStream(logFile);
  let text = '';
  const listeners = new Set<() => void>();
  const take = (piece: Buffer) => {
    text += piece.toString('utf8');
    log.write(piece);
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const waitFor = (pattern: RegExp) =>
    new Promise<string>((found, failed) => {
      const timer = setTimeout(() => failed(new Error(`the editor did not start in 60 s:\n${text}`)), 60_000);
      const look = () => {
        const match = pattern.exec(text);
        if (!match?.[1]) return;
        clearTimeout(timer);
        listeners.delete(look);
        found(match[1]);
      };
      listeners.add(look);
      child.once('exit', (status) => {
        clearTimeout(timer);
        failed(new Error(`the editor ended with status ${status}:\n${text}`));
      });
      look();
    });
  return { process: child, logFile, waitFor };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const gone = new Promise((done) => child.once('exit', done));
  process.kill(-child.pid, 'SIGTERM');
  const timer = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), 5_000);
  await gone;
  clearTimeout(timer);
}

function findFreePort(): Promise<number> {
  return new Promise((found, failed) => {
    const probe = createServer();
    probe.once('error', failed);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        if (address && typeof address === 'object') found(address.port);
        else failed(new Error('no free port'));
      });
    });
  });
}
