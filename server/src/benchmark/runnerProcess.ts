/**
 * The runner as a process: started without a shell in its own process group, so that whatever it starts dies
 * with it. Knows lines and ends, not what the lines mean.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';

export interface RunnerProcess {
  readonly pid: number | undefined;
  /** Asks the whole group to end (SIGTERM), and ends it (SIGKILL) when it has not after the grace time. */
  stop(): void;
}

export interface RunnerListener {
  line(text: string): void;
  log(text: string): void;
  /** The process could not be started. Nothing else is called afterwards. */
  refused(code: string | undefined): void;
  /** The process ended and its output is read to the end. */
  ended(code: number | null, signal: NodeJS.Signals | null): void;
}

/** A longer line is no event: reading on would only fill memory. */
const longestLine = 4 * 2 ** 20;
const graceMilliseconds = 2_000;

export function startRunner(
  command: string,
  args: readonly string[],
  input: string,
  listener: RunnerListener,
): RunnerProcess {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    shell: false,
    detached: process.platform !== 'win32',
    windowsHide: true,
    env: { ...process.env, PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf-8' },
  });
  let over = false;
  let timer: NodeJS.Timeout | undefined;

  child.on('error', (error: NodeJS.ErrnoException) => {
    if (over || child.pid !== undefined) return;
    over = true;
    listener.refused(error.code);
  });
  // Should the runner die before it has read the plan, `ended` tells; the broken pipe adds nothing.
  child.stdin.on('error', () => {});
  child.stdin.end(input);

  const decoder = new StringDecoder('utf8');
  let rest = '';
  child.stdout.on('data', (chunk: Buffer) => {
    if (over) return;
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestLine) {
      lines.push(rest);
      rest = '';
    }
    for (const line of lines) {
      if (line.trim() !== '') listener.line(line);
    }
  });
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    if (!over) listener.log(text);
  });

  const end = (code: number | null, signal: NodeJS.Signals | null): void => {
    if (over) return;
    over = true;
    // A child of the runner may outlive it.
    signalGroup(child, 'SIGKILL');
    clearTimeout(timer);
    // A grandchild in a group of its own may hold the pipes: reading on would keep this process alive.
    child.stdout.destroy();
    child.stderr.destroy();
    if (rest.trim() !== '') listener.line(rest);
    listener.ended(code, signal);
  };
  child.on('close', end);
  // A grandchild that inherited the pipes would hold `close` back for ever.
  child.on('exit', (code, signal) => {
    setTimeout(() => end(code, signal), 500).unref();
  });

  return {
    pid: child.pid,
    stop() {
      if (over || timer !== undefined) return;
      signalGroup(child, 'SIGTERM');
      timer = setTimeout(() => signalGroup(child, 'SIGKILL'), graceMilliseconds);
    },
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  if (process.platform === 'win32') {
    spawn('taskkill', ['/pid', String(child.pid), '/T', '/F'], { stdio: 'ignore' }).on('error', () => {});
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch {
    // ESRCH: the group is gone already.
  }
}
