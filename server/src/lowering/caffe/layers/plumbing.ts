/** Layers that compute nothing (src/caffe/layers/silence_layer.cpp, hdf5_output_layer.cpp, parameter_layer.hpp). */

import { messageOf, numbersOf } from '../../../formats/caffe/syntax.ts';
import { any, type CaffeLayerDefinition } from '../layerDefinition.ts';

export const plumbingLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'Silence',
    documentation: 'Nothing: it only keeps blobs from being outputs of the net.',
    source: 'silence_layer.cpp',
    bottoms: [1, any],
    tops: [0, 0],
    readsOnHost: true,
    lower: () => [],
  },
  {
    type: 'HDF5Output',
    aliases: ['FLOWriter', 'IMGWriter', 'PFMWriter', 'MatWrite', 'Print'],
    documentation: 'Writes blobs to a file; nothing of it runs on a GPU.',
    source: 'hdf5_output_layer.cpp',
    parameters: 'hdf5_output_param',
    bottoms: [1, any],
    tops: [0, 0],
    readsOnHost: true,
    lower: () => [],
  },
  {
    type: 'GradientScaler',
    aliases: ['GradientReversal'],
    documentation: 'What comes in; its gradient is scaled or turned round.',
    source:
      'gradient_scaler_layer.cpp of the fork for domain adaptation (Ganin and Lempitsky, arXiv 1409.7495)',
    parameters: 'gradient_scaler_param',
    bottoms: [1, 1],
    tops: [1, 1],
    lower: (call) => [call.emit('Identity', [call.inputs[0]])],
  },
  {
    type: 'DetectNetTransformation',
    documentation: 'Images augmented on the GPU, and labels drawn on a grid of boxes.',
    source: 'detectnet_transform_layer.cu of NVIDIA',
    parameters: 'detectnet_augmentation_param',
    otherParameters: ['detectnet_groundtruth_param'],
    bottoms: [2, 2],
    tops: [2, 2],
    readsOnHost: true,
    lower: (call) => [call.emit('Sub', [call.inputs[0], call.scalar(0)]), call.fromHost(1)],
  },
  {
    type: 'Parameter',
    documentation: 'A trained blob.',
    source: 'parameter_layer.hpp',
    parameters: 'parameter_param',
    bottoms: [0, 0],
    tops: [1, 1],
    lower: (call) => {
      const dims = numbersOf(messageOf(call.parameters, 'shape'), 'dim');
      if (dims.length === 0 || dims.some((size) => size < 1))
        return call.missing('shape', 'give the dimensions');
      return [call.weight(0, 'blob', dims)];
    },
  },
];
