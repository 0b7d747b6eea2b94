/** What `layercost --help` and `layercost COMMAND --help` print. */

import { optimizers } from '../model/scenario.ts';
import { wrapWords } from '../model/wrapWords.ts';
import { type CommandHelp, type CommandName, commandHelp, commandNames } from './commandHelp.ts';

/** The commands, and where to read on; `room`: columns of the terminal. */
export const help = (room?: number): string =>
  [
    ...wrapped(
      'layercost: cost of a training step of a neural network on a GPU cluster, layer by layer',
      room,
    ),
    '',
    'usage: layercost COMMAND',
    '',
    ...columns(
      commandNames.map((name) => [name, commandHelp[name].summary]),
      room,
    ),
    '',
    ...wrapped(
      'layercost COMMAND --help lists the options of a command; --version prints the version.',
      room,
    ),
    '',
    'layercost report model.onnx --cluster dgx-h100 --gpus 64 --batch 32',
    'layercost plan config.json --cluster dgx-h100 --gpus 64 --global-batch 512',
    '',
    ...wrapped(files, room),
    ...wrapped(exits, room),
    '',
  ].join('\n');

/** One command: what stands behind its name, and its options. */
export function helpOfCommand(name: CommandName, room?: number): string {
  const { summary, usage, options, takes = [] }: CommandHelp = commandHelp[name];
  return [
    ...wrapped(`layercost ${name}: ${summary}`, room),
    '',
    ...usage.map(
      (line, index) => `${index === 0 ? 'usage: ' : '       '}layercost ${name}${line && ` ${line}`}`,
    ),
    ...(options.length === 0 ? [] : ['', ...columns(options, room)]),
    ...(takes.includes('scenario') ? ['', 'scenario', ...columns(scenarioOptions, room)] : []),
    ...(takes.includes('model') ? ['', ...wrapped(files, room)] : []),
    '',
    ...wrapped(exits, room),
    '',
  ].join('\n');
}

const files =
  'FILE is an ONNX model (binary, ONNX text, protobuf text or JSON; also gzip-compressed), an archive of torch.export (.pt2), a config.json of Hugging Face, weights (.safetensors, .gguf), a layer spec (*.layers.yaml) or a Caffe net (.prototxt). The content decides, not the name. FILE#NAME is one model of several in a layer spec.';
const exits =
  'Exit status: 0 success, 1 the file could not be costed, 2 wrong arguments, 3 a budget of check is broken.';

/** Wide enough for most options; a longer one has a line of its own. */
const left = 26;
/** Wider lines are hard to read. */
const widest = 118;

const widthIn = (room: number | undefined): number => Math.min(room ?? widest, widest);

const wrapped = (text: string, room: number | undefined): readonly string[] =>
  wrapWords(text, () => widthIn(room));

/** What is written on the left, what it does on the right. */
const columns = (rows: readonly (readonly [string, string])[], room: number | undefined): readonly string[] =>
  rows.flatMap(([written, meaning]) => {
    const [first = '', ...more] = wrapWords(meaning, () => widthIn(room) - left);
    const rest = more.map((line) => `${' '.repeat(left)}${line}`);
    return written.length + 4 > left
      ? [`  ${written}`, `${' '.repeat(left)}${first}`, ...rest]
      : [`  ${written}`.padEnd(left) + first, ...rest];
  });

const scenarioOptions: readonly (readonly [string, string])[] = [
  ['--cluster NAME|FILE', 'a cluster or GPU of layercost clusters, or a profile in a JSON file'],
  ['--gpus N', 'GPUs in all; --nodes N: nodes that hold them'],
  ['--batch N', 'samples per GPU and pass; --global-batch N: over all GPUs and passes'],
  ['--accumulate N', 'passes of gradient accumulation in a step'],
  ['--dim NAME=VALUE', 'the value of a symbolic dimension; repeatable'],
  [
    '--precision NAME',
    'fp32, tf32, fp16, bf16, fp8 or nvfp4; fp16 and bf16 are mixed precision. Left out: the half precision of the GPU with PyTorch, else fp32',
  ],
  ['--optimizer NAME', `${optimizers.slice(0, -1).join(', ')} or ${optimizers.at(-1)}`],
  [
    '--framework NAME|FILE',
    'with options, such as pytorch-ddp,bucket-mb=50 (docs/frameworks.md); FILE: your own, described in YAML',
  ],
  [
    '--mode NAME',
    'training or inference; --past N: a decode step with N tokens in the cache (docs/inference.md)',
  ],
  [
    '--checkpoint NAME',
    'what blocks keep for backward: none (keep all), block (inputs only), selective (matmuls and attention too), alternate (every second matmul), alternate-block (all of every other block) or attention (all but its core)',
  ],
  [
    '--parallel WORDS',
    'GPUs that share a copy of the model, such as tp=8,pp=4,sp,micro-batch=1, or flags of Megatron-LM (docs/parallel.md)',
  ],
  [
    '--loss NAME',
    'of a model that has none: auto (cross-entropy behind logits of tokens), cross-entropy (behind the last output that has classes), with-logits (in fp32, of a model that returns its logits too), with-logits-uncast (of these as they are) or none',
  ],
  [
    '--freeze PATTERN',
    "parameters or modules that are not trained, such as 'encoder.*'; '!NAME': that are trained; repeatable, the last match decides",
  ],
  [
    '--lora WORDS',
    'low-rank adapters, trained alone: a rank such as 16, or rank=16,layers=q_proj+v_proj,dropout=0.05; base=nf4: QLoRA, with layers in 4 bits; default all linear layers but the head',
  ],
  ['--threshold NAME=FRACTION', 'report a finding above this fraction; repeatable (docs/issues.md)'],
  [
    '--input WORDS',
    'the input pipeline: sample-bytes=N,decode-rate=N,source=local|shared,read-gbs=N (docs/steps.md)',
  ],
  [
    '--workers WORDS',
    'workers that differ: imbalance=N (slowest ÷ mean), spread=N (σ ÷ mean), straggler=N, other-gpu=NAME,other-count=N',
  ],
  [
    '--run WORDS',
    'time and cost of a whole run: samples=N,epochs=N,start-seconds=N,price=N or on-demand, spot, reserved-1y, reserved-3y',
  ],
  ['--measured-step SECONDS', 'a measured step of one GPU in place of the predicted one'],
  ['--layer-trace FILE.csv', 'measured times of layers in place of predicted ones'],
];
