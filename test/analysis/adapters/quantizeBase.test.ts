/** Which weights a program loads in few bits to train adapters beside them, by what transformers converts. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { quantizeBase } from '../../../server/src/analysis/adapters/quantizeBase.ts';
import { freezeParameters } from '../../../server/src/analysis/freezeParameters.ts';
import { openLayerSpec, openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { parameterBytes } from '../../../server/src/estimate/plan/gradients.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { bytesInBlocks } from '../../../server/src/model/blockFormat.ts';
import { totalElements } from '../../../server/src/model/totalElements.ts';

const open = (path: string) => openModel(byteSourceOfBuffer(readFileSync(path)), path);

function quantized(opened: ReturnType<typeof open>, freeze: readonly string[] = ['*']) {
  if (opened.analysis === undefined) throw new Error(JSON.stringify(opened.issues));
  return quantizeBase(freezeParameters(opened.analysis, freeze).analysis, 'nf4');
}

/** Elements in NF4: the linear layers of the published architectures, without embeddings, norms, biases and head. */
test.each([
  // 12 · 12 · 768²; the head is tied to the table of tokens.
  ['samples/gpt2.onnx', 12 * 12 * 768 ** 2],
  // 22 · (2 · 2048² + 2 · 2048 · 256 + 3 · 2048 · 5632).
  ['samples/tinyllama.layers.yaml', 22 * (2 * 2048 ** 2 + 2 * 2048 * 256 + 3 * 2048 * 5632)],
])('%s', (path, elements) => {
  expect(totalElements(quantized(open(path)).frozen.filter(({ format }) => format === 'nf4'))).toBe(elements);
});

const spec = `inputs: { tokens: "int64[batch, 8]" }
layers:
  - table: Embedding(100, 32)
  - first: Linear(32, 32)
  - cell: GRU(32, 32)
  - second: Linear(32, 32, bias=False)
  - head: Linear(32, 100, bias=False)
`;

test.each([
  ['all frozen', ['*'], ['first.weight', 'second.weight']],
  ['what is trained stays as it is', ['*', '!second'], ['first.weight']],
  ['nothing frozen', ['table'], []],
])('%s', (_, freeze, names) => {
  const { frozen } = quantized(openLayerSpec(spec, 'm.layers.yaml'), freeze);
  expect(frozen.filter(({ format }) => format !== undefined).map(({ name }) => name)).toEqual(names);
});

test('a weight that the table of tokens shares stays whole', () => {
  const tied = spec.replace(
    '- second: Linear(32, 32, bias=False)',
    '- second: Linear(32, 100, bias=False, weight=table)\n  - back: Linear(100, 32)',
  );
  const { frozen } = quantized(openLayerSpec(tied, 'm.layers.yaml'));
  expect(frozen.filter(({ format }) => format !== undefined).map(({ name }) => name)).toEqual([
    'first.weight',
    'back.weight',
  ]);
});

test('NF4 takes 4.127 bits for each weight, whatever weights are stored in', () => {
  expect(8 * bytesInBlocks.nf4).toBeCloseTo(4.127, 3);
  for (const width of [2, 4])
    expect(parameterBytes({ elements: 16_384, elementType: 'float32', format: 'nf4' }, width)).toBe(8452);
});

test('what is saved of the frozen weights is what memory and FSDP save of them', () => {
  const request = { gpus: 8, cluster: 'dgx-a100', precision: 'bf16', batch: 1 } as const;
  const costOf = (name: string, base?: 'nf4') => {
    const framework = { name, options: { weights: 'half' } };
    const lora = { rank: 8, ...(base === undefined ? {} : { base }) };
    const { cost } = estimateModel(open('samples/tinyllama.layers.yaml'), [{ ...request, framework, lora }]);
    if (cost?.messages === undefined) throw new Error('not costed');
    const gathered = cost.messages.reduce((total, { bytes }) => total + bytes, 0);
    return { parameters: cost.totals.memory.parameters, gathered };
  };
  const linear = 22 * (2 * 2048 ** 2 + 2 * 2048 * 256 + 3 * 2048 * 5632);
  const saved = linear * (2 - bytesInBlocks.nf4);
  const [whole, few] = [costOf('pytorch-ddp'), costOf('pytorch-ddp', 'nf4')];
  expect(whole.parameters - few.parameters).toBeCloseTo(saved, -1);
  const [sharded, shardedFew] = [costOf('pytorch-fsdp'), costOf('pytorch-fsdp', 'nf4')];
  expect(sharded.parameters - shardedFew.parameters).toBeCloseTo(saved / 8, -1);
  // Blocks are gathered in forward and again in backward.
  expect(sharded.gathered - shardedFew.gathered).toBeCloseTo(2 * saved, -2);
});
