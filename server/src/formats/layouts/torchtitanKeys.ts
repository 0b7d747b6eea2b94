/**
 * The keys of torchtitan that lay a step out, from its TOML file or its command line. Source: pytorch/torchtitan 000204a4,
 * torchtitan/config/job_config.py. Keys of the model, the data and the optimizer are passed over.
 */

import { didYouMean } from '../../model/nearestName.ts';
import { pytorchSchedules, scheduleOfPytorch, stagesOfTorchtitan } from '../../model/pytorchSchedules.ts';
import type { Checkpoint, ParallelRequest } from '../../model/scenario.ts';
import type { GroupResult } from '../scenarioGroups.ts';
import { degreesOf, type LayoutRequest } from './degrees.ts';

const keys = [
  'tensor_parallel_degree',
  'pipeline_parallel_degree',
  'context_parallel_degree',
  'expert_parallel_degree',
  'data_parallel_shard_degree',
  'data_parallel_replicate_degree',
  'pipeline_parallel_schedule',
  'pipeline_parallel_microbatch_size',
  'fsdp_reshard_after_forward',
  'enable_async_tensor_parallel',
  'local_batch_size',
  'global_batch_size',
] as const;
type Key = (typeof keys)[number];

const checkpoints: Readonly<Record<string, Checkpoint>> = {
  none: 'none',
  full: 'block',
};

/** What `selective` means, by `selective_ac_option`: torchtitan/config/job_config.py, whose default is every second layer. */
const selections: Readonly<Record<string, Checkpoint>> = {
  op: 'alternate',
  '2': 'alternate-block',
  '1': 'block',
};

export const isTorchtitanText = (text: string): boolean =>
  /\b(?:tensor|pipeline|context|expert)_parallel_degree\b|\bdata_parallel_(?:shard|replicate)_degree\b/.test(
    text,
  );

export function readTorchtitanKeys(text: string): GroupResult<LayoutRequest> {
  const given = pairsOf(text);
  const problems: string[] = [];
  for (const name of given.keys()) {
    const last = name.split('.').at(-1) ?? name;
    if (!isKey(last) && /_degree$|pipeline_parallel_(?!split|csv)/.test(last))
      problems.push(`\`${last}\` is not costed${didYouMean(last, keys) || '; leave it out'}`);
  }
  const textOf = (key: Key): string | undefined =>
    [...given].find(([name]) => name.split('.').at(-1) === key)?.[1];
  /** -1 says that it follows from others. */
  const countOf = (key: Key): number | undefined => {
    const value = textOf(key);
    if (value === undefined || value === '-1') return undefined;
    if (/^\d+$/.test(value) && Number(value) > 0) return Number(value);
    problems.push(`\`${key}\` takes a whole number from 1, not "${value}"`);
    return undefined;
  };
  const pipeline = countOf('pipeline_parallel_degree');
  const [shard, replicate] = [
    countOf('data_parallel_shard_degree'),
    countOf('data_parallel_replicate_degree'),
  ];
  const local = countOf('local_batch_size');
  const microBatch =
    (pipeline ?? 1) > 1
      ? (countOf('pipeline_parallel_microbatch_size') ?? (local === undefined ? undefined : 1))
      : local;
  const replicas = shard === undefined ? undefined : shard * (replicate ?? 1);
  const globalBatch =
    countOf('global_batch_size') ??
    (local === undefined || replicas === undefined ? undefined : local * replicas);
  const { value, problems: own } = degreesOf({
    tensor: countOf('tensor_parallel_degree'),
    pipeline,
    context: countOf('context_parallel_degree'),
    expert: countOf('expert_parallel_degree'),
    replicas,
    microBatch,
    globalBatch,
  });
  const asked = textOf('pipeline_parallel_schedule');
  const schedule = asked === undefined ? undefined : scheduleOfPytorch(asked);
  if (asked !== undefined && schedule === undefined)
    problems.push(
      `\`pipeline_parallel_schedule\` "${asked}" is not costed; use ${Object.values(pytorchSchedules).join(' or ')}`,
    );
  const mode = given.get('activation_checkpoint.mode');
  const selection = given.get('activation_checkpoint.selective_ac_option') ?? '2';
  const checkpoint =
    mode === undefined ? undefined : mode === 'selective' ? selections[selection] : checkpoints[mode];
  if (mode !== undefined && mode !== 'selective' && checkpoint === undefined)
    problems.push(`\`activation_checkpoint.mode\` is none or full or selective, not "${mode}"`);
  if (mode === 'selective' && checkpoint === undefined)
    problems.push(`\`selective_ac_option\` "${selection}" is not costed; use op or 2`);
  const reshard = textOf('fsdp_reshard_after_forward');
  const parallel: ParallelRequest = {
    ...value.parallel,
    ...(schedule === undefined || (pipeline ?? 1) === 1
      ? {}
      : { schedule, ...(schedule === 'zb-h1' ? { chunks: stagesOfTorchtitan(schedule) } : {}) }),
  };
  return {
    value: {
      ...value,
      parallel,
      // Copies alone are those of DistributedDataParallel (torchtitan/models/llama3/infra/parallelize.py).
      framework:
        shard === 1 && (replicate ?? 1) > 1
          ? { name: 'pytorch-ddp', options: {} }
          : {
              name: 'torchtitan',
              options: {
                ...((replicate ?? 1) > 1 ? { sharding: 'hybrid' } : {}),
                ...(reshard === undefined ? {} : { 'reshard-after-forward': reshard }),
                ...(textOf('enable_async_tensor_parallel') === 'true'
                  ? { 'async-tensor-parallel': 'true', compile: 'true' }
                  : {}),
              },
            },
      ...(checkpoint === undefined ? {} : { checkpoint }),
    },
    problems: [...problems, ...own],
  };
}

const isKey = (name: string): name is Key => keys.some((key) => key === name);

/** `key = value` under `[section]`, `--section.key value` or `--section.key=value`; comments are passed over. */
function pairsOf(text: string): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  let section = '';
  for (const line of text.replaceAll(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    const bare = line.replace(/#.*$/, '').trim();
    const [, head] = /^\[([\w.]+)\]$/.exec(bare) ?? [];
    if (head !== undefined) section = `${head}.`;
    else if (bare.includes('--'))
      for (const [, name = '', value = ''] of bare.matchAll(/--([\w.]+)(?:\s*=\s*|\s+)([^\s]+)/g))
        pairs.set(name, unquoted(value));
    else
      for (const [, name = '', value = ''] of bare.matchAll(/([\w.]+)\s*=\s*("[^"]*"|'[^']*'|[^\s,]+)/g))
        pairs.set(`${section}${name}`, unquoted(value));
  }
  return pairs;
}

const unquoted = (text: string): string => text.replace(/^(["'])(.*)\1$/, '$2');
