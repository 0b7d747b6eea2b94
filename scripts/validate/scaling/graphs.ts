/** Graphs of the networks that were measured on several GPUs, as `OpenGraph` takes them. */

export function scaledGraph(model: string): string {
  const path = paths[model];
  if (path === undefined) throw new Error(`no graph of ${model}`);
  return path;
}

const timm = (name: string): string => `shared:models/timm-train/${name}.onnx.gz`;
const torchvision = (name: string): string => `shared:models/torch-export/torchvision/${name}.onnx.gz`;
const bert = (name: string): string => `measured/models/bert-eager.layers.yaml#${name}`;

const paths: Readonly<Record<string, string>> = {
  alexnet: 'samples/alexnet.onnx',
  vgg16: 'samples/vgg16.onnx',
  resnet50: 'samples/resnet50.onnx',
  'resnet-50': 'samples/resnet50.onnx',
  resnet101: timm('resnet101'),
  resnet152: timm('resnet152'),
  'inception-v3': torchvision('inception_v3.train'),
  'inception-v4': timm('inception_v4'),
  densenet161: torchvision('densenet161'),
  densenet201: 'measured/models/densenet.layers.yaml#densenet201',
  googlenet: 'shared:models/caffe-bvlc/models/bvlc_googlenet/train_val.prototxt',
  'bert-base': bert('bert-base-tied-128'),
  'bert-base-64': bert('bert-base-tied-64'),
  'bert-large-64': bert('bert-large-tied-64'),
  'bert-base-squad': bert('bert-base-squad'),
  'bert-large-squad': bert('bert-large-squad'),
};
