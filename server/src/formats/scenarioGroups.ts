/**
 * Numbers of a scenario that belong together, written as `name=value,name=value`: the input pipeline, how workers
 * vary, what a whole run is. The command line and layer specs read them the same way.
 */

import { blockFormats } from '../model/blockFormat.ts';
import { didYouMean } from '../model/nearestName.ts';
import { priceKinds } from '../model/price.ts';
import {
  contextExchanges,
  gatheredTensors,
  type InputScenario,
  type LowRankAdapters,
  type ParallelRequest,
  pipelineSchedules,
  type RunRequest,
  stageCuts,
  type WorkersScenario,
} from '../model/scenario.ts';
import { bytes, bytesPerSecond, seconds } from '../model/units.ts';
import { readStages } from './stagesText.ts';

export interface GroupResult<Group> {
  readonly value: Group;
  /** What is wrong: one phrase each. */
  readonly problems: readonly string[];
}

/** What each name takes, for help, completions and the JSON schema. */
export const groupNames = {
  input: {
    'sample-bytes': 'size of a stored sample in bytes',
    'decode-rate': 'samples per second that one CPU core decodes and augments',
    source: 'storage of the cluster that samples are read from: local or shared',
    'read-gbs': 'read throughput of one node in GB/s; overrides the cluster profile',
  },
  workers: {
    imbalance: 'time of the slowest worker ÷ mean time, such as 1.1',
    spread: 'standard deviation of the workers’ times ÷ mean time, such as 0.05',
    straggler: 'time of one slow worker ÷ time of the others, such as 2',
    'other-gpu': 'GPU of some workers, by name, where it differs from the cluster’s',
    'other-count': 'number of workers with `other-gpu`; default 1',
  },
  parallel: {
    tp: 'tensor parallelism: GPUs that share each layer',
    sp: 'sequence parallelism between the layers that tensor parallelism splits: on or off; default off, with torchtitan on',
    gathered:
      'with sp, what is gathered for a product: keep it for backward, or gather it again: keep or again; default keep, with megatron again',
    cp: 'context parallelism: GPUs that share each sequence, which all layers are split along',
    'cp-comm':
      'how attention meets the positions of other GPUs: ring, all-gather or all-to-all; default all-gather, with deepspeed-zero all-to-all, with megatron ring',
    ep: 'expert parallelism: GPUs that share the experts of a mixture, each with samples of its own',
    'expert-imbalance':
      'with ep, rows of the GPU with the busiest experts ÷ mean, where no token is dropped; default 1',
    pp: 'pipeline parallelism: groups of GPUs that the layers are divided among',
    vp: 'with pp, stages (chunks) of the model in each of them; default 1, with an interleaved schedule 2',
    'micro-batch': 'samples of one pass; passes follow from the global batch',
    schedule:
      'order of the micro-batches: 1f1b, gpipe, interleaved-1f1b, looped-bfs, zb-h1, zb-h2, zb-v, v-half, v-min or dualpipe-v; default 1f1b, with vp interleaved-1f1b',
    stages:
      'stages of like time, of as many blocks each, or of one less in the first and last: balanced, uniform or torchtitan; or blocks of each stage, such as 8+8+9+7, or the blocks that later stages begin with, such as h.8+h.16; default balanced, with megatron uniform, with torchtitan torchtitan',
  },
  lora: {
    rank: 'rows of A and columns of B, such as 16',
    layers:
      'linear layers that get adapters, by the ends of their names, such as q_proj+v_proj; default all but the head',
    dropout: 'share of the elements that dropout zeroes in front of an adapter, such as 0.05; default 0',
    base: 'format of the frozen linear layers: nf4, in 4 bits, as QLoRA has them; default that of other weights',
  },
  run: {
    samples: 'samples in the data set',
    epochs: 'passes over the data set; default 1',
    'start-seconds': 'start-up time in seconds before the first step',
    pue: 'power usage effectiveness of the data centre, for the energy of the run; default 1.56',
    price: 'US dollars per GPU-hour, or a kind of price that is known; default on-demand',
  },
} as const;

export type GroupName = keyof typeof groupNames;

/** Names that take words; all others take a positive number. */
export const groupChoices: Readonly<Record<GroupName, Readonly<Record<string, WordChoice>>>> = {
  input: { source: { words: ['local', 'shared'] } },
  workers: { 'other-gpu': { words: 'any' } },
  parallel: {
    sp: { words: ['on', 'off'] },
    gathered: { words: gatheredTensors },
    'cp-comm': { words: contextExchanges },
    schedule: { words: pipelineSchedules },
    stages: { words: 'any', such: stageCuts },
  },
  lora: { layers: { words: 'any' }, base: { words: blockFormats } },
  run: { price: { words: priceKinds, orNumber: true } },
};

/** What a name takes in the place of a positive number, or beside it. */
interface WordChoice {
  readonly words: readonly string[] | 'any';
  /** Of any word, those that are usual. */
  readonly such?: readonly string[];
  readonly orNumber?: boolean;
}

/** A group as one text; what is only said, such as `sp`, has the value `on`. */
export const printGroup = (pairs: Readonly<Record<string, number | string>>): string =>
  Object.entries(pairs)
    .map(([name, value]) => (value === 'on' ? name : `${name}=${value}`))
    .join(',');

export function readInputGroup(text: string): GroupResult<InputScenario> {
  const { numbers, words, problems } = readPairs('input', text);
  const source = words.get('source');
  const [size, decode, read] = [
    numbers.get('sample-bytes'),
    numbers.get('decode-rate'),
    numbers.get('read-gbs'),
  ];
  return {
    value: {
      ...(size === undefined ? {} : { sampleBytes: bytes(size) }),
      ...(decode === undefined ? {} : { decodeRate: decode }),
      ...(source === 'local' || source === 'shared' ? { source } : {}),
      ...(read === undefined ? {} : { readRate: bytesPerSecond(read * 1e9) }),
    },
    problems:
      size === undefined && decode === undefined && problems.length === 0
        ? ['`input` needs `sample-bytes` or `decode-rate`, such as `sample-bytes=110000`']
        : problems,
  };
}

export function readWorkersGroup(text: string): GroupResult<WorkersScenario> {
  const { numbers, words, problems } = readPairs('workers', text);
  const [imbalance, spread, straggler] = [
    numbers.get('imbalance'),
    numbers.get('spread'),
    numbers.get('straggler'),
  ];
  const [gpu, count] = [words.get('other-gpu'), numbers.get('other-count')];
  const contradictions = [
    ...(imbalance !== undefined && imbalance < 1
      ? ['`imbalance` is the time of the slowest worker ÷ mean time: at least 1']
      : []),
    ...(straggler !== undefined && straggler < 1
      ? ['`straggler` is the time of the slow worker ÷ time of the others: at least 1']
      : []),
    ...(count !== undefined && !Number.isInteger(count) ? ['`other-count` is a whole number of GPUs'] : []),
    ...(count !== undefined && gpu === undefined
      ? ['`other-count` needs `other-gpu`, such as `other-gpu=k80,other-count=4`']
      : []),
  ];
  return {
    value: {
      ...(imbalance === undefined ? {} : { imbalance }),
      ...(spread === undefined ? {} : { spread }),
      ...(straggler === undefined ? {} : { straggler }),
      ...(gpu === undefined ? {} : { others: { gpu, count: count ?? 1 } }),
    },
    problems: [...problems, ...contradictions],
  };
}

/** `tp=8,pp=4,sp=on,micro-batch=1`. A degree that is left out is 1; `sp` alone is `sp=on`. */
export function readParallelGroup(text: string): GroupResult<ParallelRequest> {
  const written = text.replace(/(^|,)\s*sp\s*(?=,|$)/, '$1sp=on');
  const { numbers, words, problems } = readPairs('parallel', written);
  const broken = ['tp', 'cp', 'ep', 'pp', 'vp', 'micro-batch'].flatMap((name) => {
    const number = numbers.get(name);
    return number === undefined || Number.isInteger(number)
      ? []
      : [`\`${name}\` takes a whole number from 1, not "${number}"`];
  });
  const [tensor, pipeline, chunks] = [numbers.get('tp'), numbers.get('pp'), numbers.get('vp')];
  const microBatch = numbers.get('micro-batch');
  const context = numbers.get('cp');
  const [expert, expertImbalance] = [numbers.get('ep'), numbers.get('expert-imbalance')];
  const unbalanced =
    expertImbalance !== undefined && expertImbalance < 1
      ? ['`expert-imbalance` is the rows of the busiest GPU ÷ mean rows: at least 1']
      : [];
  const contextExchange = contextExchanges.find((name) => name === words.get('cp-comm'));
  const gathered = gatheredTensors.find((name) => name === words.get('gathered'));
  const schedule = pipelineSchedules.find((name) => name === words.get('schedule'));
  const given = words.get('stages');
  const cut = given === undefined ? undefined : readStages(given);
  return {
    value: {
      ...(tensor === undefined ? {} : { tensor }),
      ...(words.has('sp') ? { sequence: words.get('sp') === 'on' } : {}),
      ...(context === undefined ? {} : { context }),
      ...(contextExchange === undefined ? {} : { contextExchange }),
      ...(expert === undefined ? {} : { expert }),
      ...(expertImbalance === undefined ? {} : { expertImbalance }),
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(chunks === undefined ? {} : { chunks }),
      ...(microBatch === undefined ? {} : { microBatch }),
      ...(gathered === undefined ? {} : { gathered }),
      ...(schedule === undefined ? {} : { schedule }),
      ...(cut === undefined || 'problem' in cut ? {} : { stages: cut.stages }),
    },
    problems: [
      ...problems,
      ...broken,
      ...unbalanced,
      ...(cut !== undefined && 'problem' in cut ? [cut.problem] : []),
    ],
  };
}

/** `rank=16,layers=q_proj+v_proj,dropout=0.05,base=nf4`; a number alone is the rank. */
export function readLoraGroup(text: string): GroupResult<LowRankAdapters | undefined> {
  const { numbers, words, problems } = readPairs('lora', text.replace(/^\s*(?=\d+\s*(?:,|$))/, 'rank='));
  const [rank, dropout] = [numbers.get('rank'), numbers.get('dropout')];
  const layers = words
    .get('layers')
    ?.split('+')
    .map((name) => name.trim());
  const base = blockFormats.find((format) => format === words.get('base'));
  const contradictions = [
    ...(rank !== undefined && !Number.isInteger(rank)
      ? [`\`rank\` takes a whole number from 1, not "${rank}"`]
      : []),
    ...(dropout !== undefined && dropout >= 1 ? ['`dropout` is a share of the elements: below 1'] : []),
    ...(layers?.includes('') === true
      ? ['`layers` takes names with `+` between them, such as `q_proj+v_proj`']
      : []),
    ...(rank === undefined && problems.length === 0 ? ['`lora` needs `rank`, such as `rank=16`'] : []),
  ];
  return {
    value:
      rank === undefined
        ? undefined
        : {
            rank,
            ...(layers === undefined ? {} : { layers }),
            ...(dropout === undefined ? {} : { dropout }),
            ...(base === undefined ? {} : { base }),
          },
    problems: [...problems, ...contradictions],
  };
}

export function readRunGroup(text: string): GroupResult<RunRequest | undefined> {
  const { numbers, words, problems } = readPairs('run', text);
  const samples = numbers.get('samples');
  const start = numbers.get('start-seconds');
  const pue = numbers.get('pue');
  const price = numbers.get('price') ?? priceKinds.find((kind) => kind === words.get('price'));
  if (samples === undefined) {
    return {
      value: undefined,
      problems:
        problems.length > 0 ? problems : ['`run` needs `samples`, such as `samples=1281167,epochs=90`'],
    };
  }
  return {
    value: {
      samples,
      epochs: numbers.get('epochs') ?? 1,
      ...(start === undefined ? {} : { start: seconds(start) }),
      ...(price === undefined ? {} : { price }),
      ...(pue === undefined ? {} : { pue }),
    },
    problems,
  };
}

/** Beyond these a number is a slip, and sums of times come to nothing or to infinity. */
const least = 1e-9;
const mostOfAny = 1e15;
/** Of ratios of times. */
const mostOfWorkers = 1e6;

/** Pairs of a known name and a positive number, or a word that the name takes. */
function readPairs(
  group: GroupName,
  text: string,
): {
  readonly numbers: ReadonlyMap<string, number>;
  readonly words: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
} {
  const numbers = new Map<string, number>();
  const words = new Map<string, string>();
  const problems: string[] = [];
  const names = Object.keys(groupNames[group]);
  // Commas inside brackets belong to a value.
  for (const pair of text.split(/,(?![^[]*\])/)) {
    const at = pair.indexOf('=');
    const name = (at < 0 ? pair : pair.slice(0, at)).trim();
    const value = at < 0 ? '' : pair.slice(at + 1).trim();
    if (!names.includes(name)) {
      const hint = didYouMean(name, names) || `; it takes ${names.join(', ')}`;
      problems.push(`\`${name}\` is not part of \`${group}\`${hint}`);
      continue;
    }
    const choice = groupChoices[group][name];
    if (choice?.words === 'any' ? value !== '' : choice?.words.includes(value)) {
      words.set(name, value);
      continue;
    }
    if (choice !== undefined && choice.orNumber !== true) {
      if (choice.words === 'any') problems.push(`\`${name}\` takes a name`);
      else problems.push(`\`${name}\` is ${choice.words.join(' or ')}, not "${value}"`);
      continue;
    }
    const number = Number(value);
    const most = group === 'workers' ? mostOfWorkers : mostOfAny;
    if (value === '' || !(number > 0)) {
      const others = choice === undefined || choice.words === 'any' ? [] : choice.words;
      const wanted = ['a number above 0', ...others].join(' or ');
      problems.push(`\`${name}\` takes ${wanted}, not "${value}"`);
    } else if (number < least || number > most) {
      problems.push(`\`${name}\` takes a number from ${least} to ${most}, not "${value}"; check its unit`);
    } else numbers.set(name, number);
  }
  return { numbers, words, problems };
}

/** `encoder, !encoder.*.lora_*`: names of parameters and modules, with `*` for any characters. */
export const readPatterns = (text: string): readonly string[] =>
  text
    .split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== '');
