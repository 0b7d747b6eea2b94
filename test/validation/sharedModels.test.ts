/**
 * Analysis against the truth files beside the project: real networks, exported by PyTorch and by Caffe2.
 *
 * Truth is PyTorch's own count of parameters and of FLOPs (`torch.utils.flop_counter`), and the shapes that ONNX's
 * reference inference gives. Each way in which a file differs from its truth is listed with its reason.
 */

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import { type Dimension, isUnknown, printDimension } from '../../server/src/model/dimension.ts';
import { isKnownShape, type ValueType } from '../../server/src/model/graph.ts';
import { findOperator } from '../../server/src/operators/registry.ts';
import { hasSharedModels, readShared, sharedModels } from '../support/sharedModels.ts';

/** Inference exports whose parameters are more than 1 % from PyTorch's count, each with its reason. */
const parameterExceptions: Readonly<Record<string, string>> = {
  'transformers/albert_base_s128': 'the pooler (590,592) is not on the way to the exported output',
  'transformers/gpt2_medium_s512':
    'the exporter stores the tied output embedding a second time, transposed and nameless (51,463,168)',
  'transformers/squeezebert_s128': 'the pooler (590,592) is not on the way to the exported output',
  'transformers/t5_small_encoder_s128':
    'the truth counts the embedding (16,449,536) twice; the file has the 35.3 M of T5-small’s encoder',
};

/** Files without truth, so that the hole is seen. */
const withoutTruth: Readonly<Record<string, string>> = {
  'timm/pit_b_224': 'counting failed upstream; its truth file holds only the error',
};

/** Values whose declared shape contradicts what the graph computes: mistakes of the exporter. */
/** What is said of a file, by the value it is about. */
const issuesOfExports: Readonly<Record<string, readonly string[]>> = {
  // Tables of relative position biases, which are trained, stand in the file as constant folding spread them.
  'timm/beit_base_patch16_224': ['onnx::Add_1175'],
  'timm/coatnet_0_rw_224': ['onnx::Add_1074'],
  'timm/maxvit_tiny_rw_224': ['onnx::Add_4625'],
  'timm/swin_tiny_patch4_window7_224': ['onnx::Add_4705'],
  'torchvision/maxvit_t': ['onnx::Add_5737'],
  'torchvision/swin_s': ['onnx::Add_18382'],
  'torchvision/swin_t': ['onnx::Add_8890'],
  // Rows of its table of positions, which the exporter looked up beforehand.
  'transformers/whisper_tiny_encoder': ['onnx::Add_414'],
  // A normalization at the end that reads what is cast: `type_as` behind it, which the exporter drops, would leave no trace.
  'transformers/t5_small_encoder_s128': [
    '1 normalization casts what comes in and not what goes out. The TorchScript exporter leaves out `type_as` where it changes nothing in fp32. Without it, what follows is of the type that autocast gives. Export with `torch.export.save`, which keeps it',
  ],
  'torchvision/mvit_v1_b': [
    // Its shape inference counts the parts of `tensor_split` twice; truth's FLOPs agree with the computed shape.
    ...[1, 3, 14].map((block) => `/blocks.${block}/pool_skip/Squeeze_output_0`),
    // Positions in space, which are trained and spread over time.
    'onnx::Expand_4129',
  ],
};

/** Parameters of the light models, from their topology. */
const lightParameters: Readonly<Record<string, number>> = {
  // torchvision's ResNet-50 has the same 25,557,032.
  light_resnet50: 25_557_032,
  // torchvision's VGG-19 and SqueezeNet 1.1 are published with 143,667,240 and 1,235,496.
  light_vgg19: 143_667_240,
  light_squeezenet: 1_235_496,
  // BVLC AlexNet: grouped convolutions and 6 × 6 × 256 features (Krizhevsky 2012 gives "60 million").
  light_bvlc_alexnet: 60_965_224,
  light_zfnet512: 87_250_536,
  light_inception_v1: 6_998_552,
  // 83,648 more than torchvision's 7,978,856: Caffe has a scale layer behind each batch normalisation.
  light_densenet121: 8_062_504,
  light_inception_v2: 11_214_888,
  light_shufflenet: 1_393_320,
};

const relative = (value: number, truth: number): number => Math.abs(value - truth) / truth;

const truthSchema = z.object({
  params: z.number().optional(),
  fwd_flops: z.number().optional(),
  fwd_bwd_flops: z.number().optional(),
});
const shapesSchema = z.record(
  z.string(),
  z.record(z.string(), z.array(z.union([z.number(), z.string(), z.null()])).nullable()),
);
type TrueShapes = z.infer<typeof shapesSchema>[string];

/** Models whose backward count upstream is right: it ignores groups, so those with grouped convolutions are not. */
const reliableBackward = readReliable();

function readReliable(): ReadonlySet<string> {
  if (!hasSharedModels) return new Set();
  const [header, ...rows] = new TextDecoder()
    .decode(readShared('torch-export/SUMMARY.csv'))
    .split(/\r?\n/)
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, a, b]) => a ?? b ?? ''),
    );
  const column = (name: string): number => header?.indexOf(name) ?? -1;
  return new Set(
    rows
      .filter((row) => row[column('fwd_bwd_reliable')] === '1')
      .map((row) => `${row[column('family')]}/${row[column('model')]}`),
  );
}

const nameOf = (path: string): string =>
  path.replace(/^torch-export\//, '').replace(/(\.train)?\.onnx\.gz$/, '');

const readJson = (path: string): unknown => JSON.parse(new TextDecoder().decode(readShared(path)));

function measure(path: string) {
  const { model } = readOnnx(byteSourceOfBuffer(readShared(path)));
  if (model === undefined) throw new Error(`${path} cannot be read`);
  const analysis = analyzeOnnx(model);
  const { symbols, graph } = analysis;
  const bindings = new Map(symbols.map(({ name }) => [name, 1]));
  const { costs } = bindTrainingGraph(analysis, bindings, 'training');
  return {
    analysis,
    parameters: analysis.parameters.reduce((total, { elements }) => total + elements, 0),
    forward: costs.reduce((total, cost) => total + (cost.kind === 'known' ? cost.forward.flops : 0), 0),
    backward: costs.reduce(
      (total, cost) =>
        total + (cost.kind === 'known' ? cost.backwardData.flops + cost.backwardWeight.flops : 0),
      0,
    ),
    unknownCosts: costs.flatMap((cost, index) =>
      cost.kind === 'known' ? [] : [`${graph.operators[index]?.name}: ${cost.reason}`],
    ),
    unknownOperators: graph.operators
      .filter(({ domain, type }) => findOperator(domain, type, 17) === undefined)
      .map(({ type }) => type),
  };
}

/** Shapes that contradict the truth, and how many of the truth's fully known shapes are known here. */
function compareShapes(values: ReadonlyMap<string, { readonly type: ValueType }>, truth: TrueShapes) {
  const contradictions: string[] = [];
  let known = 0;
  let total = 0;
  for (const [name, expected] of Object.entries(truth)) {
    const type = values.get(name)?.type;
    if (expected === null || type?.kind !== 'tensor') continue;
    const shape = isKnownShape(type.shape) ? type.shape : undefined;
    const isStatic = expected.every((length) => typeof length === 'number');
    if (isStatic) total += 1;
    if (shape === undefined) continue;
    if (isStatic && shape.every((dimension) => !isUnknown(dimension))) known += 1;
    const differs =
      shape.length !== expected.length ||
      shape.some((dimension: Dimension, axis) => {
        const length = expected[axis];
        return typeof dimension === 'number' && typeof length === 'number' && dimension !== length;
      });
    if (differs) contradictions.push(`${name}: [${shape.map(printDimension)}], reference [${expected}]`);
  }
  return { contradictions, known, total };
}

if (!hasSharedModels) {
  test('nothing is compared: ../shared/models is absent', () => {
    expect(hasSharedModels).toBe(false);
  });
} else {
  describe('light models of the ONNX project', () => {
    const shapes = shapesSchema.parse(readJson('onnx-light/onnx_inferred_shapes.json'));
    test.each(Object.keys(lightParameters))('%s', (name) => {
      const { analysis, parameters, unknownCosts } = measure(`onnx-light/${name}.onnx`);
      expect(parameters).toBe(lightParameters[name]);
      expect(analysis.issues).toEqual([]);
      expect(unknownCosts).toEqual([]);
      const truth = shapes[`${name}.onnx`] ?? {};
      const { contradictions, known, total } = compareShapes(analysis.graph.values, truth);
      expect(contradictions).toEqual([]);
      expect(total).toBeGreaterThan(0);
      expect(known).toBe(total);
    });

    test('ResNet-50 is 8.18 GFLOP at batch 1', () => {
      expect(measure('onnx-light/light_resnet50.onnx').forward / 1e9).toBeCloseTo(8.18, 2);
    });
  });

  describe('PyTorch exports', () => {
    const shapes = shapesSchema.parse(readJson('torch-export/onnx_inferred_shapes.json.gz'));
    const untrue: string[] = [];
    let compared = 0;
    let known = 0;
    let total = 0;

    test.each(sharedModels('torch-export'))('%s', (path) => {
      const name = path.slice('torch-export/'.length, -'.onnx.gz'.length);
      const { analysis, parameters, forward, backward, unknownCosts, unknownOperators } = measure(path);
      expect(unknownOperators).toEqual([]);
      expect(analysis.issues.map(({ value, message }) => value ?? message)).toEqual(
        issuesOfExports[name] ?? [],
      );
      expect(unknownCosts).toEqual([]);
      const comparison = compareShapes(analysis.graph.values, shapes[`${name}.onnx`] ?? {});
      expect(comparison.contradictions).toEqual([]);
      known += comparison.known;
      total += comparison.total;

      const truth = truthSchema.parse(readJson(`torch-export/${name.replace(/\.train$/, '')}.truth.json.gz`));
      if (truth.params === undefined || truth.fwd_flops === undefined) {
        expect(Object.keys(withoutTruth)).toContain(name);
        return;
      }
      expect(relative(forward, truth.fwd_flops), `${forward} FLOP`).toBeLessThanOrEqual(0.001);
      if (truth.fwd_bwd_flops !== undefined && reliableBackward.has(nameOf(path))) {
        const trueBackward = truth.fwd_bwd_flops - truth.fwd_flops;
        expect(relative(backward, trueBackward), `${backward} FLOP backward`).toBeLessThanOrEqual(0.01);
      }
      if (name.endsWith('.train')) {
        expect(parameters).toBe(truth.params);
        return;
      }
      compared += 1;
      if (relative(parameters, truth.params) > 0.01) untrue.push(name);
    });

    test('parameters of inference exports are within 1 %, but for the exceptions', () => {
      expect(untrue.sort()).toEqual(Object.keys(parameterExceptions).sort());
      expect(untrue.length / compared).toBeLessThan(0.1);
    });

    test('every shape that the reference knows is known', () => {
      expect(total).toBeGreaterThan(50_000);
      expect(known).toBe(total);
    });
  });
}
