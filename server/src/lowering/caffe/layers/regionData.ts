/**
 * Images and regions of the R-CNN family, brought by a Python class (roi_data_layer/layer.py of py-faster-rcnn).
 *
 * Sizes are those the class starts with: TRAIN.SCALES and TRAIN.MAX_SIZE of lib/fast_rcnn/config.py.
 */

import { type CaffeLayer, messageOf, textOf } from '../../../formats/caffe/syntax.ts';
import type { DataShapes } from './data.ts';

const imageHeight = 600;
const imageWidth = 1000;
/** TRAIN.BATCH_SIZE, and TRAIN.IMS_PER_BATCH where the class gives regions and not only boxes of the truth. */
const regionsOfStep = 128;
const imagesWithRegions = 2;

export const isRegionData = (layer: CaffeLayer): boolean =>
  /R[oO][iI]\w*Data/.test(textOf(messageOf(layer.fields, 'python_param'), 'layer') ?? '');

/** `given` are sizes from outside: height, width. */
export function regionDataShapes(layer: CaffeLayer, given: ReadonlyMap<string, number>): DataShapes {
  const height = given.get('height') ?? imageHeight;
  const width = given.get('width') ?? imageWidth;
  const givesRegions = layer.tops.some(({ text }) => text === 'rois');
  const images = givesRegions ? imagesWithRegions : 1;
  const message = `An image of 3 × ${height} × ${width} is assumed, as py-faster-rcnn scales them`;
  return {
    shapes: layer.tops.map(({ text }, index) => {
      if (index === 0) return [images, 3, height, width];
      if (text === 'im_info') return [images, 3];
      return text === 'rois' ? [regionsOfStep, 5] : undefined;
    }),
    remark: { severity: 'information', message, unset: ['height', 'width'] },
    used: ['height', 'width'].filter((name) => given.has(name)),
    missing: [],
    problem: undefined,
  };
}
