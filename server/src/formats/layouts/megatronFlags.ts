/**
 * The flags of Megatron-LM that lay a step out, from a command line of whatever length. Source: NVIDIA/Megatron-LM,
 * megatron/training/arguments.py. Flags of the model, the data and the optimizer are passed over; one about parallelism
 * that is not known is a problem.
 */

import { didYouMean } from '../../model/nearestName.ts';
import type { ContextExchange, ParallelRequest } from '../../model/scenario.ts';
import type { GroupResult } from '../scenarioGroups.ts';
import { degreesOf, type LayoutRequest, type Numbers } from './degrees.ts';

const counts = {
  'tensor-model-parallel-size': 'tensor',
  'pipeline-model-parallel-size': 'pipeline',
  'context-parallel-size': 'context',
  'expert-model-parallel-size': 'expert',
  'expert-tensor-parallel-size': 'expertTensor',
  'num-virtual-stages-per-pipeline-rank': 'chunks',
  'micro-batch-size': 'microBatch',
  'global-batch-size': 'globalBatch',
} as const satisfies Readonly<Record<string, keyof Numbers>>;

/** Needed for others. */
const helpers = [
  'num-layers-per-virtual-pipeline-stage',
  'num-layers',
  'nproc-per-node',
  'nnodes',
  'decoder-first-pipeline-num-layers',
  'decoder-last-pipeline-num-layers',
] as const;

const options: Readonly<Record<string, readonly [name: string, value: string]>> = {
  'use-distributed-optimizer': ['distributed-optimizer', 'true'],
  'overlap-grad-reduce': ['overlap-grad-reduce', 'true'],
  'overlap-param-gather': ['overlap-param-gather', 'true'],
  'accumulate-allreduce-grads-in-fp32': ['gradient-dtype', 'fp32'],
  'grad-reduce-in-bf16': ['gradient-dtype', 'half'],
  'tp-comm-overlap': ['tp-comm-overlap', 'true'],
  'no-gradient-accumulation-fusion': ['gradient-accumulation-fusion', 'false'],
};

const exchanges: Readonly<Record<string, ContextExchange>> = {
  p2p: 'ring',
  all_gather: 'all-gather',
  allgather: 'all-gather',
  a2a: 'all-to-all',
};

const dispatchers: readonly string[] = ['allgather', 'alltoall', 'flex'];

const others = [
  'moe-token-dispatcher-type',
  'sequence-parallel',
  'cp-comm-type',
  'recompute-activations',
  'recompute-granularity',
  'recompute-method',
  'recompute-modules',
] as const;
const known: readonly string[] = [...Object.keys(counts), ...helpers, ...Object.keys(options), ...others];
/** About parallelism, and without an effect on a step's cost. */
const idle: readonly string[] = ['use-tp-pp-dp-mapping', 'distributed-backend', 'recompute-num-layers'];

export const isMegatronText = (text: string): boolean =>
  /--(?:tensor|pipeline|expert)-model-parallel-size\b|--micro-batch-size\b/.test(text);

export function readMegatronFlags(text: string): GroupResult<LayoutRequest> {
  const flags = flagsOf(text);
  const problems: string[] = [];
  const numbers = new Map<string, number>();
  for (const [flag, value] of flags) {
    if (flag in counts || helpers.some((name) => name === flag)) {
      if (/^\d+$/.test(value) && Number(value) > 0) numbers.set(flag, Number(value));
      else problems.push(`\`${flag}\` takes a whole number from 1, not "${value}"`);
    } else if (!known.includes(flag) && !idle.includes(flag) && /parallel|pipeline|recompute/.test(flag))
      problems.push(`\`${flag}\` is not costed${didYouMean(flag, known) || '; leave it out'}`);
  }
  const exchange = flags.get('cp-comm-type');
  if (exchange !== undefined && exchanges[exchange] === undefined)
    problems.push(`\`cp-comm-type\` is ${Object.keys(exchanges).join(' or ')}, not "${exchange}"`);
  const dispatcher = flags.get('moe-token-dispatcher-type');
  if (dispatcher !== undefined && !dispatchers.includes(dispatcher))
    problems.push(`\`moe-token-dispatcher-type\` is ${dispatchers.join(' or ')}, not "${dispatcher}"`);
  if (dispatcher === 'allgather' && numbers.get('expert-model-parallel-size') !== undefined)
    problems.push('`moe-token-dispatcher-type allgather` is not costed; use alltoall, or flex');
  if (dispatcher === undefined && (numbers.get('expert-model-parallel-size') ?? 1) > 1)
    problems.push(
      'Without `moe-token-dispatcher-type` Megatron-LM gathers the rows of all GPUs, which is not costed; use alltoall, or flex',
    );
  const recompute = flags.get('recompute-granularity');
  const modules = flags.get('recompute-modules');
  if (recompute !== undefined && recompute !== 'full' && recompute !== 'selective')
    problems.push(`\`recompute-granularity\` is full or selective, not "${recompute}"`);
  if (modules !== undefined && modules !== 'core_attn')
    problems.push(
      `\`recompute-modules ${modules}\` is not costed; use core_attn, or recompute-granularity full`,
    );
  // Without a granularity nothing is computed again, but for the old name of the core alone (megatron/training/arguments.py).
  const checkpoint =
    recompute === 'full'
      ? 'block'
      : recompute === 'selective' || flags.has('recompute-activations')
        ? 'attention'
        : undefined;
  if (flags.get('recompute-method') === 'block')
    problems.push('`recompute-method block` recomputes some of the layers, which is not costed; use uniform');
  const chunks = chunksOf(numbers, problems);
  const [each, nodes] = [numbers.get('nproc-per-node'), numbers.get('nnodes')];
  const { value, problems: own } = degreesOf({
    ...Object.fromEntries(Object.entries(counts).map(([flag, name]) => [name, numbers.get(flag)])),
    ...(chunks === undefined ? {} : { chunks }),
    ...(each === undefined ? {} : { gpus: each * (nodes ?? 1) }),
  });
  const set = [
    ...Object.entries(options).flatMap(([flag, option]) => (flags.has(flag) ? [option] : [])),
    ...(dispatcher === 'flex' ? [['moe-token-dispatcher', 'flex'] as const] : []),
  ];
  const stages = stagesOf(numbers, value.parallel?.chunks ?? 1, problems);
  const parallel: ParallelRequest = {
    ...value.parallel,
    ...(stages === undefined ? {} : { stages }),
    ...(flags.has('sequence-parallel') ? { sequence: true } : {}),
    ...(exchange === undefined || exchanges[exchange] === undefined
      ? {}
      : { contextExchange: exchanges[exchange] }),
  };
  return {
    value: {
      ...value,
      parallel,
      framework: flags.has('use-torch-fsdp2')
        ? { name: 'pytorch-fsdp', options: {} }
        : { name: 'megatron', options: Object.fromEntries(set) },
      ...(checkpoint === undefined ? {} : { checkpoint }),
      ...(flags.has('bf16') ? { precision: 'bf16' } : flags.has('fp16') ? { precision: 'fp16' } : {}),
    },
    problems: [...problems, ...own],
  };
}

/** `--num-layers-per-virtual-pipeline-stage` says how many layers a chunk has, in place of how many chunks there are. */
function chunksOf(numbers: ReadonlyMap<string, number>, problems: string[]): number | undefined {
  const each = numbers.get('num-layers-per-virtual-pipeline-stage');
  if (each === undefined) return undefined;
  const layers = numbers.get('num-layers');
  const chunks =
    layers === undefined ? undefined : layers / ((numbers.get('pipeline-model-parallel-size') ?? 1) * each);
  if (chunks !== undefined && Number.isInteger(chunks)) return chunks;
  problems.push(
    layers === undefined
      ? '`num-layers-per-virtual-pipeline-stage` needs `num-layers`; give it, or `num-virtual-stages-per-pipeline-rank`'
      : `${layers} layers do not divide into chunks of ${each} on each pipeline rank; use another number`,
  );
  return undefined;
}

/**
 * Layers of the first and the last rank; those between have as many each. Source: NVIDIA/Megatron-LM,
 * megatron/core/transformer/transformer_block.py, `get_num_layers_to_build`.
 */
function stagesOf(
  numbers: ReadonlyMap<string, number>,
  chunks: number,
  problems: string[],
): readonly number[] | undefined {
  const [first, last] = [
    numbers.get('decoder-first-pipeline-num-layers'),
    numbers.get('decoder-last-pipeline-num-layers'),
  ];
  if (first === undefined && last === undefined) return undefined;
  const [layers, ranks] = [numbers.get('num-layers'), numbers.get('pipeline-model-parallel-size') ?? 1];
  if (layers === undefined) {
    problems.push('`decoder-first-pipeline-num-layers` and `-last-` need `num-layers`; give it');
    return undefined;
  }
  const given = [first, last].filter((own) => own !== undefined);
  const others = ranks - given.length;
  const rest = layers - given.reduce((total, own) => total + own, 0);
  if (others === 0 && rest !== 0)
    problems.push(`${layers} layers are not ${given.join(' + ')}; correct one of them`);
  const ofRanks = [
    ...(first === undefined ? [] : [first]),
    ...Array.from({ length: Math.max(0, others) }, () => rest / others),
    ...(last === undefined ? [] : [last]),
  ];
  const ofStages = Array.from({ length: chunks }, () => ofRanks.map((own) => own / chunks)).flat();
  if (ofStages.every((own) => Number.isInteger(own) && own > 0)) return ofStages;
  problems.push(
    `${layers} layers with ${first ?? 'as many'} on the first of ${ranks} pipeline ranks and ${last ?? 'as many'} on the last do not divide over the others${chunks === 1 ? '' : ` and ${chunks} chunks`}; use other numbers`,
  );
  return undefined;
}

/** Names without dashes; the value is '' where there is none. `--a=b`, `--a b` and lines that go on behind `\`. */
function flagsOf(text: string): ReadonlyMap<string, string> {
  const words = text.replaceAll(/\\\r?\n/g, ' ').split(/[\s=]+/);
  return new Map(
    words.flatMap((word, index) => {
      if (!word.startsWith('--')) return [];
      const next = words[index + 1] ?? '';
      return [[word.slice(2).replaceAll('_', '-'), next.startsWith('--') ? '' : next] as const];
    }),
  );
}
