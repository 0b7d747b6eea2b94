/** A scenario as an agent gives it: the options of the command line by their names, with the types of JSON. */

import { z } from 'zod';
import { scenarioOptionsOf } from '../../check/scenarioOptionsOf.ts';
import { checkpoints, lossChoices, modes, optimizers, precisions } from '../../model/scenario.ts';
import { wholeNumber } from '../optionValues.ts';
import { parseOptions } from '../parseOptions.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from '../scenarioArguments.ts';

const count = z.int().positive();
const names = z.union([z.string(), z.record(z.string(), z.union([z.string(), z.number()]))]);

export const scenarioSchema = z
  .strictObject({
    cluster: z
      .string()
      .describe('A built-in cluster or GPU (see the tool clusters), or path of a JSON profile'),
    gpus: count.describe('GPUs in all'),
    nodes: count.describe('Nodes that hold them'),
    batch: count.describe('Samples per GPU and pass'),
    'global-batch': count.describe('Samples over all GPUs and passes, instead of batch'),
    accumulate: count.describe('Passes per step: gradient accumulation'),
    dim: z.record(z.string(), count).describe('Values of symbolic dimensions, such as {"sequence": 2048}'),
    precision: z.enum(precisions).describe('fp16 and bf16 are mixed precision'),
    optimizer: z.enum(optimizers),
    framework: z
      .string()
      .describe('With its options, such as pytorch-ddp,bucket-mb=50 or pytorch-fsdp; or path of a YAML file'),
    mode: z.enum(modes),
    past: count.describe('In inference: tokens in the cache of a decode step, one new token per sequence'),
    'measured-step': z.number().positive().describe('Seconds of a step on one GPU, measured'),
    'layer-trace': z.string().describe('Path of a CSV file with measured times of layers'),
    checkpoint: z.enum(checkpoints).describe('What repeated blocks keep for backward'),
    parallel: names.describe(
      'GPUs that share a copy of the model, such as {"tp": 8, "cp": 2, "pp": 4, "sp": "on"}',
    ),
    loss: z.enum(lossChoices),
    freeze: z.array(z.string()).describe('Patterns of parameters that are not trained'),
    lora: names.describe(
      'Low-rank adapters, trained alone, such as {"rank": 16, "layers": "q_proj+v_proj"}; "base": "nf4" keeps frozen layers in 4 bits',
    ),
    threshold: z.record(z.string(), z.number()).describe('Fractions above which findings are reported'),
    input: names.describe('Input pipeline, such as {"sample-bytes": 110000, "decode-rate": 400}'),
    workers: names.describe('Variation of workers, such as {"imbalance": 1.1}'),
    run: names.describe('A whole run, such as {"samples": 1281167, "epochs": 90}: adds its time and price'),
  })
  .partial();

export type GivenScenario = z.infer<typeof scenarioSchema>;

/** Throws `WrongArgument` where a value is not one of its option. */
export function readGivenScenario(given: GivenScenario): ScenarioArguments {
  const present = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );
  const words = scenarioOptionsOf(present).map(({ name, value }) => `--${name}=${value}`);
  const { values } = parseOptions(words, scenarioOptions);
  return readScenario(values, wholeNumber('--gpus', values.gpus, 1));
}
