/** Reads the `scenario` of a layer spec: the command line's options, by the same names. */

import {
  isShare,
  isThresholdName,
  type ThresholdName,
  type Thresholds,
  thresholdNames,
} from '../../model/findingThresholds.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import { didYouMean, likelyName, nearestName } from '../../model/nearestName.ts';
import { meantPrecision } from '../../model/precisionNames.ts';
import {
  checkpoints,
  lossChoices,
  modes,
  optimizers,
  precisions,
  type ScenarioRequest,
} from '../../model/scenario.ts';
import { besideBatch, type LayoutRequest } from '../layouts/degrees.ts';
import { readLayoutText } from '../layouts/readLayoutText.ts';
import {
  type GroupResult,
  readInputGroup,
  readLoraGroup,
  readPatterns,
  readRunGroup,
  readWorkersGroup,
} from '../scenarioGroups.ts';
import { readScenarioFramework } from './readFramework.ts';
import { scalarValue, type YamlEntry } from './yamlTree.ts';

/** Keys of a scenario and what each takes; also the source of the JSON schema. */
export const scenarioKeys = {
  cluster: {
    kind: 'text',
    documentation: 'Name of a cluster or GPU profile; completion lists them, and `layercost clusters`.',
  },
  nodes: { kind: 'count', documentation: 'Machines used.' },
  gpus: { kind: 'count', documentation: 'Total number of GPUs.' },
  batch: { kind: 'count', documentation: 'Samples per GPU and step.' },
  precision: { kind: precisions, documentation: 'Number format; fp16 and bf16 mean mixed precision.' },
  optimizer: { kind: optimizers, documentation: 'Optimizer; it determines the state kept per parameter.' },
  framework: {
    kind: 'framework',
    documentation:
      'Name of a framework, with options: `pytorch-ddp,bucket-mb=50` or `{ name: pytorch-ddp, bucket-mb: 50 }`; or a YAML file beside this one that describes your own.',
  },
  mode: { kind: modes, documentation: 'Training or inference.' },
  past: {
    kind: 'count',
    documentation:
      'In inference: tokens in the cache of keys and values. Costs are of a decode step, one new token for each sequence.',
  },
  accumulate: {
    kind: 'count',
    documentation: 'Gradient accumulation: passes per step, whose gradients are summed before the update.',
  },
  checkpoint: {
    kind: checkpoints,
    documentation:
      'What repeated blocks keep for backward: all activations (none), their inputs (block), the outputs of all matmuls too (selective) or of every second one (alternate), all of every other block (alternate-block), or all but the core of attention (attention).',
  },
  parallel: {
    kind: 'group',
    documentation:
      'GPUs that share a copy of the model: `tp=8,cp=2,ep=8,pp=4`, with `sp`, `cp-comm=ring`, `micro-batch=1`, `schedule=1f1b`, `stages=balanced`.',
  },
  loss: {
    kind: lossChoices,
    documentation:
      'The loss of a model that has none: cross-entropy behind the logits of tokens (`auto`) or behind the last output that has classes (`cross-entropy`), the same in fp32 of a model that returns its logits too (`with-logits`), of these as they are (`with-logits-uncast`), or `none`.',
  },
  freeze: {
    kind: 'group',
    documentation:
      'Parameters or modules that are not trained, by name: `encoder, !encoder.*.lora_*`. `*` stands for any characters; `!` takes out again.',
  },
  lora: {
    kind: 'group or count',
    documentation:
      'Low-rank adapters beside linear layers, trained instead of all else: a rank such as `16`, or `rank=16,layers=q_proj+v_proj,dropout=0.05`.',
  },
  thresholds: {
    kind: 'thresholds',
    documentation:
      'Thresholds above which a finding is reported: `exposed-communication=0.1,low-efficiency=0.5`.',
  },
  'global-batch': { kind: 'count', documentation: 'Samples per step over all GPUs; replaces `batch`.' },
  input: {
    kind: 'group',
    documentation: 'Input pipeline: `sample-bytes=110000,decode-rate=200`, `source=local`, `read-gbs=2`.',
  },
  workers: {
    kind: 'group',
    documentation:
      'Variation between workers: `imbalance=1.1`, `spread=0.05`, `straggler=2`, `other-gpu=k80,other-count=4`.',
  },
  run: {
    kind: 'group',
    documentation:
      'A whole run: `samples=1281167,epochs=90`, `start-seconds=60`, `price=2.5` US dollars per GPU-hour, or a kind of price: `on-demand`, `spot`.',
  },
} as const;

/** The scenario, where each value and each key stands, and issues for what it does not take. */
export function readScenario(
  entries: readonly YamlEntry[],
  issues: Issue[],
): {
  readonly scenario: ScenarioRequest;
  readonly spans: ReadonlyMap<string, TextSpan>;
  readonly keySpans: ReadonlyMap<string, TextSpan>;
} {
  const scenario: { -readonly [Key in keyof ScenarioRequest]: ScenarioRequest[Key] } = {};
  const spans = new Map<string, TextSpan>();
  const keySpans = new Map<string, TextSpan>();
  let layout: LayoutRequest | undefined;
  for (const { key: writtenKey, value } of entries) {
    let key = writtenKey;
    const report = (message: string, span: TextSpan) =>
      issues.push({ code: 'spec/scenario', severity: 'error', message, span });
    const known = Object.keys(scenarioKeys);
    if (!known.includes(key.text)) {
      const near =
        key.text === 'dims' ? '; write it at the top level, beside `layers`' : didYouMean(key.text, known);
      report(`\`${key.text}\` is not a key of the scenario${near}`, key.span);
      const meant = likelyName(key.text, known);
      if (meant === undefined || entries.some((entry) => entry.key.text === meant)) continue;
      key = { ...key, text: meant };
    }
    keySpans.set(key.text, key.span);
    if (value?.kind === 'unreadable') continue;
    if (key.text === 'framework' && (value?.kind === 'map' || value?.kind === 'scalar')) {
      const framework = readScenarioFramework(value, report);
      assign(scenario, 'framework', framework.choice);
      spans.set('framework', value.span);
      for (const [name, span] of framework.spans) spans.set(name, span);
      continue;
    }
    const span = value?.span ?? key.span;
    const content = value?.kind === 'scalar' ? scalarValue(value) : undefined;
    if (typeof content !== 'string' && typeof content !== 'number') {
      report(`\`${key.text}\` ${takes[key.text] ?? 'takes one word or number'}`, span);
      continue;
    }
    spans.set(key.text === 'global-batch' ? 'globalBatch' : key.text, span);
    const choose = <Choice extends string>(choices: readonly Choice[]): Choice | undefined => {
      const chosen = choices.find((choice) => choice === content);
      if (chosen === undefined) {
        const near =
          key.text === 'precision' ? meantPrecision(String(content)) : nearestName(String(content), choices);
        const hint = near === undefined ? '' : `; did you mean \`${near}\`?`;
        report(`\`${key.text}\` is one of ${choices.join(', ')}, not \`${content}\`${hint}`, span);
      }
      return chosen;
    };
    const accepted = <Group>({ value: group, problems }: GroupResult<Group>): Group | undefined => {
      for (const problem of problems) report(problem, span);
      return problems.length === 0 ? group : undefined;
    };
    switch (key.text) {
      case 'cluster':
        scenario.cluster = String(content);
        break;
      case 'nodes':
      case 'gpus':
      case 'batch':
      case 'accumulate':
      case 'past':
        if (typeof content === 'number' && Number.isSafeInteger(content) && content > 0) {
          scenario[key.text] = content;
        } else {
          report(`\`${key.text}\` is a whole number above 0, not \`${content}\``, span);
        }
        break;
      case 'global-batch':
        if (typeof content === 'number' && Number.isSafeInteger(content) && content > 0) {
          scenario.globalBatch = content;
        } else {
          report(`\`global-batch\` is a whole number above 0, not \`${content}\``, span);
        }
        break;
      case 'input':
        assign(scenario, 'input', accepted(readInputGroup(String(content))));
        break;
      case 'workers':
        assign(scenario, 'workers', accepted(readWorkersGroup(String(content))));
        break;
      case 'parallel':
        layout = accepted(readLayoutText(String(content)));
        break;
      case 'run':
        assign(scenario, 'run', accepted(readRunGroup(String(content))));
        break;
      case 'precision':
        assign(scenario, 'precision', choose(precisions));
        break;
      case 'optimizer':
        assign(scenario, 'optimizer', choose(optimizers));
        break;
      case 'mode':
        assign(scenario, 'mode', choose(modes));
        break;
      case 'checkpoint':
        assign(scenario, 'checkpoint', choose(checkpoints));
        break;
      case 'loss':
        assign(scenario, 'loss', choose(lossChoices));
        break;
      case 'freeze':
        scenario.freeze = readPatterns(String(content));
        break;
      case 'lora':
        assign(scenario, 'lora', accepted(readLoraGroup(String(content))));
        break;
      case 'thresholds':
        assign(
          scenario,
          'thresholds',
          readThresholds(String(content), (message) => report(message, span)),
        );
        break;
      default:
        break;
    }
  }
  return { scenario: withLayout(scenario, layout, spans), spans, keySpans };
}

/** What comes with a layout (GPUs, the batch, the framework) counts where no key says otherwise. */
function withLayout(
  scenario: ScenarioRequest,
  layout: LayoutRequest | undefined,
  spans: Map<string, TextSpan>,
): ScenarioRequest {
  if (layout === undefined) return scenario;
  const own = besideBatch(layout, scenario.batch);
  const span = spans.get('parallel');
  for (const key of Object.keys(own)) if (span !== undefined && !spans.has(key)) spans.set(key, span);
  return { ...own, ...scenario };
}

function assign<Target, Key extends keyof Target>(
  target: Target,
  key: Key,
  value: Target[Key] | undefined,
): void {
  if (value !== undefined) target[key] = value;
}

function readThresholds(text: string, report: (message: string) => void): Thresholds {
  const thresholds: Partial<Record<ThresholdName, number>> = {};
  for (const pair of text.split(',')) {
    const [name = '', value = ''] = pair.split('=').map((part) => part.trim());
    const share = value === '' ? Number.NaN : Number(value);
    if (!isThresholdName(name)) {
      report(`\`${name}\` is not the name of a threshold${didYouMean(name, thresholdNames)}`);
    } else if (isShare(share)) thresholds[name] = share;
    else report(`\`${name}\` takes a fraction from 0 to 1, such as \`${name}=0.1\``);
  }
  return thresholds;
}

/** Where a list or a map stands for what is written in one piece. */
const takes: Readonly<Record<string, string>> = {
  framework:
    'is a name, or a name with options: `pytorch-ddp,bucket-mb=50` or `{ name: pytorch-ddp, bucket-mb: 50 }`',
  parallel: 'is written in one piece, such as `parallel: "tp=4,pp=2,sp"`',
  lora: 'is a rank, or is written in one piece, such as `lora: "rank=16,layers=q_proj+v_proj"`',
};
