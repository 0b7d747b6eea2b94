/** The networks of `samples/more`: specs a person can write, with the parameters and FLOPs that are published. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import { costOfSpec } from '../lowering/layer-spec/costOfSpec.ts';

interface Published {
  readonly parameters: number;
  /** Forward FLOPs of one sample. */
  readonly flops: number;
  readonly source: string;
}

/** FLOPs of torchvision and transformers are those of torch.utils.flop_counter (torch 2.13.0) on their models. */
const published: Readonly<Record<string, Published>> = {
  'vit-b-16': { parameters: 86_567_656, flops: 35_127_656_448, source: 'torchvision.models.vit_b_16' },
  'resnext50-32x4d': {
    parameters: 25_028_904,
    flops: 8_460_959_744,
    source: 'torchvision.models.resnext50_32x4d',
  },
  'efficientnet-b0': {
    parameters: 5_288_548,
    flops: 771_629_504,
    source: 'torchvision.models.efficientnet_b0',
  },
  'swin-t': { parameters: 28_288_354, flops: 8_981_133_312, source: 'torchvision.models.swin_t' },
  't5-small': {
    parameters: 60_506_624,
    flops: 71_605_157_888,
    source: 'transformers.T5ForConditionalGeneration, google-t5/t5-small',
  },
  'llama-3-8b': {
    parameters: 8_030_261_248,
    // 2 per parameter of a matrix and token, and 4·d per pair of tokens and layer.
    flops: 2 * 8192 * (8_030_261_248 - 128_256 * 4096 - 65 * 4096) + 4 * 8192 ** 2 * 4096 * 32,
    source: 'model card of meta-llama/Meta-Llama-3-8B',
  },
  'mixtral-8x7b': {
    parameters: 46_702_792_704,
    // 12,879,925,248 parameters meet a token (arXiv:2401.04088: 13B), those of embedding and norms without FLOPs.
    flops: 2 * 4096 * (12_879_925_248 - 32_000 * 4096 - 65 * 4096) + 4 * 4096 ** 2 * 4096 * 32,
    source: 'model card of mistralai/Mixtral-8x7B-v0.1',
  },
  'convnext-tiny': {
    parameters: 28_589_128,
    flops: convnextFlops(),
    source: 'torchvision.models.convnext_tiny (28,589,128 parameters, 4.46 G multiply-adds)',
  },
  unet: {
    parameters: 7_763_041,
    // 2·in·out·kernel per pixel: nine pairs of 3 × 3 convolutions, four of 2 × 2 that enlarge, and the last.
    flops: unetFlops(),
    source: 'mateuszbuda/brain-segmentation-pytorch of PyTorch Hub',
  },
  dlrm: {
    parameters: 540_677_217,
    // Both networks of perceptrons and the products of 27 vectors of 16.
    flops: 2 * (13 * 512 + 512 * 256 + 256 * 64 + 64 * 16 + 367 * 512 + 512 * 256 + 256 + 27 * 27 * 16),
    source: 'arXiv:1906.00091, table sizes of Criteo Kaggle',
  },
  'lstm-large': {
    parameters: 66_034_000,
    flops: 2 * 35 * (2 * 4 * 1500 * 3000 + 1500 * 10_000),
    source: 'arXiv:1409.2329: 66M',
  },
};

function unetFlops(): number {
  let macs = 32 * 256 ** 2;
  for (const [level, features] of [32, 64, 128, 256, 512].entries()) {
    const pixels = (256 / 2 ** level) ** 2;
    const before = level === 0 ? 3 : features / 2;
    macs += 9 * pixels * (before * features + features ** 2);
    if (level < 4) macs += pixels * (2 * features * features + 9 * (2 * features * features + features ** 2));
  }
  return 2 * macs;
}

const folder = join(import.meta.dirname, '../../samples/more');

it('has every spec of the folder', () => {
  const names = readdirSync(folder).filter((name) => name.endsWith('.layers.yaml'));
  expect(names.map((name) => name.slice(0, -'.layers.yaml'.length)).sort()).toEqual(
    Object.keys(published).sort(),
  );
});

describe.each(Object.entries(published))('%s', (name, { parameters, flops }) => {
  const text = readFileSync(join(folder, `${name}.layers.yaml`), 'utf8');
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), `${name}.layers.yaml`);

  it('has the published parameters and FLOPs, and nothing to complain of', () => {
    const cost = costOfSpec(text.replace(/batch: \d+/, 'batch: 1'));
    expect(cost.problems).toEqual([]);
    expect(cost.parameters).toBe(parameters);
    expect(Math.abs(cost.flops.forward / flops - 1)).toBeLessThan(0.001);
  });

  it('leaves its batch open, and asks for a cluster that exists', () => {
    expect(opened.issues).toEqual([]);
    expect(opened.analysis?.batchSymbol).toBe('batch');
    expect(findCluster(String(opened.scenario.cluster))?.name).toBe(opened.scenario.cluster);
  });

  it('says how many parameters it has', () => {
    const inWords = parameters.toLocaleString('en');
    expect(text.split('name:')[0]?.replaceAll('\n# ', ' ')).toContain(inWords);
  });
});

/** Per pixel of a stage 7 × 7 taps and twice 4·c² for c channels; 4 × 4 and 2 × 2 windows between stages, and the head. */
function convnextFlops(): number {
  const stages = [
    { channels: 96, side: 56, blocks: 3, patch: 16 * 3 },
    { channels: 192, side: 28, blocks: 3, patch: 4 * 96 },
    { channels: 384, side: 14, blocks: 9, patch: 4 * 192 },
    { channels: 768, side: 7, blocks: 3, patch: 4 * 384 },
  ];
  const products = stages.map(
    ({ channels, side, blocks, patch }) => side ** 2 * channels * (patch + blocks * (49 + 8 * channels)),
  );
  return 2 * (products.reduce((sum, each) => sum + each, 0) + 768 * 1000);
}
