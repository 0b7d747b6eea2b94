/** Classical models: shapes from ONNX docs/Operators-ml.md, work counted by hand. */

import { expect, test } from 'vitest';
import { type Application, costText, inferText, outputsOf } from './check.ts';

const ml = (
  type: string,
  inputs: Application['inputs'],
  attributes: Application['attributes'] = {},
  outputs = 1,
  opset = 5,
): Application => ({ type, domain: 'ai.onnx.ml', opset, inputs, attributes, outputs });

const shapeRows: readonly (readonly [string, Application, readonly string[]])[] = [
  ['scores as float', ml('Scaler', ['int64[N, 4]']), ['float32[N, 4]']],
  ['thresholds keep the type', ml('Binarizer', ['float64[N, 4]']), ['float64[N, 4]']],
  ['one axis more', ml('OneHotEncoder', ['int64[N, 4]'], { cats_int64s: [1, 2, 3] }), ['float32[N, 4, 3]']],
  [
    'strings for integers',
    ml('LabelEncoder', ['int64[N]'], { keys_int64s: [1, 2], values_strings: ['a', 'b'] }),
    ['string[N]'],
  ],
  [
    'version 1: classes by position',
    ml('LabelEncoder', ['string[N]'], { classes_strings: ['a'] }, 1, 1),
    ['int64[N]'],
  ],
  [
    'a label and scores for each sample',
    ml('LinearClassifier', ['float32[N, 4]'], { classlabels_ints: [0, 1, 2] }, 2),
    ['int64[N]', 'float32[N, 3]'],
  ],
  [
    'a single sample without its axis',
    ml('LinearClassifier', ['float32[4]'], { classlabels_strings: ['a', 'b'] }, 2),
    ['string[1]', 'float32[1, 2]'],
  ],
  ['targets', ml('TreeEnsembleRegressor', ['float32[N, 4]'], { n_targets: 5 }), ['float32[N, 5]']],
  [
    'features at positions',
    ml('ArrayFeatureExtractor', ['float32[3, 4, 5]', 'int64[2]']),
    ['float32[3, 4, 2]'],
  ],
  ['features of one sample', ml('ArrayFeatureExtractor', ['float32[5]', 'int64[2]']), ['float32[1, 2]']],
  [
    'vectors joined',
    ml('FeatureVectorizer', ['float32[N, 4]', 'float32[N, 2]'], { inputdimensions: [4, 2] }),
    ['float32[N, 6]'],
  ],
  [
    'a map for each sample',
    ml('ZipMap', ['float32[N, 2]'], { classlabels_int64s: [0, 1] }),
    ['sequence(map)'],
  ],
];

test.each(shapeRows)('shape: %s', (_, application, expected) => {
  expect(outputsOf(application)).toEqual(expected);
});

test('a linear model is a product, trees are comparisons', () => {
  const linear = costText(ml('LinearRegressor', ['float32[6, 4]'], { targets: 3 }));
  expect(linear.forward.flops).toBe(2 * 6 * 4 * 3);
  // Two trees of four leaves: two comparisons down each, one addition at its end, and the score.
  const trees = costText(
    ml('TreeEnsemble', ['float32[6, 4]'], {
      n_targets: 1,
      tree_roots: [0, 3],
      leaf_targetids: [0, 0, 0, 0, 0, 0, 0, 0],
      leaf_weights: [1, 1, 1, 1, 1, 1, 1, 1],
      nodes_featureids: [0],
      nodes_splits: [1],
      nodes_modes: [0],
      nodes_truenodeids: [0],
      nodes_falsenodeids: [0],
      nodes_trueleafs: [1],
      nodes_falseleafs: [1],
    }),
  );
  expect(trees.forward.operations).toBe(6 * (2 * (2 + 1) + 1));
  expect(trees.forward.flops).toBe(0);
});

const refused: readonly (readonly [string, Application, RegExp])[] = [
  ['no categories', ml('OneHotEncoder', ['int64[N]']), /exactly one of cats_int64s, cats_strings/],
  [
    'tables of different length',
    ml('CategoryMapper', ['int64[N]'], { cats_int64s: [1, 2], cats_strings: ['a'] }),
    /belong together in pairs/,
  ],
  [
    'nodes of different count',
    ml('TreeEnsemble', ['float32[N, 4]'], { nodes_featureids: [0, 1], nodes_splits: [1] }),
    /both have one per node/,
  ],
];

test.each(refused)('refused: %s', (_, application, message) => {
  expect(inferText(application).problem?.message).toMatch(message);
  expect(inferText(application).problem?.code).toBe('graph/invalid-operator');
});
