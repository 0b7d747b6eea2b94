/**
 * Layers of detectors that run on the host, between kernels: their tops come from there, and no gradient passes them.
 *
 * Sizes are those of py-faster-rcnn, lib/fast_rcnn/config.py, unless the net or a person gives others.
 */

import {
  type CaffeMessage,
  messageOf,
  numberOf,
  numberOr,
  numbersOf,
  textOf,
} from '../../../formats/caffe/syntax.ts';
import { type Dimension, multiplyDimensions } from '../../../model/dimension.ts';
import type { Tensor } from '../../layer-spec/layerDefinition.ts';
import { any, type CaffeCall, type CaffeLayerDefinition } from '../layerDefinition.ts';
import { shapeOf } from '../shapes.ts';
import { lowerAssumedLoss } from './assumedLoss.ts';

/** TRAIN.RPN_POST_NMS_TOP_N, TEST.RPN_POST_NMS_TOP_N and TRAIN.BATCH_SIZE. */
const proposalsInTraining = 2000;
const proposalsInInference = 300;
const sampledRegions = 128;

const onHost = (call: CaffeCall, what: string): void =>
  call.remark(
    'caffe/host-layer',
    `${what} on the host while the GPU waits: the time of this is not counted`,
    'warning',
  );

/** All tops, whose shapes are those that their readers need. */
const shapeless = (call: CaffeCall): readonly Tensor[] =>
  Array.from({ length: Math.max(1, call.tops) }, (_, index) => call.fromHost(index));

/** `count` rows for each image of a step. */
const rowsFor = (call: CaffeCall, count: number): Dimension => multiplyDimensions(call.batch, count);

/** Regions [image, x1, y1, x2, y2] that are left after suppression, and their scores. */
function lowerProposals(call: CaffeCall): readonly Tensor[] | undefined {
  const stated = numberOf(call.parameters, 'post_nms_topn') ?? numbersOf(call.parameters, 'post_nms_topn')[0];
  const count = call.size('rois', stated ?? (call.isTraining ? proposalsInTraining : proposalsInInference));
  if (stated === undefined) {
    const message = `${count} regions of an image are assumed, as many as py-faster-rcnn keeps`;
    call.remark('caffe/data-shape', message, 'information', ['rois']);
  }
  onHost(call, 'Regions are chosen');
  if (call.layer.type === 'FPNProposal' && call.tops > 1) return regionsOfLevels(call, count);
  const rows = rowsFor(call, count);
  return Array.from({ length: Math.max(1, call.tops) }, (_, index) =>
    call.fromHost(index, [rows, index === 0 ? 5 : 1]),
  );
}

/** As many regions as training samples from an image, with what they should become. */
function lowerProposalTargets(call: CaffeCall): readonly Tensor[] | undefined {
  const count = call.size('sampled_rois', sampledRegions);
  const message = `${count} sampled regions of an image are assumed, as in py-faster-rcnn`;
  call.remark('caffe/data-shape', message, 'information', ['sampled_rois']);
  onHost(call, 'Regions are sampled');
  if (call.layer.type === 'FPNProposalTarget') return regionsOfLevels(call, count);
  return Array.from({ length: Math.max(1, call.tops) }, (_, index) =>
    index === 0 ? call.fromHost(0, [rowsFor(call, count), 5]) : call.fromHost(index),
  );
}

/** Levels of a feature pyramid that regions are given to by their size (fpn_utils.cpp of makefile/frcnn). */
const pyramidLevels = 4;

/** A top of regions for each level; further tops have the shapes that their readers need. */
function regionsOfLevels(call: CaffeCall, count: number): readonly Tensor[] {
  const message = `The regions are assumed to spread evenly over ${pyramidLevels} levels`;
  call.remark('caffe/data-shape', message, 'information');
  const rows = rowsFor(call, Math.ceil(count / pyramidLevels));
  return Array.from({ length: call.tops }, (_, index) =>
    index < pyramidLevels ? call.fromHost(index, [rows, 5]) : call.fromHost(index),
  );
}

/** The regions of the third bottom, each moved by its own prediction. */
function lowerDecodedBoxes(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = call.inputs[2]?.shape;
  if (shape === undefined) return undefined;
  onHost(call, 'Boxes are decoded');
  return [call.fromHost(0, shape)];
}

function lowerTargets(call: CaffeCall): readonly Tensor[] | undefined {
  onHost(call, 'Targets are made');
  return shapeless(call);
}

/** Channels set to 0 at random in training (spatial_dropout.py of ENet). */
function lowerDropoutOnHost(call: CaffeCall): readonly Tensor[] | undefined {
  onHost(call, 'Channels are dropped');
  return [call.emit('Dropout', [call.inputs[0]])];
}

/** Layers that are Python classes, by what the name of the class says: forks keep the word and add to it. */
const pythonLayers: readonly (readonly [RegExp, (call: CaffeCall) => readonly Tensor[] | undefined])[] = [
  [/ProposalTarget/, lowerProposalTargets],
  [/AnchorTarget/, lowerTargets],
  [/Proposal/, lowerProposals],
  [/SpatialDropout/, lowerDropoutOnHost],
  [/Loss/, lowerAssumedLoss],
];

/** What `module.layer` names. */
function lowerPython(call: CaffeCall): readonly Tensor[] | undefined {
  const name = textOf(call.parameters, 'layer') ?? '';
  const known = pythonLayers.find(([pattern]) => pattern.test(name));
  if (known !== undefined) return known[1](call);
  const module = textOf(call.parameters, 'module');
  const named = name === '' || module === undefined ? 'a class' : `\`${module}.${name}\``;
  return call.unknown(`what it computes is Python code, ${named}, which is not part of the net`);
}

/** Boxes [image, class, score, corners] that are left, `keep_top_k` of each image at most. */
function lowerDetections(call: CaffeCall): readonly Tensor[] | undefined {
  const suppression: CaffeMessage | undefined = messageOf(call.parameters, 'nms_param');
  const kept = numberOr(call.parameters, 'keep_top_k', -1);
  const count = kept > 0 ? kept : numberOr(suppression, 'top_k', 0);
  onHost(call, 'Overlapping boxes are suppressed');
  if (count <= 0) return shapeless(call);
  return [call.fromHost(0, [1, 1, rowsFor(call, count), 7])];
}

/** Labels of all positions, made to agree with their neighbours by an inference of several rounds. */
function lowerRandomField(call: CaffeCall): readonly Tensor[] | undefined {
  onHost(call, 'A random field is inferred');
  return Array.from({ length: Math.max(1, call.tops) }, (_, index) => call.fromHost(index, shapeOf(call)));
}

const hostLayer = { bottoms: [0, any], tops: [0, any], readsOnHost: true } as const;

export const hostLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'DenseCRF',
    documentation: 'A fully connected random field over positions.',
    source: 'densecrf_layer.cpp of DeepLab',
    parameters: 'dense_crf_param',
    ...hostLayer,
    lower: lowerRandomField,
  },
  {
    type: 'GenerateAugmentationParameters',
    aliases: ['UniqueLabel'],
    documentation: 'How images are to be moved and coloured; labels of an image.',
    source: 'generate_augmentation_parameters_layer.cpp of FlowNet 2',
    parameters: 'augmentation_param',
    ...hostLayer,
    lower: shapeless,
  },
  {
    type: 'Python',
    documentation: 'Whatever its Python class computes.',
    source: 'python_layer.hpp; lib/rpn of py-faster-rcnn',
    parameters: 'python_param',
    ...hostLayer,
    lower: lowerPython,
  },
  {
    type: 'Proposal',
    aliases: [
      'RPN',
      'RPNProposal',
      'ProposalLayer',
      'SimplerNMS',
      'BoxOutput',
      'BoxGroupOutput',
      'FrcnnProposal',
      'FPNProposal',
    ],
    documentation: 'Regions of interest from scores and shifts of anchors.',
    source: 'proposal_layer.cpp of PVANET and of Intel Caffe; frcnn_proposal_layer.cpp of makefile/frcnn',
    parameters: 'proposal_param',
    ...hostLayer,
    lower: lowerProposals,
  },
  {
    type: 'FrcnnProposalTarget',
    aliases: ['FPNProposalTarget'],
    documentation: 'Regions sampled for training, with their labels and targets.',
    source: 'frcnn_proposal_target_layer.cpp and fpn_proposal_target_layer.cpp of makefile/frcnn',
    ...hostLayer,
    lower: lowerProposalTargets,
  },
  {
    type: 'FrcnnAnchorTarget',
    aliases: ['FPNAnchorTarget'],
    documentation: 'Labels and targets of anchors.',
    source: 'frcnn_anchor_target_layer.cpp of makefile/frcnn',
    ...hostLayer,
    lower: lowerTargets,
  },
  {
    type: 'DecodeBBox',
    documentation: 'Regions moved by the predictions for them.',
    source: 'decode_bbox_layer.cpp of Cascade R-CNN, as in makefile/frcnn',
    parameters: 'bbox_reg_param',
    ...hostLayer,
    lower: lowerDecodedBoxes,
  },
  {
    type: 'DetectionOutput',
    aliases: [
      'RegionOutput',
      'YoloDetectionOutput',
      'Yolov3DetectionOutput',
      'DetectionOutputYolo',
      'YoloDetection',
    ],
    documentation: 'Boxes that are left after suppression of overlapping ones.',
    source: 'detection_output_layer.cpp of SSD',
    parameters: 'detection_output_param',
    ...hostLayer,
    lower: lowerDetections,
  },
  {
    type: 'DetectionEvaluate',
    aliases: [
      'SegAccuracy',
      'SemanticSegAccuracy',
      'EvalAccuracy',
      'MultiLabelAccuracy',
      'LabelsequenceAccuracy',
      'CTCGreedyDecoder',
      'CTCDecoder',
    ],
    documentation: 'What a measure counts: boxes that are found, labels that are right.',
    source: 'detection_evaluate_layer.cpp of SSD; seg_accuracy_layer.cpp of DeepLab',
    parameters: 'detection_evaluate_param',
    ...hostLayer,
    lower: lowerTargets,
  },
  {
    type: 'Nms',
    documentation: 'Peaks of every map.',
    source: 'nms_layer.cpp of OpenPose',
    parameters: 'nms_param',
    ...hostLayer,
    lower: lowerTargets,
  },
  {
    type: 'BoxAnnotatorOHEM',
    documentation: 'Labels and weights of the regions with the largest losses.',
    source: 'box_annotator_ohem_layer.cpp of R-FCN',
    parameters: 'box_annotator_ohem_param',
    ...hostLayer,
    lower: lowerTargets,
  },
];
