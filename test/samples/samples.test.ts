/** Every sample says the same twice: as an ONNX file and as a layer spec. */

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import type { ModelAnalysis, TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { parametersByLayer } from '../../server/src/estimate/layerOf.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';

/** Parameters as torchvision and transformers count them; forward GFLOP of one sample, 2 per multiply-add. */
const published: Readonly<Record<string, readonly [parameters: number, gigaflops: number]>> = {
  alexnet: [61_100_840, 1.43],
  vgg16: [138_357_544, 30.94],
  googlenet: [6_624_904, 3.0],
  resnet50: [25_557_032, 8.18],
  mobilenet_v2: [3_504_872, 0.6],
  'bert-base': [109_482_240, 96.64],
  gpt2: [124_439_808, 291.65],
  tinyllama: [1_100_048_384, 4992.9],
};

const files = readdirSync('samples').filter((name) => /\.(onnx|layers\.yaml)$/.test(name));

function open(name: string): { readonly analysis: ModelAnalysis; readonly training: TrainingGraph } {
  const opened = openModel(byteSourceOfBuffer(readFileSync(`samples/${name}`)), name);
  const errors = opened.issues.filter((issue) => issue.code !== 'onnx/external-data-missing');
  expect(errors).toEqual([]);
  if (opened.analysis === undefined) throw new Error(`${name} was not analysed`);
  const bindings = new Map([[opened.analysis.batchSymbol ?? 'batch', 1]]);
  return { analysis: opened.analysis, training: bindTrainingGraph(opened.analysis, bindings, 'training') };
}

/** Forward, data-gradient and weight-gradient FLOPs of the operators that have any, in order of the graph. */
function products({ analysis, training }: ReturnType<typeof open>): readonly string[] {
  return training.costs.flatMap((cost, index) => {
    const operator = analysis.graph.operators[index];
    if (cost.kind === 'unknown') return [`${operator?.type} is unknown: ${cost.reason}`];
    const flops = [cost.forward.flops, cost.backwardData.flops, cost.backwardWeight.flops];
    return flops.some((count) => count > 0) ? [flops.join(' ')] : [];
  });
}

/** Modules that exporters write out and a spec calls as one layer, with their norm kept apart. */
const attention = /^.*?\/(?:self_attn|attn|attention)(?=\/|$)(?!.*LayerNorm)/;

/** Parameters, forward and backward FLOPs of every layer that has any, in order; an attention module is one layer. */
function layers({ analysis, training }: ReturnType<typeof open>): readonly string[] {
  const owned = parametersByLayer(training);
  const facts = new Map<string, [parameters: number, forward: number, backward: number]>();
  for (const [index, { name, operators }] of analysis.layers.entries()) {
    const key = attention.exec(name)?.[0] ?? name;
    const fact = facts.get(key) ?? [0, 0, 0];
    for (const parameter of owned[index] ?? []) fact[0] += analysis.parameters[parameter]?.elements ?? 0;
    for (const operator of operators) {
      const cost = training.costs[operator];
      if (cost?.kind !== 'known') continue;
      fact[1] += cost.forward.flops;
      fact[2] += cost.backwardData.flops + cost.backwardWeight.flops;
    }
    facts.set(key, fact);
  }
  return [...facts.values()].filter((fact) => fact.some((count) => count > 0)).map((fact) => fact.join(' '));
}

const total = (lines: readonly string[]): readonly number[] =>
  [0, 1, 2].map((part) => lines.reduce((sum, line) => sum + Number(line.split(' ')[part]), 0));

it('comes in pairs, and every pair is listed here', () => {
  const names = Object.keys(published).sort();
  expect(
    files
      .filter((name) => name.endsWith('.onnx'))
      .map((name) => name.slice(0, -5))
      .sort(),
  ).toEqual(names);
  expect(
    files
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => name.slice(0, -12))
      .sort(),
  ).toEqual(names);
});

describe.each(Object.entries(published))('%s', (name, [parameters, gigaflops]) => {
  const onnx = open(`${name}.onnx`);
  const spec = open(`${name}.layers.yaml`);

  it('has the published parameters, in both forms', () => {
    for (const { analysis } of [onnx, spec]) {
      expect(analysis.parameters.reduce((sum, parameter) => sum + parameter.elements, 0)).toBe(parameters);
    }
  });

  it('has the same FLOPs in both forms', () => {
    expect(total(products(spec))).toEqual(total(products(onnx)));
    expect((total(products(spec))[0] ?? 0) / 1e9).toBeCloseTo(gigaflops, gigaflops > 1000 ? 1 : 2);
  });

  it('has the same FLOPs operator by operator', () => {
    // Exporters and specs order parallel branches, and pack projections, in their own ways.
    const packed = ['bert-base', 'tinyllama'].includes(name);
    if (packed) expect(products(spec).length).toBeLessThanOrEqual(products(onnx).length);
    else expect([...products(spec)].sort()).toEqual([...products(onnx)].sort());
  });

  it('has the same parameters and FLOPs layer by layer', () => {
    // Exporters and specs write parallel branches in their own order.
    const parallel = ['googlenet', 'resnet50'].includes(name);
    const inOrder = (lines: readonly string[]): readonly string[] => (parallel ? [...lines].sort() : lines);
    expect(inOrder(layers(spec))).toEqual(inOrder(layers(onnx)));
  });

  it('leaves the batch open', () => {
    expect(onnx.analysis.batchSymbol).toBe('batch');
    expect(spec.analysis.batchSymbol).toBe('batch');
  });

  it('asks for a cluster that exists', () => {
    const text = readFileSync(`samples/${name}.layers.yaml`, 'utf8');
    const cluster = /cluster: ([\w-]+)/.exec(text)?.[1];
    expect(cluster && findCluster(cluster)?.name).toBe(cluster);
  });
});

it.each(files.filter((name) => name.endsWith('.onnx')))(
  '%s is small and tells nothing of the machine it was made on',
  (name) => {
    const bytes = readFileSync(`samples/${name}`);
    expect(bytes.length).toBeLessThan(name === 'tinyllama.onnx' ? 700_000 : 300_000);
    expect(bytes.toString('latin1')).not.toMatch(/\/(root|home|tmp|work|usr|Users)\/|site-packages|\.py\b/);
  },
);
