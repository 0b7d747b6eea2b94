/** What starts the runner, here and behind a launcher. */

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { launcherWords } from '../../server/src/benchmark/launcherWords.ts';
import { runnerCommand } from '../../server/src/benchmark/runnerCommand.ts';

const runner = join(import.meta.dirname, '../../server/src/benchmark/runner');
const place = { runner, python: 'python3', device: 'auto' };

describe('the command', () => {
  it.each([
    ['alone', {}, 'python3', [runner, '--device', 'auto']],
    [
      'several processes',
      { ranks: 4 },
      'python3',
      ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '4', runner, '--device', 'auto'],
    ],
    [
      'behind a launcher',
      { launcher: ['ssh', 'gpu-box'], device: 'cuda:1' },
      'ssh',
      ['gpu-box', 'python3', '-', '--device', 'cuda:1'],
    ],
    [
      'several behind a launcher',
      { launcher: ['srun', '--gres=gpu:4'], ranks: 4 },
      'srun',
      ['--gres=gpu:4', 'python3', '-', '--device', 'auto', '--ranks', '4'],
    ],
    [
      'on several machines',
      { launcher: ['srun', '--nodes', '2'], ranks: 8, nodes: { count: 2, rendezvous: 'node01:29500' } },
      'srun',
      [
        ...['--nodes', '2', 'python3', '-', '--device', 'auto', '--ranks', '8'],
        ...['--nodes', '2', '--rendezvous', 'node01:29500'],
      ],
    ],
  ])('%s', (_, wish, command, args) => {
    expect(runnerCommand('{}', { ...place, ...wish })).toMatchObject({ command, args });
  });

  it('sends sources and input as one program, which names no path of this machine', () => {
    const given = '{"model": "a \\"quoted\\" 模型"}';
    const { input } = runnerCommand(given, { ...place, launcher: ['ssh', 'x'] });
    const [, sent = ''] = /^SENT = "([A-Za-z0-9+/=]+)"\n/.exec(input) ?? [];
    const { files, input: received } = JSON.parse(Buffer.from(sent, 'base64').toString('utf8'));
    expect(received).toBe(given);
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining([
        '__main__.py',
        'layercost_runner/plan.py',
        'layercost_runner/operators/call.py',
      ]),
    );
    expect(Object.keys(files)).not.toContain('sent.py');
    expect(input).not.toContain(runner);
  });
});

describe('a launcher in one line', () => {
  it.each([
    ['', []],
    ['ssh gpu-box', ['ssh', 'gpu-box']],
    ['  srun   --gres=gpu:1 ', ['srun', '--gres=gpu:1']],
    [`docker run -i -e "A=b c" 'my image'`, ['docker', 'run', '-i', '-e', 'A=b c', 'my image']],
    ['env A="b c" \'\'', ['env', 'A=b c', '']],
    ["it's open", ["it's", 'open']],
    [`sh -c 'exec "$@"' --`, ['sh', '-c', 'exec "$@"', '--']],
  ])('%s', (text, words) => {
    expect(launcherWords(text)).toEqual(words);
  });
});
