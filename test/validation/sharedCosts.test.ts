/** Every model file at hand is costed, in training and in inference: what a file leaves unknown is unknown, and no exception. */

import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { modes } from '../../server/src/model/scenario.ts';
import { readShared, sharedFiles, sharedTestName } from '../support/sharedModels.ts';

const isModel = /\.(onnx|onnxtxt|prototxt|layers\.yaml|pt2)(\.gz)?$/;

test(sharedTestName('no shared model ends in an exception'), () => {
  const failed = sharedFiles(isModel, '.').flatMap((path) => {
    const opened = openModel(byteSourceOfBuffer(readShared(path)), basename(path));
    return modes.flatMap((mode) => {
      try {
        estimateModel(opened, [{ cluster: 'a100-sxm-80gb', precision: 'bf16', mode }]);
        return [];
      } catch (error) {
        return [`${path} in ${mode}: ${error}`];
      }
    });
  });
  expect(failed).toEqual([]);
}, 600_000);
