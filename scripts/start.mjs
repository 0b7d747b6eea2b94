/**
 * `npm start`: installs, builds, prints what a training step of a sample model costs, and opens an editor with
 * the extension on it. Uses nothing but Node, because nothing else is there on a fresh clone.
 */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { endWith, findOnPath, run, Trouble } from './setup/command.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { stageExtension } from './setup/extensionFiles.mjs';
import { cacheFolder, nodeProblem, root } from './setup/project.mjs';
import { addressOfFile, ensureWebEditor, findFreePort, serveWebEditor } from './setup/webEditor.mjs';

const help = `npm start: what a training step costs, in the terminal and in an editor

  npm start                                the sample ResNet-50 on two DGX A100 nodes
  npm start -- path/to/model.onnx          your own file; it is read where it lies
  npm start -- FILE --cluster dgx-h100 --batch 8
                                           with the options of layercost report (node dist/cli.js --help)

  --no-editor    stop after the table
  --web          open VS Code for the Web even where VS Code is installed
  --port N       port of VS Code for the Web (3000, or a free one)
  --help         this text

Opens your VS Code where the command code is on the PATH, otherwise VS Code for the Web on 127.0.0.1.
`;

/** It holds a scenario of a real run, not batch 1 on one node. */
const sample = 'samples/resnet50.layers.yaml';
/** What fits on a screen. */
const rows = ['--top', '15'];
const wantedPort = 3000;

const problem = nodeProblem();
if (problem) {
  console.error(problem);
  process.exitCode = 1;
} else {
  await start(process.argv.slice(2)).catch(endWith);
}

async function start(commandArguments) {
  const wishes = readArguments(commandArguments);
  if (wishes.help) {
    process.stdout.write(help);
    return;
  }
  await ensureDependencies('npm start');
  await buildQuietly();
  const status = await printTable(wishes);
  if (status !== 0) {
    process.exitCode = 1;
    return;
  }
  if (wishes.editor) await openEditor(wishes);
}

/** Everything this command does not know is an option of `layercost report`. */
function readArguments(commandArguments) {
  const wishes = { help: false, editor: true, web: false, port: wantedPort, file: undefined, options: [] };
  for (let i = 0; i < commandArguments.length; i += 1) {
    const word = commandArguments[i];
    if (word === '--help' || word === '-h') wishes.help = true;
    else if (word === '--no-editor') wishes.editor = false;
    else if (word === '--web') wishes.web = true;
    else if (word === '--port') {
      i += 1;
      wishes.port = readPort(commandArguments[i]);
    } else if (word.startsWith('-')) {
      wishes.options.push(word);
      const value = commandArguments[i + 1];
      if (!word.includes('=') && value !== undefined && !value.startsWith('-')) {
        wishes.options.push(value);
        i += 1;
      }
    } else if (wishes.file === undefined) wishes.file = word;
    else
      throw new Trouble(`one model at a time: ${wishes.file} and ${word} were given (npm start -- --help)`);
  }
  return wishes;
}

function readPort(text) {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65536) return port;
  throw new Trouble(`--port ${text ?? ''}: a number from 1 to 65535 is needed`);
}

async function buildQuietly() {
  const { status, output } = await run(process.execPath, ['esbuild.mjs'], { cwd: root });
  if (status !== 0) throw new Trouble(`the build failed:\n${output}`);
}

/** Where the person stood when they typed the command; npm itself moves to the project. */
function personFolder() {
  return process.env.INIT_CWD ?? process.cwd();
}

async function printTable({ file, options }) {
  const cli = join(root, 'dist/cli.js');
  const from = file === undefined ? root : personFolder();
  // Options may ask for another format, which has no rows to choose from.
  const isTable = !options.some((word) => /^--(?:format|top|summary)\b/.test(word));
  const words = [file ?? sample, ...options, ...(isTable ? rows : [])];
  const shown = isAbsolute(words[0]) || from === root ? words : [resolve(from, words[0]), ...words.slice(1)];
  console.log(`\n$ npx layercost report ${shown.join(' ')}\n`);
  const { status } = await run(process.execPath, [cli, 'report', ...words], { cwd: from, show: true });
  if (status === 0) console.log(`\nnext\n${nextCommands(shown[0])}`);
  return status;
}

/** Commands to try next, their purposes in one column. */
function nextCommands(file) {
  const commands = [
    [`npx layercost report ${file}`, 'every layer'],
    [`npx layercost report ${file} --cluster dgx-h100`, 'on another cluster'],
    [`npx layercost scale ${file}`, 'by number of GPUs'],
    ['npm start -- path/to/model.onnx', 'your own model'],
  ];
  const width = Math.max(...commands.map(([command]) => command.length));
  return commands.map(([command, purpose]) => `  ${command.padEnd(width)}   ${purpose}`).join('\n');
}

async function openEditor(wishes) {
  const file = wishes.file === undefined ? join(root, sample) : resolve(personFolder(), wishes.file);
  const folder = dirname(file);
  if (!wishes.web && (await openInstalledEditor(folder, file))) return;
  await serveUntilStopped(folder, file, wishes.port);
}

/** @returns {Promise<boolean>} whether the person's own VS Code took it */
async function openInstalledEditor(folder, file) {
  const code = findOnPath('code');
  if (!code || !canShowWindows()) return false;
  console.log(`\nOpening VS Code with Layercost and ${describe(folder)} …`);
  // On Windows `code` is a script, which Node starts through the command interpreter only.
  const child = spawn(code, [`--extensionDevelopmentPath=${root}`, folder, file], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  const status = await new Promise((done) => {
    child.once('error', () => done(1));
    child.once('close', done);
  });
  if (status === 0) return true;
  console.log('VS Code did not start, so here is VS Code for the Web.');
  return false;
}

function canShowWindows() {
  if (process.platform !== 'linux') return true;
  const { DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME, VSCODE_IPC_HOOK_CLI } = process.env;
  return Boolean(DISPLAY || WAYLAND_DISPLAY || WSL_DISTRO_NAME || VSCODE_IPC_HOOK_CLI);
}

async function serveUntilStopped(folder, file, wanted) {
  console.log('\nPreparing VS Code for the Web …');
  const editor = await ensureWebEditor('npm start');
  const extension = stageExtension(join(cacheFolder, 'extension'));
  const port = await findFreePort(wanted);
  if (port !== wanted) console.log(`Port ${wanted} is in use; taking ${port}.`);
  const { address, close } = await serveWebEditor({ editor, extension, folder, port });
  const page = addressOfFile(address, basename(file));
  console.log(`
VS Code for the Web, with Layercost and ${describe(folder)}:

  ${page}

Ctrl+C stops it. What you change there stays in the browser; the files on disk are only read.`);
  openBrowser(page);
  await new Promise((stop) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop);
  });
  await close();
  console.log('\nStopped.');
}

function openBrowser(address) {
  if (process.platform === 'linux' && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) return;
  const [command, ...before] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler']
        : ['xdg-open'];
  if (process.platform === 'linux' && !findOnPath(command)) return;
  spawn(command, [...before, address], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

function describe(folder) {
  const inside = relative(root, folder);
  return inside && !inside.startsWith('..') && existsSync(folder) ? `${inside}/` : folder;
}
