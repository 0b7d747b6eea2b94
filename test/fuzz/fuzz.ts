/**
 * `npm run fuzz`: hostile files, then changed and arbitrary ones for the time given, each answered in a second
 * and with the whole process below 500 MB. A second process answers; this one watches it, so that a hang has an end.
 *
 * `--seed S` repeats a run, `--only PATTERN` takes some of the hostile files, `--top N` shows more of the slowest.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { answerInput, checkAnswer, type FuzzInput } from './answerInput.ts';
import { type CorpusFile, corpusOf } from './corpus.ts';
import { hostileInputs } from './hostileInputs.ts';
import { fuzzInput } from './inputs.ts';
import { fuzzServer, type ServerRun } from './server.ts';

const longestMilliseconds = 1000;
const mostMegabytes = 500;
/** What the language server may keep after a thousand edits; its documents are a few kilobytes. */
const mostGrownMegabytes = 30;
/** A slow answer is asked for again, since a busy machine is slow too; one that takes this long is not waited for. */
const patienceMilliseconds = 20_000;
/** So often that much, by the clock, where the process was kept from working. */
const mostRounds = 6;
/** How often an input may be answered before it counts as slow. */
const mostTries = 3;

interface Verdict {
  readonly number: number;
  /** What the longest thing took that a person would wait for: a command, or a view in the editor. */
  readonly milliseconds: number;
  readonly problem: string | undefined;
  /** Whether the answering process has to be replaced. */
  readonly dead?: boolean;
}

/** What one input took. */
interface Measured {
  readonly milliseconds: number;
  readonly megabytes: number;
  readonly name: string;
}

/** Numbers below zero are the hostile inputs, from -1 down. */
function inputOf(corpus: readonly CorpusFile[], seed: number, number: number): FuzzInput {
  return number < 0
    ? (hostileInputs[-number - 1]?.make() ?? fuzzInput(corpus, seed, number))
    : fuzzInput(corpus, seed, number);
}

const nameOf = (number: number): string =>
  number < 0 ? (hostileInputs[-number - 1]?.what ?? '') : `input ${number}`;

/** The answering process: a number comes in, a verdict goes out. */
export function answerNumbers(root: string, seed: number): void {
  const corpus = corpusOf(join(root, 'samples'));
  process.on('message', (number: number) => {
    const input = inputOf(corpus, seed, number);
    process.send?.('made');
    let verdict = judge(number, input);
    for (let tries = 1; tries < mostTries && verdict.milliseconds > longestMilliseconds; tries += 1) {
      process.send?.('made');
      const again = judge(number, input);
      // A fault that one answer of several shows is one; of their times the least is the engine's own.
      if (verdict.problem === undefined && again.milliseconds < verdict.milliseconds) verdict = again;
    }
    process.send?.(verdict);
  });
}

function judge(number: number, input: FuzzInput): Verdict {
  const slowness = slownessOfMachine();
  let elapsed = stopwatch();
  let opening = 0;
  let longest = 0;
  try {
    const answer = answerInput(input, (part) => {
      const milliseconds = elapsed();
      elapsed = stopwatch();
      if (part === 'open') opening += milliseconds;
      longest = Math.max(
        longest,
        part === 'open' ? opening : milliseconds + (part === 'editor' ? 0 : opening),
      );
    });
    checkAnswer(answer);
    return { number, milliseconds: longest / slowness, problem: undefined };
  } catch (error) {
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { number, milliseconds: longest / slowness, problem };
  }
}

/** The least that the same work took so far: this machine, undisturbed. */
let leastOfSameWork = Number.POSITIVE_INFINITY;

/**
 * How much slower than at its best this machine works now, 1 or more. Neighbours on the other half of a core, in its caches
 * and on its memory slow a thread down in its own processor time too.
 */
function slownessOfMachine(): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round += 1) {
    // By the clock: Linux may add to what a thread has worked at ticks of 4 ms alone, which is longer than a round.
    const began = performance.now();
    const numbers = new Map<string, number>();
    for (let index = 0; index < 10_000; index += 1) numbers.set(`value ${index % 5_000}`, index);
    least = Math.min(least, performance.now() - began);
  }
  leastOfSameWork = Math.min(leastOfSameWork, least);
  return least / leastOfSameWork;
}

/**
 * Milliseconds since it was started: of the wall, or those in which a processor worked for the answering thread where
 * they are fewer. A machine busy with other work is no hang, nor are the threads that collect garbage beside this one.
 */
function stopwatch(): () => number {
  const began = performance.now();
  const worked = workedMilliseconds();
  return () => Math.min(performance.now() - began, workedMilliseconds() - worked);
}

/**
 * What a processor has worked for this thread, or the first one of another process, by Linux's account of it; elsewhere
 * for all threads of this process.
 */
function workedMilliseconds(whose: number | 'thread-self' = 'thread-self'): number {
  try {
    return Number(readFileSync(`/proc/${whose}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

const fuzzOptions = {
  seconds: { type: 'string' },
  seed: { type: 'string' },
  only: { type: 'string' },
  top: { type: 'string' },
} as const;

/** Runs for `seconds`; resolves to whether every input was answered. `bundle` is this file as the worker loads it. */
export async function fuzz(root: string, bundle: string, words: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({ args: [...words], options: fuzzOptions });
  const option = (name: 'seconds' | 'seed' | 'top', otherwise: number): number => {
    const given = Number(values[name]);
    return values[name] !== undefined && Number.isFinite(given) ? given : otherwise;
  };
  const seconds = option('seconds', 60);
  const seed = option('seed', Date.now() % 2 ** 31);
  const only = values.only === undefined ? undefined : new RegExp(values.only);
  const hostile = hostileInputs.flatMap(({ what }, index) =>
    only === undefined || only.test(what) ? [-1 - index] : [],
  );
  console.log(`seed ${seed}, ${seconds} s, ${hostile.length} hostile inputs first`);

  const failures = join(root, '.cache/fuzz-failures');
  const corpus = corpusOf(join(root, 'samples'));
  // The hostile inputs take minutes: the time is that of the others.
  let deadline = Number.POSITIVE_INFINITY;
  const measured: Measured[] = [];
  let failed = 0;
  let helper = start();
  for (let index = 0; ; index += 1) {
    if (index === hostile.length) deadline = performance.now() + seconds * 1000;
    if (performance.now() >= deadline) break;
    const number = hostile[index] ?? index - hostile.length;
    let { verdict, megabytes } = await measure(helper, number);
    // What earlier inputs left to be collected is not this one's: a process of its own decides.
    if (verdict.dead !== true && megabytes > mostMegabytes) {
      helper.kill('SIGKILL');
      helper = start();
      ({ verdict, megabytes } = await measure(helper, number));
    }
    const problems = [
      ...(verdict.problem === undefined ? [] : [verdict.problem]),
      ...(verdict.milliseconds > longestMilliseconds
        ? [`took ${verdict.milliseconds.toFixed(0)} ms, more than ${longestMilliseconds}`]
        : []),
      ...(megabytes > mostMegabytes ? [`took ${megabytes.toFixed(0)} MB, more than ${mostMegabytes}`] : []),
    ];
    const name = nameOf(number);
    measured.push({ milliseconds: verdict.milliseconds, megabytes, name });
    if (problems.length > 0) {
      failed += 1;
      mkdirSync(failures, { recursive: true });
      const input = inputOf(corpus, seed, number);
      const path = join(
        failures,
        `${seed}_${number}_${(input.name.split('/').pop() ?? '').replace(/\.gz$/, '')}`,
      );
      writeFileSync(path, input.bytes);
      console.log(
        `\nFAILED ${name}, ${input.name}\n  ${path}\n  request ${JSON.stringify(input.request)}\n  ${problems.join('\n  ')}`,
      );
    }
    // What an earlier input left to be collected is not held against the next one.
    if (verdict.dead === true || memoryOf(helper, 'VmRSS') > mostMegabytes / 2) {
      helper.kill('SIGKILL');
      helper = start();
    }
  }
  helper.kill('SIGKILL');
  if (only === undefined && !(await fuzzLanguageServer())) failed += 1;
  console.log(`${measured.length} inputs, ${failed} failed`);
  printMost('slowest', 'milliseconds', 'ms');
  printMost('most memory', 'megabytes', 'MB');
  if (failed > 0) console.log(`repeat with: npm run fuzz -- --seed ${seed} --seconds ${seconds}`);
  return failed === 0;

  function printMost(what: string, figure: 'milliseconds' | 'megabytes', unit: string): void {
    const shown = [...measured].sort((a, b) => b[figure] - a[figure]).slice(0, option('top', 3));
    for (const each of shown) console.log(`${what}: ${each[figure].toFixed(0)} ${unit}, ${each.name}`);
  }

  /** A fifth as long again with the language server, and at least a thousand edits. */
  async function fuzzLanguageServer(): Promise<boolean> {
    const child = fork(bundle, ['--server', root, String(seed), String(seconds / 5)], {
      execArgv: ['--enable-source-maps', '--expose-gc'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const run = await new Promise<unknown>((resolve) => {
      child.on('message', resolve);
      child.on('exit', () => resolve(undefined));
    });
    const { edits, requests, heap, failures } = serverRunOf(run);
    const [first = 0] = heap;
    const grown = (heap.at(-1) ?? 0) - first;
    const problems = [...failures, ...(grown > mostGrownMegabytes ? [`${grown} MB of memory are kept`] : [])];
    console.log(
      `language server: ${edits} edits, ${requests} requests, heap ${heap.join(', ')} MB after every hundred edits`,
    );
    for (const problem of problems) console.log(`\nFAILED language server\n  ${problem}`);
    return problems.length === 0 && edits > 0;
  }

  function start(): ChildProcess {
    const child = fork(bundle, ['--answer', root, String(seed)], {
      // Maps of the sources alone would take 40 MB; functions keep their names in the bundle.
      execArgv: ['--max-old-space-size=600', '--max-semi-space-size=16'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.setMaxListeners(50);
    return child;
  }
}

/** The verdict on one input, and the most memory that the answering process had until then. */
async function measure(
  helper: ChildProcess,
  number: number,
): Promise<{ verdict: Verdict; megabytes: number }> {
  resetPeak(helper);
  const verdict = await ask(helper, number);
  return { verdict, megabytes: memoryOf(helper, 'VmHWM') };
}

const unanswered = { milliseconds: 0, dead: true };

/** The verdict of the answering process, or one in its place where it hangs or dies. */
function ask(child: ChildProcess, number: number): Promise<Verdict> {
  return new Promise((resolve) => {
    let timer = setTimeout(() => {}, 0);
    const settle = (verdict: Verdict): void => {
      clearTimeout(timer);
      child.off('message', hear);
      child.off('exit', die);
      resolve(verdict);
    };
    // On a busy machine the answering process may be kept from working: it is given longer by the clock than by its work.
    const wait = (rounds = mostRounds, worked = workedMilliseconds(child.pid)): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const isKept = workedMilliseconds(child.pid) - worked < patienceMilliseconds / 2;
        if (isKept && rounds > 1) wait(rounds - 1, worked);
        else settle({ number, ...unanswered, milliseconds: patienceMilliseconds, problem: 'no answer' });
      }, patienceMilliseconds);
    };
    const hear = (message: unknown): void => {
      if (message === 'made') wait();
      else settle(verdictOf(message, number));
    };
    const die = (): void => settle({ number, ...unanswered, problem: 'the process died' });
    child.on('message', hear);
    child.on('exit', die);
    wait();
    child.send(number);
  });
}

function serverRunOf(message: unknown): ServerRun {
  const { edits, requests, heap, failures, slowestMilliseconds } = Object(message);
  return {
    edits: Number(edits),
    requests: Number(requests),
    slowestMilliseconds: Number(slowestMilliseconds),
    heap: Array.isArray(heap) ? heap.map(Number) : [],
    failures: Array.isArray(failures) ? failures.map(String) : ['the process died'],
  };
}

function verdictOf(message: unknown, number: number): Verdict {
  const { milliseconds, problem } = Object(message);
  return {
    number,
    milliseconds: Number(milliseconds),
    problem: problem === undefined ? undefined : String(problem),
  };
}

/** Linux keeps the most memory that a process had, and forgets it when told so. Elsewhere memory is not watched. */
function resetPeak({ pid }: ChildProcess): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {}
}

function memoryOf({ pid }: ChildProcess, field: 'VmHWM' | 'VmRSS'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

if (process.argv[2] === '--server') {
  const [root = '', seed, seconds] = process.argv.slice(3);
  void fuzzServer({
    samples: join(root, 'samples'),
    seed: Number(seed),
    edits: 1_000,
    deadline: performance.now() + Math.max(120, Number(seconds)) * 1000,
  }).then((run) => process.send?.(run, () => process.exit()));
}
if (process.argv[2] === '--answer') answerNumbers(process.argv[3] ?? '', Number(process.argv[4]));
