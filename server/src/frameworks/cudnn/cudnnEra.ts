/**
 * Kernels of the frameworks of 2015 to 2019 (Caffe, CNTK, MXNet 1, TensorFlow 1, Chainer): cuBLAS and cuDNN calls,
 * one kernel for every other operator, no fused attention, no TF32. Each tensor is updated by a kernel of its own
 * (TensorFlow ApplyMomentum, MXNet sgd_mom_update, Caffe SGDUpdate).
 */

import type { FrameworkBehaviour } from '../behaviour.ts';
import { prefetchedInput } from '../exchange.ts';
import { type FrameworkOption, oneOf, positiveNumber } from '../options.ts';
import { launchOf, leanLaunch } from '../pytorch/eagerLaunch.ts';
import { optimizerUpdate } from '../pytorch/optimizerUpdate.ts';
import { type ConvolutionKernels, lowerCudnnEra } from './lowerCudnnEra.ts';

export const cudnnEraOptions: readonly FrameworkOption[] = [
  {
    name: 'launch-us',
    default: String(leanLaunch.middle * 1e6),
    documentation: 'host time of one kernel launch in microseconds',
    expects: positiveNumber,
  },
  {
    name: 'convolution',
    default: 'cudnn',
    documentation:
      'cudnn (its choice, the default), implicit (without transforms, as before cuDNN 5), unfolded (image by image, as Caffe without cuDNN) or cunn (the same as Torch 7 does it)',
    expects: oneOf('cudnn', 'implicit', 'unfolded', 'cunn'),
  },
  {
    name: 'input-gradient',
    default: 'false',
    documentation:
      'true: backward also computes the gradient of the model’s inputs, as modules of Torch 7 do',
    expects: oneOf('true', 'false'),
  },
];

export function cudnnEra(
  options: ReadonlyMap<string, string>,
): Pick<FrameworkBehaviour, 'launch' | 'isOld' | 'lower' | 'input' | 'update'> {
  return {
    isOld: true,
    launch: launchOf(Number(options.get('launch-us')) * 1e-6, leanLaunch),
    lower: (training, precision, mode, recomputed) =>
      lowerCudnnEra(
        training,
        precision,
        mode,
        {
          convolution: convolutionOf(options.get('convolution')),
          inputGradient: options.get('input-gradient') === 'true',
        },
        recomputed,
      ),
    input: prefetchedInput,
    update: (optimizer, precision, sizes) => {
      const update = optimizerUpdate(optimizer, 'fused', precision, sizes);
      return {
        ...update,
        // One tensor after another.
        kernels: update.kernels.map(({ lists: _, ...kernel }) => ({
          ...kernel,
          launches: sizes.tensors.length,
        })),
        hostWork: 0,
      };
    },
  };
}

const convolutionOf = (text: string | undefined): ConvolutionKernels => {
  if (text === 'unfolded') return 'caffe';
  return text === 'implicit' || text === 'cunn' ? text : 'cudnn';
};

/** Said by each of them. */
export const cudnnEraNote = 'kernels as eager PyTorch launches them, without TF32 and fused attention';
