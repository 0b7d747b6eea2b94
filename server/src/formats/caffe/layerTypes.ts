/** Types of the older generation of layers, by the names they have now (BVLC Caffe, src/caffe/util/upgrade_proto.cpp). */

/** The present name of an upper-case type; `undefined` for `NONE` and what is no type. */
export function presentLayerType(type: string): string | undefined {
  return presentNames.get(type);
}

const presentNames: ReadonlyMap<string, string> = new Map([
  ['ABSVAL', 'AbsVal'],
  ['ACCURACY', 'Accuracy'],
  ['ARGMAX', 'ArgMax'],
  ['BNLL', 'BNLL'],
  ['CONCAT', 'Concat'],
  ['CONTRASTIVE_LOSS', 'ContrastiveLoss'],
  ['CONVOLUTION', 'Convolution'],
  ['DATA', 'Data'],
  ['DECONVOLUTION', 'Deconvolution'],
  ['DROPOUT', 'Dropout'],
  ['DUMMY_DATA', 'DummyData'],
  ['ELTWISE', 'Eltwise'],
  ['EUCLIDEAN_LOSS', 'EuclideanLoss'],
  ['EXP', 'Exp'],
  ['FLATTEN', 'Flatten'],
  ['HDF5_DATA', 'HDF5Data'],
  ['HDF5_OUTPUT', 'HDF5Output'],
  ['HINGE_LOSS', 'HingeLoss'],
  ['IM2COL', 'Im2col'],
  ['IMAGE_DATA', 'ImageData'],
  ['INFOGAIN_LOSS', 'InfogainLoss'],
  ['INNER_PRODUCT', 'InnerProduct'],
  ['LRN', 'LRN'],
  ['MEMORY_DATA', 'MemoryData'],
  ['MULTINOMIAL_LOGISTIC_LOSS', 'MultinomialLogisticLoss'],
  ['MVN', 'MVN'],
  ['POOLING', 'Pooling'],
  ['POWER', 'Power'],
  ['RELU', 'ReLU'],
  ['SIGMOID', 'Sigmoid'],
  ['SIGMOID_CROSS_ENTROPY_LOSS', 'SigmoidCrossEntropyLoss'],
  ['SILENCE', 'Silence'],
  ['SLICE', 'Slice'],
  ['SOFTMAX', 'Softmax'],
  ['SOFTMAX_LOSS', 'SoftmaxWithLoss'],
  ['SPLIT', 'Split'],
  ['TANH', 'TanH'],
  ['THRESHOLD', 'Threshold'],
  ['WINDOW_DATA', 'WindowData'],
]);
