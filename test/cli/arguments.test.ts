/** The command line as data: what is read, and what is refused with which message. */

import { describe, expect, it } from 'vitest';
import { readArguments } from '../../server/src/cli/arguments.ts';

const read = (line: string) => readArguments(line.split(' ').filter((word) => word !== ''));

describe('arguments', () => {
  it.each([
    ['', { command: 'help' }],
    ['--help', { command: 'help' }],
    ['help', { command: 'help' }],
    ['help report', { command: 'help', of: 'report' }],
    ['report --help', { command: 'help', of: 'report' }],
    ['convert m.onnx -h', { command: 'help', of: 'convert' }],
    ['--version', { command: 'version' }],
    ['lsp --stdio', { command: 'lsp' }],
    ['lsp --node-ipc --clientProcessId=123', { command: 'lsp' }],
    ['lsp --socket=6009', { command: 'lsp' }],
    [
      'convert m.onnx',
      {
        command: 'convert',
        file: 'm.onnx',
        to: undefined,
        output: undefined,
        weights: undefined,
        dimensions: {},
        force: false,
      },
    ],
    [
      'convert m --to onnx --output o --weights external --dim n=2 --force',
      {
        command: 'convert',
        file: 'm',
        to: 'onnx',
        output: 'o',
        weights: 'external',
        dimensions: { n: 2 },
        force: true,
      },
    ],
    ['clusters', { command: 'clusters', name: undefined, format: 'table' }],
    ['clusters dgx-a100 --format json', { command: 'clusters', name: 'dgx-a100', format: 'json' }],
  ])('%s', (line, expected) => {
    expect(read(line)).toEqual({ kind: 'arguments', arguments: expected });
  });

  it('reads every scenario option of report', () => {
    expect(
      read(
        'report m.onnx --cluster dgx-a100 --gpus 16 --nodes 2 --batch 64 --accumulate 4 --dim seq=1024 --dim heads=12 --precision bf16 --optimizer adamw --framework pytorch-ddp,bucket-mb=50,compile --mode training --checkpoint selective --measured-step 0.25 --layer-trace t.csv --threshold exposed-communication=0.1 --threshold launch-bound=0.5 --format json --output o.json',
      ),
    ).toEqual({
      kind: 'arguments',
      arguments: {
        command: 'report',
        file: 'm.onnx',
        format: 'json',
        output: 'o.json',
        summary: false,
        top: undefined,
        scenario: {
          clusterFile: undefined,
          layerTrace: 't.csv',
          request: {
            cluster: 'dgx-a100',
            gpus: 16,
            nodes: 2,
            batch: 64,
            accumulate: 4,
            dimensions: { seq: 1024, heads: 12 },
            precision: 'bf16',
            optimizer: 'adamw',
            framework: { name: 'pytorch-ddp', options: { 'bucket-mb': '50', compile: 'true' } },
            mode: 'training',
            checkpoint: 'selective',
            measuredStep: 0.25,
            thresholds: { 'exposed-communication': 0.1, 'launch-bound': 0.5 },
          },
        },
      },
    });
  });

  it.each([
    ['1e-9', 1e-9],
    ['1e9', 1e9],
  ])('takes a measured step of %s seconds, the least and the most', (text, measuredStep) => {
    expect(read(`report m.onnx --measured-step ${text}`)).toMatchObject({
      arguments: { scenario: { request: { measuredStep } } },
    });
  });

  it('gives each side of a comparison its own options over the shared ones', () => {
    const result = readArguments([
      'compare',
      'a.onnx',
      '--batch',
      '8',
      '--left',
      '--gpus 8',
      '--right',
      '--gpus 16 --batch 4',
    ]);
    expect(result).toMatchObject({
      arguments: {
        left: { file: 'a.onnx', scenario: { request: { batch: 8, gpus: 8 } } },
        right: { file: 'a.onnx', scenario: { request: { batch: 4, gpus: 16 } } },
      },
    });
  });

  it('takes quoted flags of another program as a value, and its own options before them', () => {
    const flags = '--tensor-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 64';
    const result = readArguments(['report', 'm.onnx', '--parallel', flags, '--framework', 'pytorch-ddp']);
    expect(result).toMatchObject({
      arguments: {
        scenario: {
          request: {
            parallel: { tensor: 4, microBatch: 1 },
            globalBatch: 64,
            framework: { name: 'pytorch-ddp' },
          },
        },
      },
    });
  });

  it('takes a launcher apart and a device by its number', () => {
    const result = readArguments(['benchmark', 'm.onnx', '--launcher', 'ssh gpu-box', '--device', 'cuda:1']);
    expect(result).toMatchObject({
      arguments: { launcher: ['ssh', 'gpu-box'], device: 'cuda:1', ranks: undefined },
    });
  });

  it.each([
    ['calibrate', undefined],
    ['calibrate --device cuda --results a,b', undefined],
    [
      'calibrate --device cuda:1',
      {
        device: 'cuda:1',
        seconds: 60,
        precision: undefined,
        ranks: undefined,
        python: undefined,
        launcher: [],
      },
    ],
    [
      'calibrate . --device cuda --seconds 20 --precision fp16 --ranks 8 --python p --launcher ssh',
      { device: 'cuda', seconds: 20, precision: 'fp16', ranks: 8, python: 'p', launcher: ['ssh'] },
    ],
  ])('%s runs these kernels', (line, run) => {
    expect(read(line)).toMatchObject({ arguments: { command: 'calibrate', run } });
  });

  it('takes a cluster that looks like a path as a file', () => {
    const result = read('report m.onnx --cluster ./mine.json');
    expect(result).toMatchObject({ arguments: { scenario: { clusterFile: './mine.json', request: {} } } });
  });

  it.each([
    ['plan m.onnx --gpus 8', 'needs --global-batch N'],
    ['plan m.onnx --global-batch 8', 'needs --gpus N'],
    ['plan m.onnx --gpus 8,x --global-batch 8', '--gpus x is not a whole number'],
    ['plan m.onnx --gpus 8 --global-batch 8 --parallel tp=2', '--parallel is searched by layercost plan'],
    ['plan --gpus 8 --global-batch 8', 'takes one model file'],
    [
      'plan m.onnx --gpus 8 --global-batch 8 --goal best',
      '--goal best is not known; it takes fastest, cheapest, fewest',
    ],
    [
      'plan m.onnx --gpus 8 --global-batch 8 --deadline 24',
      '--deadline is one of a whole run; add --run samples=N',
    ],
    ['prices a b', 'takes at most one cluster'],
    ['prices --update f.csv --date soon', '--date is a day such as 2026-03-01'],
    [
      'frobnicate',
      'there is no command frobnicate; the commands are report, scale, plan, compare, sweep, check, clusters, prices, benchmark, collectives, calibrate, results, convert, export, lsp and mcp',
    ],

    [
      'benchmark a.onnx --device gpu',
      '--device gpu is none of auto, cuda, mps, xpu, cpu; one of several GPUs is cuda:0',
    ],
    ['benchmark a.onnx --device cuda:1 --ranks 2', '--ranks runs on cuda or cpu, not on cuda:1'],
    ['benchmark a.onnx --trace t.json.gz --ranks 2', '--trace and --ranks are two runs'],
    [
      'models/net.onnx --gpus 8',
      'models/net.onnx is no command; for what it costs: layercost report models/net.onnx',
    ],
    ['calibrate --device auto', '--device auto is none of cuda, mps, xpu, cpu'],
    ['calibrate --seconds 20', '--seconds is of a run of kernels: give --device'],
    ['calibrate --device cuda --results a --precision fp16', '--precision is of a run of kernels'],
    ['calibrate --device cpu --ranks 2', '--ranks times collectives over GPUs'],
    ['collectives', 'layercost collectives needs --ranks N'],
    ['benchmark a.onnx --nodes 2', '--nodes needs --ranks N'],
    ['collectives --ranks 1', '--ranks'],
    ['collectives --ranks 1 --nodes 2', '--nodes needs a launcher that starts Python on each'],
    ['collectives --ranks 1 --nodes 2 --launcher x', '--rendezvous node01:29500'],
    ['collectives --ranks 1 --nodes 2 --launcher x --rendezvous a;b:1', '--rendezvous node01:29500'],
    ['benchmark a.onnx --ranks 8 --rendezvous a:1', '--rendezvous is of several nodes: add --nodes N'],
    ['results --compare a', '--compare takes two results, such as --compare A,B'],
    ['results --compare a,b --remove c', '--compare and --remove are two commands; give one of them'],
    ['results a.onnx b.onnx', 'layercost results takes at most one model file'],
    ['report', 'layercost report needs a model file: layercost report FILE'],
    ['report -', 'standard input cannot be read'],
    ['report a.onnx b.onnx', 'layercost report takes one model file; remove b.onnx'],
    [
      'report a.onnx --threshold lunch-bound=0.1',
      '--threshold lunch-bound=0.1: `lunch-bound` is not the name of a threshold; did you mean `launch-bound`',
    ],
    ['report a.onnx --threshold launch-bound=20', 'is not NAME=FRACTION with a fraction from 0 to 1'],
    ['report a.onnx --precision int4', '--precision int4 is not known; it takes fp32, tf32, fp16, bf16, fp8'],
    ['report a.onnx --gpus 4,8', '--gpus 4,8 is not a whole number of at least 1; several values are for'],
    ['report a.onnx --gpus 0', '--gpus 0 is not a whole number of at least 1'],
    ['report a.onnx --batch 1.5', '--batch 1.5 is not a whole number of at least 1'],
    [
      'report a.onnx --framework pytorch-ddp,compile,=5',
      '--framework pytorch-ddp,compile,=5: `=5` has no name: write a name, then options, such as `pytorch-ddp,bucket-mb=50`',
    ],
    ['report a.onnx --framework mxnet,', 'nothing follows `mxnet,`'],
    [
      'report a.onnx --dim seq',
      '--dim seq is not NAME=VALUE with a whole number, such as --dim sequence=1024',
    ],
    ['report a.onnx --measured-step -1', '--measured-step -1: no option takes a negative number'],
    ['report a.onnx --measured-step=-1', '--measured-step -1 is not a positive number of seconds'],
    [
      'report a.onnx --measured-step 1e300',
      '--measured-step 1e300 is not a number of seconds from 1e-9 to 1e9; check its unit',
    ],
    ['report a.onnx --batch --gpus 8', '--batch needs a value, and --gpus is an option'],
    ['report a.onnx --cluster', '--cluster needs a value; --help lists the options of a command'],
    ['convert a.onnx --force=yes', '--force takes no value; remove yes'],
    ['scale a.onnx --gpus 1,,2', "--gpus '' is not a whole number of at least 1"],
    ['report a.onnx --precison bf16', 'there is no option --precison here; did you mean `--precision`?'],
    ['reprot a.onnx', '; did you mean `report`?'],
    [
      'report a.onnx --format pdf',
      '--format pdf is not known; it takes table, json, markdown, csv, html, svg, trace',
    ],
    ['report a.onnx --html', 'there is no option --html here; write `--format html`'],
    ['scale a.onnx --json', 'there is no option --json here; write `--format json`'],
    ['report a.onnx --colour', 'there is no option --colour here; --help lists the options of a command'],
    ['compare', 'layercost compare takes one or two model files: layercost compare A B'],
    ['compare a.onnx', 'layercost compare FILE needs two scenarios'],
    [
      'compare a.onnx b.onnx --base main',
      '--base compares one file with itself in a revision; remove the second file',
    ],
    ['compare a.onnx --base=-x', '--base -x is not a revision'],
    ['compare a.onnx --left x', '--left and --right take scenario options; remove x'],
    ['report a.onnx --format svg', '--format svg and --chart go together; charts are timeline, memory'],
    ['report a.onnx --chart memory', '--format svg and --chart go together'],
    ['report a.onnx --format svg --chart memroy', 'memory'],
    [
      'scale a.onnx --batch 1,2,4,8 --precision fp32,bf16',
      'the lists have 8 combinations; at most 6 curves are told apart',
    ],
    ['scale a.onnx --gpus 1,two', '--gpus two is not a whole number of at least 1'],
  ])('refuses %s', (line, message) => {
    const result = read(line);
    expect(result.kind).toBe('wrong');
    expect(result.kind === 'wrong' && result.message).toContain(message);
  });
});
