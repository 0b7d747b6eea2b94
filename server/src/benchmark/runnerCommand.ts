/** What starts the runner: Python itself, or a launcher that reaches Python on a machine with the GPU. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface RunnerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** What goes to standard input. */
  readonly input: string;
}

export interface RunnerPlace {
  /** Folder of the runner. */
  readonly runner: string;
  readonly python: string;
  readonly device: string;
  /** Processes of each machine, started by `torchrun`. */
  readonly ranks?: number | undefined;
  /** Machines, on each of which the launcher starts Python. */
  readonly nodes?: Nodes | undefined;
  /** Words before Python's: `ssh gpu-box`, `srun --gres=gpu:1`, `docker run -i --gpus all IMAGE`. */
  readonly launcher?: readonly string[] | undefined;
}

/** Several machines whose processes share a step. */
export interface Nodes {
  readonly count: number;
  /** Where they meet, an address of one of them that all reach: `node01:29500`. */
  readonly rendezvous: string;
}

/** `input` is JSON for the runner. Reads the runner's sources where there is a launcher. */
export function runnerCommand(input: string, place: RunnerPlace): RunnerCommand {
  const { runner, python, device, ranks, nodes, launcher = [] } = place;
  const [command, ...words] = launcher;
  if (command === undefined)
    return { command: python, args: [...torchrun(ranks), runner, '--device', device], input };
  // The words hold nothing that a shell on the way, such as ssh's, would take apart.
  const options = [
    ...['--device', device],
    ...(ranks === undefined ? [] : ['--ranks', String(ranks)]),
    ...(nodes === undefined ? [] : ['--nodes', String(nodes.count), '--rendezvous', nodes.rendezvous]),
  ];
  return { command, args: [...words, python, '-', ...options], input: sentProgram(runner, input) };
}

/** torch's own launcher starts the processes; with `--standalone` they meet on this machine. */
const torchrun = (ranks: number | undefined): readonly string[] =>
  ranks === undefined
    ? []
    : ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', String(ranks)];

/** The whole runner and its input as one program: a launcher shares standard input, and perhaps no file. */
function sentProgram(runner: string, input: string): string {
  const files = Object.fromEntries(
    readdirSync(runner, { recursive: true, encoding: 'utf8' })
      .map((name) => name.replaceAll('\\', '/'))
      .filter((name) => name.endsWith('.py') && name !== starter)
      .map((name) => [name, readFileSync(join(runner, name), 'utf8')]),
  );
  const sent = Buffer.from(JSON.stringify({ files, input })).toString('base64');
  return `SENT = "${sent}"\n${readFileSync(join(runner, starter), 'utf8')}`;
}

const starter = 'sent.py';
