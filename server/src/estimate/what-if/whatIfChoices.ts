/** What can be tried of a scenario: each key with its value now and the values that make sense on this cluster. */

import { printFramework } from '../../formats/frameworkText.ts';
import { printGroup } from '../../formats/scenarioGroups.ts';
import { frameworks } from '../../frameworks/registry.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { builtInClusters } from '../../hardware/clusters.ts';
import { deviceNoun } from '../../model/deviceNoun.ts';
import { checkpoints, type Precision, precisions, type Scenario } from '../../model/scenario.ts';
import type { ModelEstimate } from '../estimateModel.ts';
import { gpuCounts } from '../scaling/gpuCounts.ts';

/** Keys of `ScenarioChange`. */
export type TriedKey = 'cluster' | 'gpus' | 'batch' | 'precision' | 'framework' | 'checkpoint' | 'lora';

export interface WhatIfChoice {
  readonly key: TriedKey;
  readonly title: string;
  readonly value: string;
  /** In the order to show; the value of now is among them, unless any text can be written. */
  readonly options: readonly WhatIfOption[];
  /** Numbers are moved along; of names one is picked; a framework is written with its options. */
  readonly kind: 'number' | 'name' | 'text';
  /** What an empty text means. */
  readonly empty?: string;
}

export interface WhatIfOption {
  readonly value: string;
  readonly label: string;
}

/** Nothing where there is no scenario. */
export function whatIfChoices({ scenario, cluster, cost, opened }: ModelEstimate): readonly WhatIfChoice[] {
  if (scenario === undefined || cluster === undefined) return [];
  const isTraining = scenario.mode === 'training';
  const device = deviceNoun(cluster.gpu);
  const hasBatch = opened.analysis?.batchSymbol !== undefined;
  return [
    nameChoice('cluster', 'Cluster', scenario.cluster, clusterOptions(cluster)),
    numberChoice('gpus', `${device}s`, scenario.gpus, gpuCounts(cluster, scenario.gpus)),
    ...(hasBatch
      ? [
          numberChoice(
            'batch',
            `Batch per ${device}`,
            scenario.batchPerGpu,
            batches(scenario, cost?.totals.memory.largestBatch ?? null),
          ),
        ]
      : []),
    nameChoice('precision', 'Precision', scenario.precision, precisionOptions(scenario, cluster)),
    ...(isTraining
      ? [
          {
            key: 'framework',
            title: 'Framework and options',
            value: printFramework(scenario.framework),
            options: frameworks.map(({ name }) => ({ value: name, label: name })),
            kind: 'text',
          } as const,
          nameChoice(
            'checkpoint',
            'Checkpointing',
            scenario.checkpoint ?? 'none',
            checkpoints.map((name) => ({ value: name, label: name })),
          ),
          loraChoice(scenario.lora),
        ]
      : []),
  ];
}

/** Ranks that people take, and how layers and a base in 4 bits are written. */
const loraTexts = ['8', '16', '64', 'rank=16,layers=q_proj+v_proj', 'rank=16,base=nf4'];

const loraChoice = (lora: Scenario['lora']): WhatIfChoice => ({
  key: 'lora',
  title: 'LoRA: rank and options',
  value: lora === undefined ? '' : loraText(lora),
  options: loraTexts.map((value) => ({ value, label: value })),
  kind: 'text',
  empty: 'none: all weights are trained',
});

/** As `--lora` is written: `16`, or `rank=16,layers=q_proj+v_proj`. */
function loraText({ rank, layers, ...others }: NonNullable<Scenario['lora']>): string {
  const pairs = { rank, ...(layers === undefined ? {} : { layers: layers.join('+') }), ...others };
  return Object.keys(pairs).length === 1 ? String(rank) : printGroup(pairs);
}

function nameChoice(
  key: TriedKey,
  title: string,
  value: string,
  options: readonly WhatIfOption[],
): WhatIfChoice {
  return { key, title, value, options, kind: 'name' };
}

function numberChoice(key: TriedKey, title: string, value: number, values: readonly number[]): WhatIfChoice {
  const options = [...new Set([...values, value])]
    .sort((one, other) => one - other)
    .map((each) => ({ value: String(each), label: String(each) }));
  return { key, title, value: String(value), options, kind: 'number' };
}

/** A person's own before all, then clusters and then single GPUs, the newest first. */
function clusterOptions(cluster: ClusterProfile): readonly WhatIfOption[] {
  const newest = [...builtInClusters].reverse();
  const isAlone = ({ name, gpu }: ClusterProfile): boolean => name === gpu.name;
  const own = newest.some(({ name }) => name === cluster.name) ? [] : [cluster];
  return [...own, ...newest.filter((each) => !isAlone(each)), ...newest.filter(isAlone)].map(
    ({ name, title }) => ({ value: name, label: `${name}: ${title}` }),
  );
}

/** Powers of two up to the largest batch that fits, or twice the batch of now. */
function batches({ batchPerGpu }: Scenario, largest: number | null): readonly number[] {
  const most = Math.max(2 * batchPerGpu, largest ?? 0);
  const values: number[] = [];
  for (let batch = 1; batch <= most && values.length < mostBatches; batch *= 2) values.push(batch);
  return largest !== null && largest > 0 ? [...values, largest] : values;
}

const mostBatches = 20;

/** Those that the GPU computes in, and the one of now. */
const precisionOptions = ({ precision }: Scenario, { gpu }: ClusterProfile): readonly WhatIfOption[] =>
  precisions
    .filter((each: Precision) => each === precision || gpu.peak.get(each) !== undefined)
    .map((name) => ({ value: name, label: name }));
