/** What studies state without tables: orders and knees, with the model they leave open named here. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { calibratedMachine, machine } from '../../scripts/validate/scaling/clusters.ts';
import { predictStep } from '../../scripts/validate/scaling/predictStep.ts';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';

const sample = (name: string): OpenedModel =>
  openModel(byteSourceOfBuffer(readFileSync(`samples/${name}`)), name);
const resnet50 = sample('resnet50.onnx');
const vgg16 = sample('vgg16.onnx');
const alexnet = sample('alexnet.onnx');

const costOf = (opened: OpenedModel, request: ScenarioRequest) => {
  const { cost } = estimateModel(opened, [{ optimizer: 'sgd', ...request }]);
  if (cost === undefined) throw new Error('not costed');
  return cost;
};
const stepOf = (opened: OpenedModel, request: ScenarioRequest): number =>
  costOf(opened, request).totals.time.step ?? Number.NaN;

describe('one server binds near 16 workers (arXiv 1612.00521, Blue Waters)', () => {
  const on = (gpus: number) => ({
    cluster: 'blue-waters-xk',
    gpus,
    nodes: gpus,
    batch: 32,
    framework: { name: 'mxnet', options: { servers: '1', colocated: 'false' } },
  });
  const alone = stepOf(resnet50, on(1));
  test('ResNet-50 keeps its step up to 16 workers and loses a fifth and more of it at 32', () => {
    expect(stepOf(resnet50, on(16)) / alone).toBeLessThan(1.05);
    // One worker by itself updates each tensor and waits for it; servers do that for several.
    expect(stepOf(resnet50, on(32)) / alone).toBeGreaterThan(1.2);
  });
});

/**
 * The data set is not told. Images as text of 224 × 224 × 3 numbers, 4 characters each, and three epochs of AlexNet stand
 * for it: the number of nodes from which the start dominates goes with the root of epochs and of computation per byte.
 */
describe('replicated reading dominates past 4 nodes (arXiv 1612.00521, Blue Waters)', () => {
  const runOn = (gpus: number, reader: string) => {
    const { totals, findings } = costOf(alexnet, {
      cluster: 'blue-waters-xk',
      gpus,
      nodes: gpus,
      batch: 128,
      framework: { name: 'cntk', options: { reader } },
      input: { sampleBytes: bytes(4 * 3 * 224 * 224), decodeRate: 1000 },
      run: { samples: 1_281_167, epochs: 3, start: seconds(10) },
    });
    const { initialisation, time } = totals.run ?? {};
    const flagged = findings.find(({ code }) => code === 'findings/slow-start');
    return { time: time ?? Number.NaN, share: (initialisation ?? Number.NaN) / (time ?? 1), flagged };
  };
  test('up to 4 nodes less than half of the run is its start, on 8 and more it is most of it, and nothing is gained', () => {
    const [four, eight, sixteen] = [runOn(4, 'text'), runOn(8, 'text'), runOn(16, 'text')];
    expect(four?.time).toBeLessThan(runOn(2, 'text').time);
    expect(four?.share).toBeLessThan(0.5);
    expect(eight?.share).toBeGreaterThan(0.6);
    expect(eight?.time).toBeGreaterThan(four?.time ?? Number.NaN);
    expect(sixteen?.time).toBeGreaterThan(eight?.time ?? Number.NaN);
  });
  test('it is said why', () => {
    expect(runOn(8, 'text').flagged?.message).toContain('each of 8 workers reads all of it');
  });
  test('images that are read as they are needed have no such start', () => {
    expect(runOn(8, 'images').share).toBeLessThan(0.05);
  });
});

describe('CPU cluster: MXNet, PyTorch, TensorFlow as 1 : 1.38 : 3.66, averages (IEEE Big Data 2021)', () => {
  const on = (name: string, nodes: number) =>
    stepOf(resnet50, {
      cluster: 'cpu-10gbe',
      gpus: nodes,
      nodes,
      batch: 32,
      framework: { name, options: {} },
    });
  test.each([1, 4, 8])('%i nodes', (nodes) => {
    const [mxnet, pytorch, tensorflow] = ['mxnet', 'pytorch-ddp', 'tensorflow'].map((name) =>
      on(name, nodes),
    );
    expect(pytorch).toBeGreaterThan(mxnet ?? Number.NaN);
    expect(tensorflow).toBeGreaterThan(pytorch ?? Number.NaN);
    expect((pytorch ?? 0) / (mxnet ?? 1)).toBeCloseTo(1.38, 0);
    expect((tensorflow ?? 0) / (mxnet ?? 1)).toBeCloseTo(3.66, 0);
  });
  test('they are said to be averages', () => {
    for (const name of ['mxnet', 'tensorflow']) {
      const { notes } = resolveFramework({ name, options: {} }).behaviour;
      expect(notes.join()).toContain('an average of published measurements');
    }
  });
});

test('VGG-16 through parameter servers on 64 GPUs: found and flagged', () => {
  const { cost } = estimateModel(
    vgg16,
    [
      {
        gpus: 64,
        nodes: 16,
        batch: 64,
        optimizer: 'sgd',
        framework: { name: 'tensorflow', options: {} },
        measuredStep: seconds(64 / 149.6),
      },
    ],
    machine('horovod-25gbe'),
  );
  expect(cost?.totals.scalingEfficiency).toBeLessThan(0.02);
  expect(cost?.findings.map(({ code }) => code)).toContain('findings/exposed-communication');
});

describe('what is judged is what --measured-step and --workers give', () => {
  const request = { gpus: 16, nodes: 4, batch: 64, precision: 'fp32', optimizer: 'momentum' } as const;
  test.each([
    'naive',
    'mg-wfbp',
    'horovod',
    'byteps',
    'bytescheduler',
    'tensorflow',
    'mxnet',
    'pytorch-fsdp',
  ])('%s', (name) => {
    const cluster = calibratedMachine('survey-10gbe', { inside: 12, between: 0.625 });
    const framework = { name, options: {} };
    const alone = 64 / 253.1;
    const { cost } = estimateModel(
      resnet50,
      [{ ...request, framework, measuredStep: seconds(alone), workers: { spread: 0.02 } }],
      cluster,
    );
    const { step } = predictStep(resnet50, { ...request, framework }, cluster, alone, 0.02);
    expect((cost?.totals.time.step ?? 0) / step).toBeCloseTo(1, 3);
  });
});
