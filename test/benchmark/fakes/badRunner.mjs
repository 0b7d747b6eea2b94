/**
 * A runner that speaks the protocol badly, one way per name: the first word of the plan's model name.
 * The test starts it with Node in Python's place.
 */

import { spawn } from 'node:child_process';
import process from 'node:process';

const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const hello = { event: 'hello', protocol: 1, python: '3.12.0' };
const device = {
  event: 'device',
  kind: 'cpu',
  name: 'Fake CPU',
  torch: '9.9',
  cuda: null,
  threads: 1,
  memoryBytes: null,
  elementTypes: ['float32'],
  precision: 'fp32',
  notes: ['No GPU: this is a fake'],
};
const timing = (median) => ({ median, low: median / 2, high: median * 2, repeats: 5 });
const progress = (phase, done) => ({ event: 'progress', phase, done, total: 1 });
const forever = () => setInterval(() => {}, 1_000);

let text = '';
for await (const chunk of process.stdin) text += chunk;
const plan = JSON.parse(text);
const [behaviour] = plan.model.split(' ');

const behaviours = {
  good() {
    say(hello);
    say(device);
    say(progress('step 1 of 1', 0.4));
    // A line that arrives in pieces is one event all the same.
    const line = JSON.stringify({
      event: 'step',
      whole: timing(0.5),
      forward: timing(0.2),
      backward: timing(0.25),
      update: timing(0.05),
      peakMemoryBytes: 1024,
    });
    process.stdout.write(line.slice(0, 30));
    setTimeout(() => {
      process.stdout.write(`${line.slice(30)}\n`);
      say({ event: 'layer', name: 'fc', forward: timing(0.1), backward: timing(0.15) });
      say({
        event: 'layer',
        name: 'act',
        forward: null,
        backward: null,
        reason: 'the runner does not know it',
      });
      say({ event: 'done', seconds: 1 });
    }, 20);
  },
  // What it sends before it goes wrong, as the second word says, has been measured.
  halfway() {
    say(hello);
    say(device);
    say({ event: 'layer', name: 'fc', forward: timing(0.1), backward: timing(0.15) });
    behaviours[plan.model.split(' ')[1]]();
  },
  hangs() {
    say(hello);
    say(progress('layer fc', 0.5));
    process.on('SIGTERM', () => {});
    forever();
  },
  children() {
    // A process of its own, which must die with the group; it tells its id on the log.
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    process.stderr.write(`child ${child.pid}\n`);
    process.on('SIGTERM', () => {});
    say(hello);
    setInterval(() => say(progress('step 1 of 9', 0.3)), 20);
  },
  orphans() {
    // A process that left the group and holds the pipes open after the runner died.
    say(hello);
    spawn(process.execPath, ['-e', 'setTimeout(() => {}, 20000)'], {
      stdio: 'inherit',
      detached: true,
    }).unref();
    process.exit(3);
  },
  busy() {
    say(hello);
    setInterval(() => say(progress('step 1 of 9', 0.3)), 20);
  },
  garbage() {
    say(hello);
    process.stdout.write('Welcome to the cluster!\n');
    forever();
  },
  schema() {
    say(hello);
    say({ event: 'layer', name: 'fc', forward: { median: -1 }, backward: null });
    forever();
  },
  flood() {
    say(hello);
    const block = 'x'.repeat(1 << 20);
    const write = () => {
      while (process.stdout.write(block));
      process.stdout.once('drain', write);
    };
    process.stdout.on('error', () => process.exit(0));
    write();
  },
  newer() {
    say({ event: 'hello', protocol: 7, interpreter: 'CPython' });
    forever();
  },
  dies() {
    say(hello);
    say(progress('layer fc', 0.5));
    process.stderr.write('Traceback: segmentation of the imagination\n', () => process.exit(3));
  },
  killed() {
    say(hello);
    say(progress('layer fc', 0.5));
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50);
  },
  silent() {
    process.exit(0);
  },
  lacks() {
    say(hello);
    say({ event: 'error', kind: 'torch-missing', message: 'no module named torch' });
    process.exitCode = 1;
  },
  gpuless() {
    say(hello);
    say({ event: 'error', kind: 'no-gpu', message: 'torch 2.13.0+cpu is built for the CPU only' });
    process.exitCode = 1;
  },
  memory() {
    say(hello);
    say(device);
    say({ event: 'error', kind: 'out-of-memory', message: 'OutOfMemoryError: CUDA out of memory' });
    process.exitCode = 1;
  },
  nothing() {
    say(hello);
    say(device);
    say({
      event: 'layer',
      name: 'fc',
      forward: null,
      backward: null,
      reason: 'MatMul failed: not implemented',
    });
    say({ event: 'done', seconds: 1 });
  },
};

behaviours[behaviour]();
