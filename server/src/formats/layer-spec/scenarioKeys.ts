/** The keys of the `scenario` of a layer spec. */

import { checkpoints, lossChoices, modes, optimizers, precisions } from '../../model/scenario.ts';

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
