/** Random models under random scenarios, each with the command line that costs it. */

import fc from 'fast-check';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { readFrameworkDescription } from '../../server/src/formats/framework/readFrameworkDescription.ts';
import { refusedOptimizer } from '../../server/src/frameworks/optimizers/optimizerRules.ts';
import { frameworks, optimizerRules } from '../../server/src/frameworks/registry.ts';
import { builtInClusters } from '../../server/src/hardware/clusters.ts';
import { builtInGpus } from '../../server/src/hardware/gpus.ts';
import { priceKinds } from '../../server/src/model/price.ts';
import {
  checkpoints,
  type FrameworkChoice,
  type InputScenario,
  type Optimizer,
  optimizers,
  precisions,
  type RunRequest,
  type ScenarioRequest,
} from '../../server/src/model/scenario.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';

/** A model to cost: a text that was drawn, or a file of the project. */
export type DrawnModel =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly path: string };

export interface DrawnScenario {
  readonly model: DrawnModel;
  readonly request: ScenarioRequest;
  /** The file that describes the framework, where a person does. */
  readonly frameworkFile?: string | undefined;
  /** Which of the laws that cost the model again are tried, by a number that chooses among them. */
  readonly again: number;
}

/** A drawn scenario with its model. */
export interface Case extends DrawnScenario {
  readonly opened: OpenedModel;
}

const size = fc.constantFrom(8, 24, 64, 100, 256, 1000);

const dense = fc
  .record({
    width: size,
    layers: fc.array(
      fc.oneof(
        size.map((to) => `Linear(${to})`),
        fc.constantFrom(
          'ReLU()',
          'GELU()',
          'LayerNorm()',
          'Dropout(0.1)',
          'Tanh()',
          'Softmax(dim=-1)',
          'BatchNorm1d()',
        ),
      ),
      { minLength: 1, maxLength: 10 },
    ),
    times: fc.constantFrom(1, 1, 3, 20),
  })
  .map(
    ({ width, layers, times }) =>
      [
        `x: "float32[batch, ${width}]"`,
        [...layers, ...(times > 1 ? [`Linear(${width})`, `Linear(${width}) * ${times}`] : []), 'Linear(10)'],
      ] as const,
  );

const convolutional = fc
  .record({
    side: fc.constantFrom(8, 16, 32, 64),
    layers: fc.array(
      fc.oneof(
        fc
          .tuple(fc.constantFrom(8, 16, 64, 128), fc.constantFrom(1, 3, 5), fc.constantFrom(1, 1, 2))
          .map(
            ([to, kernel, stride]) =>
              `Conv2d(${to}, kernel_size=${kernel}, stride=${stride}, padding=${kernel >> 1})`,
          ),
        fc.constantFrom(
          'BatchNorm2d()',
          'ReLU()',
          'SiLU()',
          'MaxPool2d(2, stride=1)',
          'Dropout2d(0.2)',
          'GroupNorm(1)',
        ),
      ),
      { minLength: 1, maxLength: 12 },
    ),
  })
  .map(
    ({ side, layers }) =>
      [
        `x: "float32[batch, 3, ${side}, ${side}]"`,
        [...layers, 'AdaptiveAvgPool2d(1)', 'Flatten()', 'Linear(100)'],
      ] as const,
  );

const transformer = fc
  .record({
    sequence: fc.constantFrom(16, 64, 128),
    width: fc.constantFrom(32, 64, 256),
    words: fc.constantFrom(100, 1001, 30_000),
    layers: fc.integer({ min: 1, max: 6 }),
    norm: fc.boolean(),
    head: fc.boolean(),
  })
  .map(
    ({ sequence, width, words, layers, norm, head }) =>
      [
        `x: "int64[batch, ${sequence}]"`,
        [
          `Embedding(${words}, ${width})`,
          `TransformerEncoderLayer(${width}, 4, dim_feedforward=${4 * width}, batch_first=True, norm_first=${norm ? 'True' : 'False'}) * ${layers}`,
          ...(norm ? ['LayerNorm()'] : []),
          ...(head ? [`Linear(${words}, bias=False)`] : ['mean(dim=1)', 'Linear(2)']),
        ],
      ] as const,
  );

const recurrent = fc
  .record({
    sequence: fc.constantFrom(5, 30),
    width: fc.constantFrom(16, 128),
    layers: fc.integer({ min: 1, max: 3 }),
  })
  .map(
    ({ sequence, width, layers }) =>
      [
        `x: "float32[batch, ${sequence}, ${width}]"`,
        [`LSTM(${width}, ${2 * width}, num_layers=${layers}, batch_first=True)`, 'Linear(10)'],
      ] as const,
  );

const specText: fc.Arbitrary<DrawnModel> = fc
  .oneof(dense, convolutional, transformer, recurrent)
  .map(([input, layers]) => ({
    kind: 'text' as const,
    text: `inputs: { ${input} }\nlayers:\n${layers.map((layer, index) => `  - l${index}: ${layer}\n`).join('')}`,
  }));

/** Left out eight times of nine. */
const rarely = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

interface DrawnFramework {
  readonly framework: FrameworkChoice;
  readonly frameworkFile?: string;
}

/** Options of a framework, each left at its default mostly. */
const builtInFramework: fc.Arbitrary<DrawnFramework> = fc
  .constantFrom(...frameworks)
  .chain(({ name, options }) =>
    fc
      .record(
        Object.fromEntries(
          options.map((option) => [
            option.name,
            rarely(fc.constantFrom(...(option.expects.choices ?? valuesOf(option.name, option.default)))),
          ]),
        ),
      )
      .map((chosen) => ({
        framework: {
          name,
          options: Object.fromEntries(
            Object.entries(chosen).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
          ),
        },
      })),
  );

/** Keys of a user-defined framework with the values they are drawn from, by section. */
const describedKeys = {
  '': { kernels: ['pytorch', 'cudnn-era'], update: ['after-all', 'as-they-arrive', 'at-servers'] },
  gradients: {
    messages: ['buckets', 'tensors', 'layers', 'one'],
    bucketMiB: ['0.5', '25', '1000'],
    firstBucketMiB: ['0.1', '1'],
    partMiB: ['1', '64'],
    bytesPerElement: ['1', '2', '4'],
    send: ['when-ready', 'after-backward'],
    over: ['all-reduce', 'parameter-servers', 'reduce-and-broadcast'],
    library: ['nccl', 'open-mpi', 'mpich'],
    hierarchical: ['true', 'false'],
    order: ['first-come', 'by-priority'],
    neededBy: ['update', 'next-use'],
    everySteps: ['1', '2', '10'],
    stepsLater: ['0', '1', '3'],
  },
  servers: {
    count: ['1', '4'],
    colocated: ['true', 'false'],
    splitFromElements: ['1000'],
    asynchronous: ['true', 'false'],
  },
  input: {
    ahead: ['nothing', 'reading', 'reading-and-copying'],
    reads: ['own-share', 'everything'],
    pipelined: ['true', 'false'],
  },
} as const;

const describedPath = './own.framework.yaml';

/** A framework that a person describes: each key at its default every second time. */
const describedFramework: fc.Arbitrary<DrawnFramework> = fc
  .tuple(
    ...Object.entries(describedKeys).map(([section, keys]) =>
      fc
        .tuple(
          ...Object.entries(keys).map(([key, values]) =>
            fc.option(
              fc.constantFrom(...values).map((value) => `${key}: ${value}`),
              { nil: '' },
            ),
          ),
        )
        .map((lines) => lines.filter((line) => line !== ''))
        .map((lines) =>
          section === '' || lines.length === 0 ? lines : [`${section}:`, ...lines.map((line) => `  ${line}`)],
        ),
    ),
  )
  .map((sections) => ['name: own', ...sections.flat(), ''].join('\n'))
  .map((text) => ({ text, description: readFrameworkDescription(text).description }))
  // Some keys contradict each other.
  .filter(({ description }) => description !== undefined)
  .map(({ text, description }) => ({
    framework: { name: describedPath, options: {}, ...(description === undefined ? {} : { description }) },
    frameworkFile: text,
  }));

const inputPipeline: fc.Arbitrary<InputScenario> = fc
  .record({
    sampleBytes: fc.constantFrom(600, 110_000, 5_000_000).map(bytes),
    decodeRate: rarely(fc.constantFrom(20, 500)),
    source: rarely(fc.constantFrom('local' as const, 'shared' as const)),
    readRate: rarely(fc.constantFrom(2e8, 5e9).map(bytesPerSecond)),
  })
  .map(withoutAbsent<InputScenario>);

const wholeRun: fc.Arbitrary<RunRequest> = fc
  .record({
    samples: fc.constantFrom(1, 1000, 1_281_167),
    epochs: fc.constantFrom(1, 90),
    start: rarely(fc.constant(seconds(60))),
    price: rarely(fc.constantFrom(2.5, ...priceKinds)),
  })
  .map(withoutAbsent<RunRequest>);

/** Values of an option that takes numbers: its default, half of it and four times as much. */
function valuesOf(name: string, otherwise: string): readonly [string, ...string[]] {
  const number = Number(otherwise);
  if (!Number.isFinite(number) || otherwise.trim() === '' || number === 0) return [otherwise];
  const isWhole = Number.isInteger(number) && !/-(mb|ms|us)$/.test(name);
  return isWhole ? [otherwise, String(4 * number)] : [otherwise, String(number / 2), String(4 * number)];
}

/** Clusters, with as many GPUs as they have, and single GPUs. */
const places = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(...builtInClusters).chain(({ name, gpusPerNode, network }) =>
      fc.constantFrom(1, 2, 3, 4, 8, 16, 32, 64, 256).map((gpus) => ({
        cluster: name,
        gpus: network === undefined ? Math.min(gpus, gpusPerNode.value) : gpus,
      })),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...builtInGpus).map(({ name }) => ({ cluster: name, gpus: 1 })),
  },
);

/** The arbitrary of scenarios over drawn specs and these files. */
export function scenariosOver(files: readonly string[]): fc.Arbitrary<DrawnScenario> {
  const file = files.length === 0 ? [] : [{ weight: 1, arbitrary: fc.constantFrom(...files) }];
  return fc
    .record({
      model: fc.oneof(
        { weight: 7, arbitrary: specText },
        ...file.map(({ weight, arbitrary }) => ({
          weight,
          arbitrary: arbitrary.map((path): DrawnModel => ({ kind: 'file', path })),
        })),
      ),
      place: places,
      batch: fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom(1, 2, 7, 16, 64).map((batch) => ({ batch })) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(8, 100, 256, 1000).map((globalBatch) => ({ globalBatch })),
        },
      ),
      precision: fc.constantFrom(...precisions),
      chosen: fc
        .oneof({ weight: 9, arbitrary: builtInFramework }, { weight: 1, arbitrary: describedFramework })
        .chain((chosen) =>
          fc.constantFrom(...optimizersOf(chosen.framework)).map((optimizer) => ({ ...chosen, optimizer })),
        ),
      mode: fc.constantFrom(
        'training' as const,
        'training' as const,
        'training' as const,
        'inference' as const,
      ),
      checkpoint: rarely(fc.constantFrom(...checkpoints)),
      accumulate: rarely(fc.constantFrom(2, 4)),
      workers: rarely(fc.constantFrom({ imbalance: 1.1 }, { spread: 0.05 })),
      input: rarely(inputPipeline),
      run: rarely(wholeRun),
      again: fc.nat(999),
    })
    .map(({ model, again, place, batch, chosen: { framework, frameworkFile, optimizer }, ...request }) => ({
      model,
      again,
      frameworkFile,
      request: withoutAbsent<ScenarioRequest>({ ...place, ...batch, framework, optimizer, ...request }),
    }));
}

/** Those that the framework runs. */
const optimizersOf = (framework: FrameworkChoice): readonly Optimizer[] =>
  optimizers.filter(
    (name) => refusedOptimizer(name, framework.name, optimizerRules(framework), 1) === undefined,
  );

type Loose<Fields> = { readonly [Key in keyof Fields]: Fields[Key] | undefined };

/** Optional fields are absent where nothing was drawn for them. */
function withoutAbsent<Fields extends object>(fields: Loose<Fields>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

/** What a person types to see the same. */
export function commandOf({ model, request, frameworkFile }: DrawnScenario): string {
  const { framework, input, run, globalBatch, workers, ...plain } = request;
  const options = Object.entries(framework?.options ?? {}).map(([name, value]) => `,${name}=${value}`);
  const flags: readonly (readonly [string, unknown])[] = [
    ...Object.entries(plain),
    ['global-batch', globalBatch],
    ['framework', framework && `${framework.name}${options.join('')}`],
    ['workers', workers && pairs(Object.entries(workers))],
    [
      'input',
      input &&
        pairs([
          ['sample-bytes', input.sampleBytes],
          ['decode-rate', input.decodeRate],
          ['source', input.source],
          ['read-gbs', input.readRate && input.readRate / 1e9],
        ]),
    ],
    [
      'run',
      run &&
        pairs([
          ['samples', run.samples],
          ['epochs', run.epochs],
          ['start-seconds', run.start],
          ['price', run.price],
          ['pue', run.pue],
        ]),
    ],
  ];
  const path = model.kind === 'file' ? model.path : 'drawn.layers.yaml';
  const files = [
    ...(model.kind === 'text' ? [['drawn.layers.yaml', model.text] as const] : []),
    ...(frameworkFile === undefined ? [] : [[describedPath, frameworkFile] as const]),
  ].map(([name, text]) => `cat > ${name} <<'END'\n${text}END\n`);
  const words = flags.flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${value}`]));
  return `${files.join('')}npx layercost report ${path} ${words.join(' ')}`;
}

const pairs = (entries: readonly (readonly [string, unknown])[]): string =>
  entries.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`])).join();
