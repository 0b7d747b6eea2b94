/** Runs other programs: always an argument array, never a shell line. */

import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** Work that ended in a way its reader should hear of in one sentence, without a stack trace. */
export class Trouble extends Error {}

/**
 * Runs a program to its end.
 *
 * @param {string} command
 * @param {readonly string[]} commandArguments
 * @param {{ cwd?: string, env?: Record<string, string | undefined>, show?: boolean, log?: string, timeout?: number }} [options]
 *   `show` passes its output through, otherwise it is collected; `log` also appends it to a file; `timeout` in
 *   milliseconds ends it
 * @returns {Promise<{ status: number, output: string }>} status 127 where the program could not be started
 */
export function run(command, commandArguments, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, commandArguments, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: options.show ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
    });
    const pieces = [];
    const log = options.log ? createWriteStream(options.log, { flags: 'a' }) : undefined;
    const take = (piece) => {
      pieces.push(piece);
      log?.write(piece);
    };
    child.stdout?.on('data', take);
    child.stderr?.on('data', take);
    let late = false;
    const timer = options.timeout
      ? setTimeout(() => {
          late = true;
          child.kill('SIGKILL');
        }, options.timeout)
      : undefined;
    let settled = false;
    const finish = (status, remark) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (remark) take(Buffer.from(`${remark}\n`));
      const output = Buffer.concat(pieces).toString('utf8');
      if (log) log.end(() => resolve({ status, output }));
      else resolve({ status, output });
    };
    child.on('error', (error) => finish(127, `${command} could not be started: ${error.message}`));
    child.on('close', (status, signal) => {
      if (late) finish(124, `${command} was stopped after ${Math.round((options.timeout ?? 0) / 1000)} s`);
      else finish(status ?? 1, signal ? `${command} was ended by ${signal}` : undefined);
    });
  });
}

/** The npm that runs this script, or the one on the PATH. */
export function npmCommand() {
  const script = process.env.npm_execpath;
  if (script?.endsWith('.js') && existsSync(script)) return { command: process.execPath, before: [script] };
  const beside = join(dirname(process.execPath), '../lib/node_modules/npm/bin/npm-cli.js');
  if (existsSync(beside)) return { command: process.execPath, before: [beside] };
  return { command: process.platform === 'win32' ? 'npm.cmd' : 'npm', before: [] };
}

/** Runs npm; options as for `run`. */
export function npm(npmArguments, options) {
  const { command, before } = npmCommand();
  return run(command, [...before, ...npmArguments], options);
}

/** What an npm failure means for the person, where it is one of the usual ones. */
export function explainNpmFailure(output, again) {
  const offline =
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED|network request/;
  if (offline.test(output)) {
    return `the npm registry could not be reached, and not everything needed is in npm's cache: connect to the network (or set a registry or proxy that can be reached with npm config set registry|proxy), then run ${again} again`;
  }
  const last = output.trim().split('\n').slice(-12).join('\n  ');
  return `npm could not install what is needed; run ${again} again once this is solved:\n  ${last}`;
}

/** @returns {string | undefined} the path of a program, where the PATH has it */
export function findOnPath(name) {
  const endings = process.platform === 'win32' ? ['.cmd', '.exe', ''] : [''];
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const ending of endings) {
      const path = join(folder, name + ending);
      if (folder && existsSync(path)) return path;
    }
  }
  return undefined;
}

/** Whether a short command ends well; its output is thrown away. */
export function succeeds(command, commandArguments) {
  return spawnSync(command, commandArguments, { stdio: 'ignore', timeout: 60_000 }).status === 0;
}

/** Says what failed in one sentence and ends with status 1; anything unforeseen keeps its stack trace. */
export function endWith(error) {
  if (error instanceof Trouble) console.error(`\n${error.message}`);
  else console.error(error);
  process.exitCode = 1;
}
