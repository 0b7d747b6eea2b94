/** Small nets as the forks of Caffe write them: what is costed, what they train, and what is said of them. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { bindTrainingGraph } from '../../../server/src/analysis/bindTrainingGraph.ts';
import { openCaffe } from '../../../server/src/analysis/openModel.ts';

const folder = new URL('nets/', import.meta.url);

function open(file: string) {
  const opened = openCaffe(readFileSync(new URL(file, folder), 'utf8'), file);
  const { analysis } = opened;
  if (analysis === undefined) throw new Error('nothing was read');
  const { costs } = bindTrainingGraph(analysis, new Map([['batch', 1]]), 'training');
  return { ...opened, analysis, costs };
}

test.each(readdirSync(folder))('every operator of %s is costed', (file) => {
  const { issues, costs, analysis } = open(file);
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  const unknown = costs.flatMap((cost, index) =>
    cost.kind === 'unknown' ? [`${analysis.graph.operators[index]?.name}: ${cost.reason}`] : [],
  );
  expect(unknown).toEqual([]);
});

/** What fpn_proposal_target_layer.cpp and decode_bbox_layer.cpp of makefile/frcnn give. */
test('regions of a pyramid: 128 sampled ones over four levels, and as many decoded ones', () => {
  const { analysis } = open('frcnn_pyramid_train.prototxt');
  const { tensors } = bindTrainingGraph(analysis, new Map([['batch', 1]]), 'training');
  const sizeOf = (blob: string) => tensors.get(blob)?.dimensions;
  expect(['rois_1', 'rois_4', 'rois_b'].map(sizeOf)).toEqual([
    [32, 5],
    [32, 5],
    [128, 5],
  ]);
});

/** The first of several sizes is the one that annotated_data_layer.cpp of MobileNet-YOLO sets the net up with. */
test('images of a size drawn for each batch have the first size', () => {
  const { analysis, issues } = open('yolov3_train.prototxt');
  const { tensors } = bindTrainingGraph(analysis, new Map([['batch', 8]]), 'training');
  expect(tensors.get('data')?.dimensions).toEqual([8, 3, 96, 96]);
  expect(issues.map(({ message }) => message)).toContain(
    'Images are resized at random to one of 2 sizes: the first, 96 × 96, is costed',
  );
});

const messagesOf = (file: string): readonly string[] =>
  open(file).issues.map(({ code, severity }) => `${severity} ${code}`);

/** What host layers give, by py-faster-rcnn's lib/fast_rcnn/config.py. */
test('regions of interest: 128 sampled in training, 300 kept in inference, and both are said', () => {
  const resultOf = (file: string, layer: string): readonly number[] | undefined => {
    const { analysis } = open(file);
    const training = bindTrainingGraph(analysis, new Map([['batch', 2]]), 'training');
    const index = analysis.graph.operators.findIndex(({ name }) => name === layer);
    const [output = ''] = analysis.graph.operators[index]?.outputs ?? [];
    return training.tensors.get(output)?.dimensions;
  };
  expect(resultOf('faster_rcnn_train.prototxt', 'fc6/Gemm')).toEqual([2 * 128, 64]);
  expect(resultOf('faster_rcnn_test.prototxt', 'fc6/Gemm')).toEqual([2 * 300, 64]);
  expect(messagesOf('faster_rcnn_test.prototxt')).toEqual([
    'information caffe/data-shape',
    'warning caffe/host-layer',
  ]);
});
