/** What each command is for and takes: its own page of help. */

export interface CommandHelp {
  /** One line in the list of commands. */
  readonly summary: string;
  /** What may stand behind the name. */
  readonly usage: readonly string[];
  /** Options that are not of the scenario: what is written, and what it does. */
  readonly options: readonly (readonly [string, string])[];
  readonly takes?: readonly ('model' | 'scenario')[];
}

const output = ['--output PATH', 'write to a file'] as const;
const python = ['--python PATH', 'the interpreter; left out, python3 and others that have torch'] as const;
const launcher = [
  '--launcher WORDS',
  'what reaches Python on the machine with the GPU, such as "ssh gpu-box"',
] as const;
const format = (...names: readonly string[]) => ['--format NAME', `${names.join(', ')}`] as const;

export const commandHelp = {
  report: {
    summary: 'what each layer of a training step costs, and what to change',
    usage: ['FILE [scenario] [options]'],
    options: [
      format('table', 'json', 'markdown', 'csv', 'html', 'svg', 'trace (for Perfetto)'),
      output,
      ['--summary', 'totals and findings, without layers'],
      ['--top N', 'the N most expensive layers'],
      ['--width N', 'columns of the table'],
      [
        '--chart NAME',
        'of --format svg: timeline, memory, modules-time, modules-saved, modules-parameters, modules-exposed, roofline or scaling',
      ],
    ],
    takes: ['model', 'scenario'],
  },
  scale: {
    summary: 'step, throughput, efficiency and memory by number of GPUs',
    usage: ['FILE [scenario] [--gpus 1,2,4,8] [options]'],
    options: [
      ['--gpus LIST', 'numbers of GPUs; left out, powers of two'],
      [
        '--cluster A,B',
        'a curve for each value, also of --framework, --batch, --precision and others; at most as many as can be told apart',
      ],
      format('table', 'json', 'markdown', 'csv', 'html'),
      output,
    ],
    takes: ['model', 'scenario'],
  },
  plan: {
    summary: 'the best parallel layout: degrees, micro-batch, checkpointing',
    usage: ['FILE --gpus N --global-batch N [scenario] [options]'],
    options: [
      ['--gpus LIST', 'GPUs; a list for the fewest that fit'],
      ['--goal NAME', 'fastest, cheapest or fewest GPUs'],
      ['--deadline HOURS', 'of the whole run, with --run samples=N'],
      ['--top N', 'how many layouts are listed'],
      format('table', 'json'),
      output,
    ],
    takes: ['model', 'scenario'],
  },
  compare: {
    summary: 'two models, two scenarios, or a file and its git revision',
    usage: [
      'A B [scenario] [options]',
      'FILE --left "OPTIONS" --right "OPTIONS" [scenario]',
      'FILE --base REF [scenario]',
    ],
    options: [
      ['--left, --right WORDS', 'options of either side, such as --left "--cluster dgx-a100"'],
      ['--base REF', 'the file now and in a git revision'],
      format('table', 'json', 'html'),
      output,
    ],
    takes: ['model', 'scenario'],
  },
  sweep: {
    summary: 'one row for each combination of values',
    usage: ['FILE [scenario] [options]'],
    options: [
      ['--batch 1,2,4', 'lists of values, also --checkpoint none,block, --dim seq=1024,2048 and others'],
      format('table', 'json', 'csv'),
      output,
    ],
    takes: ['model', 'scenario'],
  },
  check: {
    summary: 'budgets of models, for continuous integration',
    usage: ['[layercost.yaml] [options]'],
    options: [
      ['--base REF', 'compare with a git revision too (docs/check.md)'],
      ['--baseline FILE', 'findings that are accepted; --write-baseline FILE writes it'],
      format('table', 'json', 'sarif', 'junit', 'github', 'markdown'),
      output,
    ],
  },
  clusters: {
    summary: 'clusters and GPUs that are built in, with sources',
    usage: ['[NAME] [options]'],
    options: [format('table', 'json')],
  },
  prices: {
    summary: 'what machines of clouds cost, with day and source',
    usage: ['[CLUSTER] [options]'],
    options: [
      ['--update FILE', 'take prices from a newer table (docs/prices.md)'],
      ['--date DAY', 'the day of that table, such as 2026-03-01'],
      format('table', 'json'),
    ],
  },
  benchmark: {
    summary: 'run the step on a real device, and put measured beside predicted',
    usage: ['FILE [scenario] [options]'],
    options: [
      ['--device NAME', 'auto, cuda, cuda:N, mps, xpu or cpu'],
      python,
      launcher,
      ['--caches NAME', 'before each layer: cold, as a step leaves them, or hot'],
      ['--keep FILE.py', 'keep the program that ran'],
      ['--trace FILE.json.gz', 'kernels of each layer under torch.profiler, and a trace for Perfetto'],
      ['--ranks N', 'N processes share the step, one for each GPU, by torchrun'],
      ['--nodes M', 'on each of M machines, with --rendezvous HOST:PORT and a launcher that reaches all'],
      format('table', 'json'),
    ],
    takes: ['model', 'scenario'],
  },
  collectives: {
    summary: 'time all-reduce, all-gather, reduce-scatter and all-to-all by size',
    usage: ['--ranks N [options]'],
    options: [
      ['--ranks N', 'one process for each GPU of this machine'],
      ['--nodes M', 'on each of M machines, with --rendezvous HOST:PORT and a launcher that reaches all'],
      ['--device NAME', 'auto, cuda or cpu'],
      python,
      launcher,
      format('table', 'json'),
    ],
  },
  calibrate: {
    summary: 'fit predictions to this machine, and write its profile',
    usage: ['[FOLDER] --device NAME [options]', '[FOLDER] [--results A,B] [--output FILE]'],
    options: [
      [
        '--device NAME',
        'time chosen kernels first: cuda, cuda:N, mps, xpu or cpu. Left out, kept results of benchmarks count',
      ],
      ['--seconds N', 'for the kernels; 60 unless given'],
      ['--precision NAME', 'of the kernels; left out, bf16 on a GPU and fp32 on a CPU'],
      ['--ranks N', 'time collectives over N GPUs too'],
      python,
      launcher,
      ['--results A,B', 'names of layercost results that count; left out, all of this machine and device'],
      ['--output FILE', 'the profile; left out, .layercost/machine.json'],
    ],
  },
  results: {
    summary: 'benchmark results that were kept',
    usage: ['[FILE [scenario]] [options]'],
    options: [
      ['--compare A,B', 'two results, layer by layer'],
      ['--remove A', 'remove a result'],
      format('table', 'json'),
    ],
    takes: ['scenario'],
  },
  convert: {
    summary: 'a model in another form',
    usage: ['FILE [options]'],
    options: [
      ['--to NAME', 'onnx, onnx-text or layer-spec'],
      output,
      ['--force', 'replace a file that exists'],
      ['--weights NAME', 'of an ONNX model: zeros, external or elided'],
      ['--dim NAME=VALUE', 'the value of a symbolic dimension; repeatable'],
    ],
    takes: ['model'],
  },
  export: {
    summary: 'a PyTorch model as a file, without its weights',
    usage: ['TARGET [options]'],
    options: [
      ['TARGET', 'train.py:Net, package.module:make, hf:ID, timm:NAME or torchvision:NAME (docs/export.md)'],
      ['--input NAME=TYPE[SIZES]', "an input of forward, such as 'tokens=int64[batch, 128]'; repeatable"],
      ['--output FILE.pt2', 'the archive'],
      python,
    ],
  },
  lsp: {
    summary: 'the language server, for any editor',
    usage: ['--stdio'],
    options: [['--stdio', 'talk over standard input and output (docs/editors.md)']],
  },
  mcp: {
    summary: 'tools for agents, by the Model Context Protocol',
    usage: ['[--stdio]'],
    options: [['--stdio', 'talk over standard input and output, as it does anyway (docs/agents.md)']],
  },
} as const satisfies Readonly<Record<string, CommandHelp>>;

export type CommandName = keyof typeof commandHelp;

/** In the order in which help lists them. */
export const commandNames = Object.keys(commandHelp) as readonly CommandName[];

export const isCommandName = (word: string): word is CommandName => Object.hasOwn(commandHelp, word);
