/** Adapters that are added to a model cost what the same model costs that was written with them. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { addAdapters } from '../../../server/src/analysis/adapters/addAdapters.ts';
import { freezeParameters } from '../../../server/src/analysis/freezeParameters.ts';
import type { ModelAnalysis } from '../../../server/src/analysis/modelAnalysis.ts';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readParallelGroup } from '../../../server/src/formats/scenarioGroups.ts';
import { isWeight } from '../../../server/src/model/graph.ts';
import type { LowRankAdapters, ScenarioRequest } from '../../../server/src/model/scenario.ts';

const folder = import.meta.dirname;
const open = (path: string, name = path) => openModel(byteSourceOfBuffer(readFileSync(path)), name);
const openText = (text: string) => openModel(byteSourceOfBuffer(Buffer.from(text)), 'text.layers.yaml');

/** By PyTorch, with attention written out, which its counter of FLOPs counts. */
const kept = z
  .record(
    z.string(),
    z.object({
      layers: z.array(z.string()),
      dropout: z.number(),
      trained: z.number(),
      frozen: z.number(),
      forward: z.number(),
      backward: z.number(),
      saved: z.number(),
    }),
  )
  .parse(JSON.parse(readFileSync(join(folder, 'kept.json'), 'utf8')));

const elementsOf = (parameters: ModelAnalysis['parameters'] = []): number =>
  parameters.reduce((sum, { elements }) => sum + elements, 0);

function costOf(file: string, lora?: LowRankAdapters) {
  const request = { cluster: 'dgx-a100', gpus: 2, loss: 'none', precision: 'bf16' } as const;
  const { cost, opened } = estimateModel(open(join(folder, file)), [
    { ...request, ...(lora === undefined ? {} : { lora }) },
  ]);
  const fp32 = estimateModel(open(join(folder, file)), [
    { ...request, precision: 'fp32', ...(lora === undefined ? {} : { lora }) },
  ]).cost;
  return {
    trained: elementsOf(opened.analysis?.parameters),
    frozen: elementsOf(opened.analysis?.frozen),
    flops: cost?.totals.flops,
    time: cost?.totals.time,
    memory: cost?.totals.memory,
    messages: cost?.messages?.map(({ bytes }) => bytes),
    saved: fp32?.totals.memory.activations,
  };
}

test.each(Object.entries(kept))(
  '%s: as the archive of the model that was written with adapters',
  (name, expected) => {
    const { layers, dropout } = expected;
    const lora = {
      rank: 4,
      ...(layers.length === 0 ? {} : { layers }),
      ...(dropout === 0 ? {} : { dropout }),
    };
    const added = costOf(`${name.split('-')[0]}.pt2`, lora);
    expect(added).toEqual(costOf(`${name}-adapted.pt2`));
    expect([added.trained, added.frozen]).toEqual([expected.trained, expected.frozen]);
    expect(added.flops?.forward).toBeCloseTo(expected.forward, -3);
    expect(added.flops?.backward).toBeCloseTo(expected.backward, -3);
    expect((added.saved ?? 0) / expected.saved).toBeCloseTo(1, 2);
  },
);

/** Rank 16 has 16·(in + out) parameters in each (Hu et al., arXiv:2106.09685, section 4.2): those of the published architectures. */
test.each([
  ['samples/gpt2.onnx', 48, 2_359_296],
  ['samples/tinyllama.layers.yaml', 154, 12_615_680],
])('%s has so many layers with adapters, of so many parameters', (file, layers, parameters) => {
  const { analysis } = open(file);
  if (analysis === undefined) throw new Error(file);
  const result = addAdapters(freezeParameters(analysis, ['*']).analysis, { rank: 16 });
  expect([result.adapted, elementsOf(result.analysis.parameters)]).toEqual([layers, parameters]);
});

/** What all rooms behind rely on: operators by their index, values by who makes and reads them, each operator in one layer. */
function brokenLinks({
  graph,
  layers,
  parameters,
  frozen,
  composites,
  costing,
}: ModelAnalysis): readonly string[] {
  const { operators, values } = graph;
  const count = operators.length;
  const inLayers = layers.flatMap((layer) => layer.operators).toSorted((one, other) => one - other);
  return [
    ...operators.flatMap(({ index }, at) => (index === at ? [] : [`operator ${at} has index ${index}`])),
    ...operators.flatMap(({ index, inputs, outputs }) => [
      ...inputs.flatMap((name) =>
        name === '' || values.get(name)?.consumers.includes(index) === true ? [] : [`${index} reads ${name}`],
      ),
      ...inputs.flatMap((name) =>
        (values.get(name)?.producer ?? -1) < index ? [] : [`${name} comes after ${index}`],
      ),
      ...outputs.flatMap((name) =>
        name === '' || values.get(name)?.producer === index ? [] : [`${index} makes ${name}`],
      ),
    ]),
    ...[...values.values()].flatMap(({ name, consumers }) =>
      consumers.every((index) => operators[index]?.inputs.includes(name))
        ? []
        : [`${name} is read by others`],
    ),
    ...(inLayers.every((index, at) => index !== inLayers[at + 1]) ? [] : ['an operator is in two layers']),
    ...[...parameters, ...frozen].flatMap(({ name, operators: readers }) =>
      readers.every((index) => index < count) && isWeight(values.get(name)?.role)
        ? []
        : [`parameter ${name}`],
    ),
    ...[...composites].flatMap(([index, composite]) =>
      composite.operators.includes(index) && composite.inputs.every((name) => values.has(name))
        ? []
        : [`composite at ${index}`],
    ),
    ...(costing.auxiliary.storedLayout.length === count && costing.groups.length === count
      ? []
      : ['costing']),
  ];
}

test.each([
  'samples/gpt2.onnx',
  'samples/tinyllama.layers.yaml',
  'samples/bert-base.layers.yaml',
  join(folder, 'llama.pt2'),
])('%s is a whole graph with adapters', (file) => {
  const { analysis } = open(file);
  if (analysis === undefined) throw new Error(file);
  expect(brokenLinks(analysis)).toEqual([]);
  expect(brokenLinks(addAdapters(analysis, { rank: 8, dropout: 0.1 }).analysis)).toEqual([]);
});

const perceptron = `dims: { batch: 4 }
inputs: { x: "float32[batch, 64]" }
blocks:
  mlp:
    - up: Linear(128, 256, bias=False)
    - act: ReLU()
    - down: Linear(256, 128)
layers:
  - stem: Linear(64, 128)
  - norm: LayerNorm(128)
  - first: mlp()
  - head: Linear(128, 8)
`;

test.each<readonly [LowRankAdapters, readonly string[], readonly string[]]>([
  [{ rank: 2 }, ['stem', 'first.up', 'first.down'], []],
  [{ rank: 2, layers: ['up', 'head'] }, ['first.up', 'head'], []],
  [{ rank: 2, layers: ['first'] }, ['first.up', 'first.down'], []],
  [{ rank: 2, layers: ['*.d*n', 'tail'] }, ['first.down'], ['tail']],
  [{ rank: 2, layers: ['first.up', 'norm'] }, ['first.up'], ['norm']],
])('%j: the layers %j', (lora, adapted, unmatched) => {
  const { analysis } = openText(perceptron);
  if (analysis === undefined) throw new Error('no analysis');
  const result = addAdapters(freezeParameters(analysis, ['*']).analysis, lora);
  const names = result.analysis.parameters.map(({ name }) => name);
  expect(names).toEqual(adapted.flatMap((layer) => [`${layer}.lora_A.weight`, `${layer}.lora_B.weight`]));
  expect(result.unmatched).toEqual(unmatched);
});

test.each<readonly [string, readonly string[], string | undefined]>([
  [
    '2',
    ['scenario/added-adapters'],
    'LoRA adds adapters of rank 2 to 3 linear layers: 1,920 parameters are trained, and 75,272 are not',
  ],
  [
    '"rank=2,layers=dwon"',
    ['scenario/invalid'],
    'No linear layer matches `dwon`; did you mean `down`?; write a name or its end, with `*` for any characters',
  ],
])('lora: %s says %j', (lora, codes, message) => {
  const { issues } = estimateModel(
    openText(`${perceptron}scenario: { cluster: a100-sxm-80gb, lora: ${lora} }\n`),
    [openText(`${perceptron}scenario: { cluster: a100-sxm-80gb, lora: ${lora} }\n`).scenario],
  );
  const found = issues.filter(({ code }) => codes.includes(code));
  expect(found.map((issue) => issue.message)).toEqual([message]);
});

test('a model without a linear layer before its head says so', () => {
  const opened = openText(
    'inputs: { x: "float32[4, 64]" }\nlayers:\n  - act: ReLU()\n  - head: Linear(64, 8)\n',
  );
  const { issues } = estimateModel(opened, [{ cluster: 'a100-sxm-80gb', lora: { rank: 2 } }]);
  expect(issues.find(({ scenarioKey }) => scenarioKey === 'lora')?.message).toBe(
    'The model has no linear layer before its head, so that LoRA adds no adapters; name layers with `layers`, or leave `lora` out',
  );
});

test('what `freeze` leaves is trained beside the adapters', () => {
  const opened = openText(perceptron);
  const { opened: adapted } = estimateModel(opened, [
    { cluster: 'a100-sxm-80gb', lora: { rank: 2, layers: ['up'] }, freeze: ['*', '!head'] },
  ]);
  expect(adapted.analysis?.parameters.map(({ name }) => name)).toEqual([
    'head.weight',
    'head.bias',
    'first.up.lora_A.weight',
    'first.up.lora_B.weight',
  ]);
});

/** MLPerf's LoRA of Llama 2 70B, of two blocks: written with its adapters, and without them. */
const written = readFileSync('measured/models/lora-70b.layers.yaml', 'utf8').replace(
  'decoder() * 80',
  'decoder() * 2',
);
const bare = written
  .replace(/^ *- (qkv|proj)_[ab]: .*\n/gm, '')
  .replace(/^ *- (qkv_sum|attn): .*\n/gm, '')
  .replace('add(attn, input)', 'add(proj, input)')
  .replace(', r: 16', '');

test.each(['tp=4,sp', 'tp=2,cp=2,sp', 'tp=2,pp=2'])('adapters of a Llama in %s', (layout) => {
  const scenario = {
    cluster: 'dgx-h100',
    gpus: 8,
    precision: 'bf16',
    framework: { name: 'megatron', options: { 'distributed-optimizer': 'true' } },
    parallel: readParallelGroup(layout).value,
  } as const;
  const cost = (text: string, more: ScenarioRequest) => {
    const { cost: found } = estimateModel(openText(text), [{ ...scenario, ...more }]);
    if (found === undefined) throw new Error('no cost');
    const { flops, memory, time } = found.totals;
    return { flops, memory, communication: time.communication };
  };
  const added = cost(bare, { lora: { rank: 16, layers: ['qkv', 'proj'] } });
  expect(added).toEqual(cost(written, { freeze: ['*', '!*_a*', '!*_b*'] }));
});
