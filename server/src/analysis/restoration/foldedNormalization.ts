/**
 * Tells a convolution or matmul that a batch normalization was folded into, by what the folding program left in the file.
 *
 * For inference, exporters multiply the weights by scale ÷ deviation and make a bias of what is left. Training has no such
 * graph. Only evidence that a genuine bias never shows is taken:
 * - onnxscript's rewriter, which `torch.onnx.export` runs by default since PyTorch 2.9, records its rules in the metadata of the
 *   node (`_fuse_batchnorm.py`), keeps the metadata and the result of the normalization, and names a new bias
 *   `<weight>_bias`;
 * - other optimizers keep the name of the normalization's result (ONNX Runtime, onnx-optimizer) or name the constants
 *   `…_fused_bn` (tf2onnx);
 * - PyTorch's TorchScript exporter (`eval_peephole.cpp`, `fuseConvBatchNorm`, 1.2 and later) stores both weight and bias anew,
 *   under numbers, and leaves every other parameter its name.
 */

import type { OnnxModel, OnnxNode } from '../../formats/onnx/syntax.ts';
import { scopeListOf } from '../moduleScope.ts';

export interface FoldedNormalization {
  /** Who folded it, which decides how to export the model as it is trained. */
  readonly by: 'onnxscript' | 'torchscript' | 'optimizer';
  /** Path of the normalization's module, as far as it is known. */
  readonly module: string;
  /** Whether it has a scale and a shift. */
  readonly affine: boolean;
  /** What is recorded of the node is of the normalization, not of the convolution. */
  readonly keepsScope: boolean;
}

/** Operators that normalizations are folded into; what the rules of onnxscript's rewriter are called. */
export const hosts: ReadonlySet<string> = new Set(['Conv', 'ConvTranspose', 'Gemm']);

/** The normalization in `node`; `undefined` where there is none, or it cannot be told. */
export type FindsFolded = (node: OnnxNode) => FoldedNormalization | undefined;

export function findsFolded({ producerName, producerVersion }: OnnxModel): FindsFolded {
  const isPyTorch = producerName === 'pytorch';
  const renumbers = isPyTorch && !/^(0|1\.[01])\./.test(producerVersion);
  return (node) => {
    if (!hosts.has(node.type) || (node.domain !== '' && node.domain !== 'ai.onnx')) return undefined;
    const [, weight = '', bias = ''] = node.inputs;
    const [result = ''] = node.outputs;
    const call = node.metadata.get('pkg.torch.onnx.fx_node') ?? '';
    const scopes = scopeListOf(node);
    const called = scopes?.classes.at(-1) ?? '';
    const ofNormalization = batchNormalizationCall.test(called) || batchNormalizationCall.test(call);
    const isRecorded = rewritten.test(node.metadata.get('pkg.onnxscript.rewriter.rule_name') ?? '');
    if (isRecorded || ofNormalization) {
      const module = ofNormalization ? scopes?.names.slice(1, -1).at(-1) : undefined;
      return {
        by: 'onnxscript',
        module: module ?? besideWeight(weight),
        affine: isAffine(call),
        keepsScope: ofNormalization,
      };
    }
    if (isPyTorch && (bias === `${weight}_bias` || /^getitem(_\d+)?$/.test(result))) {
      return { by: 'onnxscript', module: besideWeight(weight), affine: true, keepsScope: false };
    }
    if (fusedConstant.test(weight) || fusedConstant.test(bias) || resultOfNormalization.test(result)) {
      const path = resultOfNormalization.test(result) ? withoutLast(result) : besideWeight(weight);
      return { by: 'optimizer', module: path, affine: true, keepsScope: false };
    }
    if (renumbers && node.type === 'Conv' && renumbered.test(weight) && renumbered.test(bias)) {
      const path = withoutLast(node.name);
      return { by: 'torchscript', module: besideModule(path), affine: true, keepsScope: false };
    }
    return undefined;
  };
}

/** `FuseBatchNormIntoConv`, `…ConvTranspose`, `…Gemm`. */
const rewritten = /\bFuseBatchNormInto/;

/** The operators that PyTorch's `batch_norm` is made of, in training and in evaluation. */
const batchNormalizationCall =
  /\baten\.(_native_batch_norm_legit\w*|native_batch_norm|cudnn_batch_norm|batch_norm)\b/;

/** PyTorch's node names for the result of a normalization, TensorFlow's, and those of onnxscript. */
const resultOfNormalization =
  /(^|\/)BatchNormalization(_\d+)?_output_0$|(^|\/)FusedBatchNorm(V\d)?(_\d+)?:0$|^_?(native_)?batch_norm(_\w+)?$/;

/** tf2onnx, `optimizer/back_to_back_optimizer.py`. */
const fusedConstant = /_fused_bn(__\d+)?$/;

/** `onnx::Conv_193`, or `193` before PyTorch 1.12. */
const renumbered = /^(onnx::Conv_)?\d+$/;

/** `args = (%conv2d, %p_bn1_weight, %p_bn1_bias, …)`: without scale and shift they are `None`. */
const isAffine = (call: string): boolean => !/args = \(%[\w.]+, None, None,/.test(call);

/** `layer1.0.conv1` of `layer1.0.conv1.weight`. */
export const moduleOfWeight = (weight: string): string => /^(.+)\.weight$/.exec(weight)?.[1] ?? '';

/** Where nothing names the normalization, it is named for the module that it follows. */
const besideModule = (module: string): string => (module === '' ? '' : `${module}.norm`);

const besideWeight = (weight: string): string => besideModule(moduleOfWeight(weight));

/** The path that a slashed name stands in, without its first slash: `layer1/bn` of `/layer1/bn/BatchNormalization`. */
const withoutLast = (name: string): string =>
  name.slice(0, Math.max(0, name.lastIndexOf('/'))).replace(/^\//, '');
