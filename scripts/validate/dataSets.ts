/** The measured steps that predictions are held against: where their graphs are, and how they were run. */

import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import type { Optimizer, ScenarioRequest } from '../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn } from '../measured/readMeasured.ts';
import { scenarioOfRow } from '../measured/scenarioOfRow.ts';
import { eagerSteps } from './eagerSteps.ts';
import { machine } from './scaling/clusters.ts';

export interface DataSet {
  readonly title: string;
  /** In `measured/`. */
  readonly file: string;
  readonly accepts: (row: MeasuredRow) => boolean;
  /** Path of the graph, as `OpenGraph` takes it; `undefined` where no graph says what was measured. */
  readonly graph: (row: MeasuredRow) => string | undefined;
  readonly request: (row: MeasuredRow) => ScenarioRequest;
  /** Sizes of a graph that is written for any. */
  readonly dimensions?: (row: MeasuredRow) => Readonly<Record<string, number>>;
  /** Where it is no built-in cluster, or several GPUs of one. */
  readonly cluster?: (row: MeasuredRow) => ClusterProfile;
  readonly target?: { readonly statistic: 'mean' | 'median'; readonly most: number };
  /** What others publish of the same rows. */
  readonly peer: string;
  /** What the rows were kept from. */
  readonly held: string;
  /**
   * Present where the host launched so slowly that small networks waited for it, and how slowly is not told: each family is
   * judged by one launch time of its machine, that of the others of these rows.
   */
  readonly hostOf?: (row: MeasuredRow) => boolean;
  /** Seconds of what was timed with a step and is no part of it. */
  readonly beside?: (row: MeasuredRow) => number;
}

const unseen = 'all rows: no step of this set was fitted to';

const timm = (model: string): string => `shared:models/timm-train/${model}.onnx.gz`;

export const dataSets: readonly DataSet[] = [
  ...eagerSteps,
  {
    title: 'GPT-2 made faster step by step, eager and compiled, A100',
    file: 'steps-gpt2.csv',
    accepts: () => true,
    graph: ({ model }) => `measured/models/gpt2-nano.layers.yaml#${model}`,
    request: (row) => ({ ...scenarioOfRow(row), cluster: row.gpu ?? '', optimizer: 'adamw' }),
    target: { statistic: 'mean', most: 0.08 },
    peer: '',
    held: unseen,
  },
  {
    title: 'gpt-fast, decode of Llama as CUDA graphs, A100 and MI250X',
    file: 'steps-generate.csv',
    accepts: () => true,
    graph: ({ model }) => `measured/models/decode/${model}.config.json`,
    request: (row) => ({
      ...scenarioOfRow(row),
      cluster: row.gpu ?? '',
      mode: 'inference',
      past: numberIn(row, 'past'),
    }),
    target: { statistic: 'mean', most: 0.15 },
    peer: '',
    held: unseen,
  },
  {
    title: 'NeuSight, training, NVIDIA',
    file: 'steps-neusight.csv',
    accepts: (row) => isTraining(row) && !isAmd(row),
    graph: transformer,
    request: eagerTransformer,
    target: { statistic: 'mean', most: 0.1 },
    peer: 'NeuSight: mean 7.3 %, median 4.6 %, worst 27.9 % (26 rows, 10 of them on H100 that are not here); roofline: mean 31.9 %',
    held: 'all rows: kernels were fitted to products, convolutions and rows by themselves, half of which were kept back',
  },
  {
    title: 'NeuSight, inference, NVIDIA',
    file: 'steps-neusight.csv',
    accepts: (row) => !isTraining(row) && !isAmd(row) && !isCompiled(row),
    graph: transformer,
    request: eagerTransformer,
    peer: 'NeuSight: mean 9.7 %, median 6.3 %, worst 65.3 % (54 rows); roofline: mean 31.2 %',
    held: 'as above',
  },
  {
    title: 'NeuSight, inference, NVIDIA, compiled',
    file: 'steps-neusight.csv',
    accepts: (row) => !isTraining(row) && !isAmd(row) && isCompiled(row),
    graph: transformer,
    request: compiledTransformer,
    peer: '',
    held: `as above, and nothing compiled was fitted to`,
  },
  {
    title: 'NeuSight, training, AMD',
    file: 'steps-neusight.csv',
    accepts: (row) => isTraining(row) && isAmd(row),
    graph: transformer,
    request: eagerTransformer,
    peer: 'NeuSight: mean 15.7 %, median 12.9 %, worst 33.0 % (15 rows)',
    held: 'all rows: nothing of AMD was fitted to, curves are those of the NVIDIA generation nearest in time',
  },
  {
    title: 'NeuSight, inference, AMD',
    file: 'steps-neusight.csv',
    accepts: (row) => !isTraining(row) && isAmd(row),
    graph: transformer,
    request: eagerTransformer,
    peer: '',
    held: 'as above',
  },
  {
    title: 'MLPerf, ResNet-50 in fp16 on 2 to 3,584 GPUs',
    file: 'steps-mlperf.csv',
    accepts: () => true,
    graph: () => 'samples/resnet50.onnx',
    request: mlperfRequest,
    cluster: ({ cluster = '' }) => machine(cluster),
    target: { statistic: 'mean', most: 0.1 },
    peer: '',
    held: `${unseen}; MXNet with fused normalizations in NHWC is costed as compiled PyTorch in channels-last`,
  },
  {
    title: 'NVIDIA DeepLearningExamples, one GPU',
    file: 'steps-examples.csv',
    accepts: (row) => row.source === 'nvidia',
    graph: exampleGraph,
    request: exampleRequest,
    target: { statistic: 'mean', most: 0.12 },
    peer: '',
    held: unseen,
  },
  {
    title: 'Lambda, one GPU',
    file: 'steps-examples.csv',
    accepts: (row) => row.source === 'lambda',
    graph: exampleGraph,
    request: exampleRequest,
    target: { statistic: 'mean', most: 0.12 },
    peer: '',
    held: `${unseen}; ResNet-50 on RTX 3090 is among timm's rows, which were`,
  },
  {
    title: 'TensorFlow benchmarks, K80 and P100',
    file: 'steps-tensorflow.csv',
    accepts: () => true,
    graph: imageGraph,
    request: trainingBy('tensorflow', 'sgd'),
    target: { statistic: 'mean', most: 0.15 },
    peer: 'Habitat, which measures on a GPU at hand: mean 11.8 % over other networks',
    held: unseen,
  },
  {
    title: 'MXNet, K80 and V100',
    file: 'steps-mxnet.csv',
    accepts: (row) => !setsMxnetUpdate(row),
    graph: imageGraph,
    request: trainingBy('mxnet', 'momentum'),
    peer: 'Habitat: as above',
    held: `${unseen}; what passes around the update of a tensor is set by batches of 1 to 4 on V100, which are not judged`,
  },
  {
    title: 'cnn-benchmarks (jcjohnson), Torch 7 with cuDNN',
    file: 'steps-torch.csv',
    accepts: ({ cudnn }) => cudnn !== 'none',
    graph: torchGraph,
    request: torchRequest,
    target: { statistic: 'mean', most: 0.15 },
    peer: 'Habitat: as above',
    held: `${unseen}; Torch 7 is costed as TensorFlow 1, by the cuDNN of the row`,
  },
  {
    title: 'cnn-benchmarks (jcjohnson), Torch 7 without cuDNN',
    file: 'steps-torch.csv',
    accepts: ({ cudnn }) => cudnn === 'none',
    graph: torchGraph,
    request: torchRequest,
    target: { statistic: 'mean', most: 0.15 },
    peer: 'Habitat: as above',
    held: `${unseen}; Torch 7 is costed as TensorFlow 1 with its own convolution`,
  },
  {
    title: 'torchvision at batch 12 (ryujaehun), training',
    file: 'steps-torchvision.csv',
    accepts: isTraining,
    graph: torchvisionGraph,
    request: torchvisionRequest,
    target: { statistic: 'mean', most: 0.15 },
    peer: 'Habitat: as above',
    held: `${unseen} but for the launch time of each host, one number for training and inference, from other families`,
    hostOf: () => true,
    beside: copyOfImages,
  },
  {
    title: 'torchvision at batch 12 (ryujaehun), inference',
    file: 'steps-torchvision.csv',
    accepts: (row) => !isTraining(row),
    graph: torchvisionGraph,
    request: torchvisionRequest,
    peer: '',
    held: 'as above',
    hostOf: () => true,
    beside: copyOfImages,
  },
  {
    title: 'pycls, V100',
    file: 'steps-pycls.csv',
    accepts: () => true,
    graph: (row) => imageGraph({ model: pyclsModels[row.model ?? ''] ?? '' }),
    request: (row) => ({ ...passOf(row), optimizer: 'none' }),
    target: { statistic: 'mean', most: 0.15 },
    peer: 'Habitat: as above',
    held: unseen,
  },
  timmInference('RTX 4090', 'rtx-4090', 'no', `${unseen}, and nothing of this GPU`),
  timmInference('RTX 4090, compiled', 'rtx-4090', 'yes', 'as above, and nothing compiled was fitted to'),
  timmInference('RTX 5090', 'rtx-5090', 'no', `${unseen}, and nothing of this GPU`),
];

/** Every option is the default but the layout of the images, which the table names. */
function timmInference(title: string, gpu: string, compiled: 'yes' | 'no', held: string): DataSet {
  return {
    title: `timm, inference, ${title}, amp`,
    file: 'steps-timm-inference.csv',
    accepts: (row) => row.gpu === gpu && row.compiled === compiled,
    graph: ({ model = '' }) => timm(model),
    request: (row) => ({
      ...passOf(row),
      mode: 'inference',
      optimizer: 'none',
      framework: {
        name: 'pytorch-ddp',
        // timm runs autocast: its weights stay in fp32.
        options: {
          torch: row.torch ?? '',
          weights: 'fp32',
          'memory-format': row.layout ?? '',
          ...(isCompiled(row) ? { compile: 'true' } : {}),
        },
      },
    }),
    peer: '',
    held,
  };
}

/** Steps that wait for the host alone. */
const setsMxnetUpdate = (row: MeasuredRow): boolean =>
  row.gpu === 'v100-sxm2-16gb' && numberIn(row, 'batch') <= 4;

function trainingBy(framework: string, optimizer: Optimizer): (row: MeasuredRow) => ScenarioRequest {
  return (row) => ({
    ...passOf(row),
    mode: 'training',
    optimizer,
    framework: { name: framework, options: {} },
  });
}

function isTraining(row: MeasuredRow): boolean {
  return row.mode === 'training';
}

function isAmd(row: MeasuredRow): boolean {
  return row.gpu?.startsWith('mi') ?? false;
}

function passOf(row: MeasuredRow): ScenarioRequest {
  const precision = row.precision;
  if (precision !== 'fp32' && precision !== 'tf32' && precision !== 'fp16') {
    throw new Error(`no precision: ${JSON.stringify(row)}`);
  }
  return {
    cluster: row.gpu ?? '',
    batch: numberIn(row, 'batch'),
    precision,
    mode: row.mode === 'inference' ? 'inference' : 'training',
  };
}

function isCompiled(row: MeasuredRow): boolean {
  return row.compiled === 'yes';
}

/** Switch Transformers have a router that depends on the data. */
function transformer(row: MeasuredRow): string | undefined {
  const family = /^(bert|gpt|opt)/.exec(row.model ?? '')?.[0];
  if (family === undefined) return undefined;
  return `measured/models/${family === 'gpt' ? 'gpt2' : family}-eager.layers.yaml#${row.model}`;
}

function eagerTransformer(row: MeasuredRow): ScenarioRequest {
  return {
    ...passOf(row),
    optimizer: 'none',
    framework: { name: 'pytorch-ddp', options: { 'fused-calls': 'false' } },
  };
}

/** By torch.compile of PyTorch 2.1 in its default mode. */
function compiledTransformer(row: MeasuredRow): ScenarioRequest {
  return {
    ...passOf(row),
    optimizer: 'none',
    framework: { name: 'pytorch-ddp', options: { torch: '2.1', 'fused-calls': 'false', compile: 'true' } },
  };
}

/**
 * Pre-training on 512 tokens skips padding: 19 sequences/s in fp32 would otherwise be 19 TFLOP/s on a V100, which has
 * 15.7. How much is skipped is not told.
 */
function exampleGraph(row: MeasuredRow): string | undefined {
  if (row.model === 'bert-large-pretraining-512') return undefined;
  return row.model?.startsWith('bert') ? transformer(row) : imageGraph(row);
}

function exampleRequest(row: MeasuredRow): ScenarioRequest {
  const optimizer = row.optimizer;
  if (optimizer !== 'momentum' && optimizer !== 'adam' && optimizer !== 'none') {
    throw new Error(`no optimizer: ${JSON.stringify(row)}`);
  }
  return {
    ...passOf(row),
    mode: 'training',
    optimizer,
    framework: {
      name: 'pytorch-ddp',
      options: {
        attention: 'eager',
        'memory-format': row.layout ?? 'channels-first',
        ...(row.model?.startsWith('bert') ? bertOptions(row) : {}),
      },
    },
  };
}

/**
 * NVIDIA's BERT trains in half precision by apex O2 with apex's FusedAdam, else by an Adam of its own that takes one tensor
 * after another; fine-tuning clips gradients, pre-training updates once in many passes (DeepLearningExamples,
 * PyTorch/LanguageModeling/BERT: run_squad.py, optimization.py).
 */
const bertOptions = (row: MeasuredRow): Readonly<Record<string, string>> => ({
  ...(row.precision === 'fp16'
    ? { weights: 'half-with-copy', 'optimizer-kernels': 'fused' }
    : { 'optimizer-kernels': 'loop' }),
  'clip-norm': String(isFineTuned(row)),
  gradients: addsGradients(row) ? 'added' : 'new',
});

const isFineTuned = ({ model }: MeasuredRow): boolean => model?.endsWith('squad') === true;

/**
 * Pre-training adds the gradients of its passes. Fine-tuning fills them with zeros where apex does not reset them, by
 * `zero_grad` before PyTorch 2.0: in NVIDIA's containers up to 22.12, which are older than GH200 and B200.
 */
const addsGradients = (row: MeasuredRow): boolean =>
  !isFineTuned(row) || (row.precision !== 'fp16' && row.gpu !== 'gh200' && row.gpu !== 'b200');

/** `model:backward(x, dout)` gives the gradient of the images too. */
function torchRequest(row: MeasuredRow): ScenarioRequest {
  return {
    ...passOf(row),
    optimizer: 'none',
    framework: {
      name: 'tensorflow',
      options: { convolution: convolutionOf(row), 'input-gradient': 'true' },
    },
  };
}

/** Winograd's convolution came with cuDNN 5. */
function convolutionOf({ cudnn = '' }: MeasuredRow): string {
  if (cudnn === 'none') return 'cunn';
  return Number(cudnn) < 5000 ? 'implicit' : 'cudnn';
}

function torchGraph({ gpu, model = '' }: MeasuredRow): string | undefined {
  return gpu === 'cpu' ? undefined : torchGraphs[model];
}

function imageGraph({ model = '' }: MeasuredRow): string | undefined {
  return imageGraphs[model];
}

/** What is timed begins with `model.zero_grad()`, by a release before PyTorch 2.0, all of which do the same here. */
function torchvisionRequest(row: MeasuredRow): ScenarioRequest {
  return {
    ...passOf(row),
    optimizer: 'none',
    framework: { name: 'pytorch-ddp', options: { torch: '1.12' } },
  };
}

/**
 * GTX 1080 Ti and TITAN V were measured by the benchmark's first script, which knows no network that came after torchvision
 * 0.2: there each layer of DenseNet joined what it made to what came in, where later ones join what all layers made.
 */
function torchvisionGraph(row: MeasuredRow): string | undefined {
  const { model = '' } = row;
  return isOfFirstScript(row) && model.startsWith('densenet')
    ? `measured/models/densenet.layers.yaml#${model}`
    : imageGraph(row);
}

const isOfFirstScript = ({ gpu = '' }: MeasuredRow): boolean => ['gtx-1080-ti', 'titan-v'].includes(gpu);

/**
 * The second script (TITAN Xp, TITAN RTX) times `img.to('cuda')` with the step, from memory that a loader's process has just
 * filled. How fast that is, networks show that wait for the host and are not judged: ShuffleNetV2 x0.5, x1.5 and MNASNet 0.5,
 * 0.75 on TITAN RTX take 2.83 ms longer on images of fp32 than on those of fp16, 3.61 MB.
 */
function copyOfImages(row: MeasuredRow): number {
  return isOfFirstScript(row) ? 0 : (numberIn(row, 'batch') * 3 * 224 * 224 * 4) / 1.28e9;
}

const torchvision = (file: string): string => `shared:models/torch-export/torchvision/${file}.onnx.gz`;

const caffe = (folder: string): string => `shared:models/caffe-bvlc/models/${folder}/deploy.prototxt`;

/** AlexNet and GoogLeNet are Caffe's. There is no graph of ResNet-34. */
const torchGraphs: Readonly<Record<string, string>> = {
  alexnet: caffe('bvlc_alexnet'),
  'googlenet-v1': caffe('bvlc_googlenet'),
  vgg16: 'samples/vgg16.onnx',
  vgg19: torchvision('vgg19'),
  'resnet-18': timm('resnet18'),
  'resnet-50': timm('resnet50'),
  'resnet-101': timm('resnet101'),
  'resnet-152': timm('resnet152'),
  'resnet-200': timm('resnet200'),
};

/** Exports for inference stand only for networks that have neither batch normalization nor dropout to lose. */
const imageGraphs: Readonly<Record<string, string>> = {
  alexnet: 'samples/alexnet.onnx',
  vgg16: 'samples/vgg16.onnx',
  resnet50: 'samples/resnet50.onnx',
  mobilenet_v2: 'samples/mobilenet_v2.onnx',
  'inception-v3': torchvision('inception_v3.train'),
  mnasnet1_0: torchvision('mnasnet1_0.train'),
  shufflenet_v2_x1_0: torchvision('shufflenet_v2_x1_0.train'),
  resnet18: timm('resnet18'),
  resnet101: timm('resnet101'),
  resnet152: timm('resnet152'),
  densenet121: timm('densenet121'),
  vgg11_bn: timm('vgg11_bn'),
  wide_resnet50_2: timm('wide_resnet50_2'),
  densenet161: torchvision('densenet161'),
  densenet169: torchvision('densenet169'),
  resnext50_32x4d: 'samples/more/resnext50-32x4d.layers.yaml',
  squeezenet1_0: torchvision('squeezenet1_0'),
  vgg19: torchvision('vgg19'),
  regnetx_006: timm('regnetx_006'),
  regnetx_008: timm('regnetx_008'),
  regnetx_016: timm('regnetx_016'),
  regnetx_032: timm('regnetx_032'),
  regnetx_064: timm('regnetx_064'),
  regnetx_320: timm('regnetx_320'),
  regnety_006: timm('regnety_006'),
  regnety_016: timm('regnety_016'),
  regnety_032: timm('regnety_032'),
  regnety_064: timm('regnety_064'),
};

/** EfficientNets of timm's exports have other image sizes. */
const pyclsModels: Readonly<Record<string, string>> = {
  'ResNet-50': 'resnet50',
  'ResNet-101': 'resnet101',
  'ResNet-152': 'resnet152',
  'ResNeXt-50': 'resnext50_32x4d',
  'RegNetX-600MF': 'regnetx_006',
  'RegNetX-800MF': 'regnetx_008',
  'RegNetX-1.6GF': 'regnetx_016',
  'RegNetX-3.2GF': 'regnetx_032',
  'RegNetX-6.4GF': 'regnetx_064',
  'RegNetX-32GF': 'regnetx_320',
  'RegNetY-600MF': 'regnety_006',
  'RegNetY-1.6GF': 'regnety_016',
  'RegNetY-3.2GF': 'regnety_032',
  'RegNetY-6.4GF': 'regnety_064',
};

/** Gradients in half precision, as MXNet's own; one host process a GPU by Horovod, all-reduces by NCCL during backward. */
function mlperfRequest(row: MeasuredRow): ScenarioRequest {
  return {
    gpus: numberIn(row, 'gpus'),
    nodes: numberIn(row, 'nodes'),
    batch: numberIn(row, 'batch'),
    precision: 'fp16',
    optimizer: 'momentum',
    framework: {
      name: 'pytorch-ddp',
      options: { compile: 'true', 'memory-format': 'channels-last', 'gradient-dtype': 'fp16' },
    },
  };
}
