/**
 * The settings under `layercost.`: one schema, from which the types come. The manifest declares the same keys;
 * a test compares them. A wrong value falls back to its default, and is named in the log.
 */

import { z } from 'zod';
import { type DeviceChoice, isDeviceChoice } from '../benchmark/deviceChoice.ts';
import { readFrameworkText } from '../formats/frameworkText.ts';
import {
  type GroupResult,
  readInputGroup,
  readLoraGroup,
  readParallelGroup,
  readRunGroup,
  readWorkersGroup,
} from '../formats/scenarioGroups.ts';
import { defaultFramework } from '../frameworks/registry.ts';
import { thresholdNames } from '../model/findingThresholds.ts';
import {
  checkpoints,
  isFrameworkPath,
  lossChoices,
  modes,
  optimizers,
  precisions,
  type ScenarioRequest,
} from '../model/scenario.ts';

const count = z.number().int().positive().nullable();

/** Numbers of a scenario that belong together, by the names that the command line and layer specs give them; none: not given. */
const group = (read: (text: string) => GroupResult<unknown>) =>
  z
    .record(z.string(), z.union([z.number(), z.string()]))
    .superRefine((pairs, context) => {
      if (isEmpty(pairs)) return;
      for (const message of read(asPairs(pairs)).problems) context.addIssue({ code: 'custom', message });
    })
    .default({});

type Group = Readonly<Record<string, number | string>>;
const isEmpty = (pairs: object): boolean => Object.keys(pairs).length === 0;
const asPairs = (pairs: Group): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

/** Settings of a scenario, which an entry of `models` has too. */
export const scenarioShape = {
  /** Name of a built-in cluster or GPU, or the path of a user's profile. */
  cluster: z.string().default('dgx-h100'),
  /** `null`: as many as the GPUs need. */
  nodes: count.default(null),
  /** In all; `null`: one whole node. */
  gpus: count.default(null),
  /** Samples per GPU; `null`: the model's own, or 1. */
  batch: count.default(null),
  /** Values of symbolic dimensions, by name. */
  dimensions: z.record(z.string(), z.number().int().nonnegative()).default({}),
  /** `auto`: what people train in with the framework on the GPU. */
  precision: z.enum(['auto', ...precisions]).default('auto'),
  optimizer: z.enum(optimizers).default('adamw'),
  /** Name, or the path of a user's description, then options: `pytorch-ddp,bucket-mb=50`. */
  framework: z
    .string()
    .superRefine((text, context) => {
      for (const { message } of readFrameworkText(text).problems)
        context.addIssue({ code: 'custom', message });
    })
    .default(defaultFramework.name),
  mode: z.enum(modes).default('training'),
  /** Tokens in the cache of a decode step; `null`: a pass without a cache. */
  past: count.default(null),
  checkpoint: z.enum(checkpoints).default('none'),
  loss: z.enum(lossChoices).default('auto'),
  /** Patterns of parameters that are not trained. */
  freeze: z.array(z.string()).default([]),
  /** Samples per step over all GPUs, in the place of `batch`; `null`: as many as the GPUs take. */
  globalBatch: count.default(null),
  /** Passes of one step; `null`: one. */
  accumulate: count.default(null),
  input: group(readInputGroup),
  workers: group(readWorkersGroup),
  parallel: group(readParallelGroup),
  run: group(readRunGroup),
  lora: group(readLoraGroup),
} as const;

export const settingsShape = {
  ...scenarioShape,
  /** What one model is costed for, by the end of its path: `{ "models/bert.onnx": { "batch": 8 } }`. */
  models: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
  /** From where on something is a finding, by name. */
  'findings.thresholds': z.partialRecord(z.enum(thresholdNames), z.number().min(0).max(1)).default({}),
  /** What marks in the gutter show; read by the client. */
  heat: z.enum(['time', 'memory', 'exposed', 'off']).default('time'),
  'hints.cost': z.boolean().default(true),
  /** The shape of what a layer gives. */
  'hints.shape': z.boolean().default(false),
  /** Column where hints end so that a window of 1,280 pixels shows them beside the explorer and the minimap; 0: anywhere. */
  'hints.lastColumn': z.number().int().nonnegative().default(88),
  /** All hints; the name this setting had before there were two kinds. */
  'hints.enabled': z.boolean().default(true),
  /** Interpreter for the benchmark; '' for the first that is found. */
  'benchmark.python': z.string().default(''),
  /** Words that reach Python on another machine. */
  'benchmark.launcher': z.array(z.string()).default([]),
  'benchmark.device': z
    .custom<DeviceChoice>(
      (value) => typeof value === 'string' && isDeviceChoice(value),
      'it is auto, cuda, cuda:0, cuda:1 and so on, mps, xpu or cpu',
    )
    .default('auto'),
  /** Costs a model of Python again where its script is saved; read by the client. */
  'export.onSave': z.boolean().default(false),
  /** Read by the client's library. */
  'trace.server': z.enum(['off', 'messages', 'verbose']).default('off'),
} as const;

const settingsSchema = z.object(settingsShape);
export type Settings = z.infer<typeof settingsSchema>;

export const defaultSettings: Settings = settingsSchema.parse({});

/** Reads what an editor sends for the section: nested objects, keys possibly absent or `null`. */
export function readSettings(sent: unknown): { settings: Settings; problems: readonly string[] } {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(settingsShape)) {
    const value = valueAt(sent, key.split('.'));
    if (value === undefined) continue;
    const read = schema.safeParse(value);
    if (read.success) values[key] = read.data;
    else {
      const reasons = read.error.issues.filter(({ code }) => code === 'custom');
      const why = reasons.map(({ message }) => `: ${message}`).join('');
      problems.push(
        `setting layercost.${key} has an invalid value (${JSON.stringify(value)})${why}; its default is used`,
      );
    }
  }
  return { settings: settingsSchema.parse(values), problems };
}

/**
 * The settings as they hold for the file at `path`: of the entries of `models` that name the end of it, the longest.
 * A problem keeps its key out of the entry, and the others in.
 */
export function settingsForModel(
  settings: Settings,
  path: string,
): { settings: Settings; problems: readonly string[] } {
  const ends = (name: string): boolean => `/${path}`.endsWith(`/${name.replace(/^\/+/, '')}`);
  const named = Object.keys(settings.models).filter((name) => name !== '' && ends(name));
  const [name] = named.sort((left, right) => right.length - left.length);
  const entry = name === undefined ? undefined : settings.models[name];
  return entry === undefined
    ? { settings, problems: [] }
    : withScenario(settings, entry, `models["${name}"].`);
}

/** The settings with these keys of a scenario in place of their own; dimensions add to those that are set. */
export function withScenario(
  settings: Settings,
  entry: Readonly<Record<string, unknown>>,
  prefix = '',
): { settings: Settings; problems: readonly string[] } {
  const problems: string[] = [];
  const own: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(entry)) {
    const schema = Object.entries(scenarioShape).find(([known]) => known === key)?.[1];
    const read = schema?.safeParse(value);
    // A workspace that is not trusted sets this too, so it names no files.
    const isPath =
      (key === 'cluster' || key === 'framework') && isFrameworkPath(String(value).split(',')[0] ?? '');
    if (read?.success === true && !isPath) own[key] = read.data;
    else problems.push(`setting layercost.${prefix}${key} ${problemOf(schema === undefined, isPath, value)}`);
  }
  const changed = settingsSchema.parse({ ...settings, ...own });
  const dimensions = { ...settings.dimensions, ...('dimensions' in own ? changed.dimensions : {}) };
  return { settings: { ...changed, dimensions }, problems };
}

function problemOf(isUnknown: boolean, isPath: boolean, value: unknown): string {
  if (isUnknown) return 'is not known; it is ignored';
  const text = JSON.stringify(value);
  return isPath
    ? `names a file (${text}), which only the setting for all models may; it is ignored: give a built-in name here`
    : `has an invalid value (${text}); it is ignored`;
}

/** What the settings ask for; a layer spec's own scenario goes before it. */
export function scenarioOfSettings(settings: Settings): ScenarioRequest {
  const input = groupOf(settings.input, readInputGroup);
  const workers = groupOf(settings.workers, readWorkersGroup);
  const parallel = groupOf(settings.parallel, readParallelGroup);
  const run = groupOf(settings.run, readRunGroup);
  const lora = groupOf(settings.lora, readLoraGroup);
  return {
    cluster: settings.cluster,
    ...(settings.nodes === null ? {} : { nodes: settings.nodes }),
    ...(settings.gpus === null ? {} : { gpus: settings.gpus }),
    ...(settings.batch === null ? {} : { batch: settings.batch }),
    ...(settings.globalBatch === null ? {} : { globalBatch: settings.globalBatch }),
    ...(Object.keys(settings.dimensions).length === 0 ? {} : { dimensions: settings.dimensions }),
    ...(settings.precision === 'auto' ? {} : { precision: settings.precision }),
    optimizer: settings.optimizer,
    framework: readFrameworkText(settings.framework).choice ?? defaultFramework,
    mode: settings.mode,
    ...(settings.past === null ? {} : { past: settings.past }),
    ...(settings.accumulate === null ? {} : { accumulate: settings.accumulate }),
    // A default is no request: marks of layers hold.
    ...(settings.checkpoint === 'none' ? {} : { checkpoint: settings.checkpoint }),
    ...(settings.loss === 'auto' ? {} : { loss: settings.loss }),
    ...(settings.freeze.length === 0 ? {} : { freeze: settings.freeze }),
    ...(lora === undefined ? {} : { lora }),
    ...(parallel === undefined ? {} : { parallel }),
    ...(input === undefined ? {} : { input }),
    ...(workers === undefined ? {} : { workers }),
    ...(run === undefined ? {} : { run }),
    ...(Object.keys(settings['findings.thresholds']).length === 0
      ? {}
      : { thresholds: settings['findings.thresholds'] }),
  };
}

const groupOf = <Value>(pairs: Group, read: (text: string) => GroupResult<Value>): Value | undefined =>
  isEmpty(pairs) ? undefined : read(asPairs(pairs)).value;

function valueAt(sent: unknown, path: readonly string[]): unknown {
  let value = sent;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.entries(value).find(([key]) => key === step)?.[1];
  }
  return value;
}
