/** From the text of a Caffe net to its analysis: as training runs it, and as inference does where that differs. */

import { readCaffeNet } from '../formats/caffe/readCaffeNet.ts';
import type { CaffeNet } from '../formats/caffe/syntax.ts';
import { lowerCaffe } from '../lowering/caffe/lowerCaffe.ts';
import { isWhole, type NetInPhase, netInPhase, ruleIssues } from '../lowering/caffe/netState.ts';
import type { Issue } from '../model/issue.ts';
import { readableIssues } from '../model/readableIssues.ts';
import { analyzeOnnx } from './analyzeOnnx.ts';
import type { OpenedModel } from './openedModel.ts';

/** `dimensions` gives the sizes that the net leaves to its data: channels, height, width, features. */
export function openCaffeNet(
  text: string,
  name: string,
  dimensions: ReadonlyMap<string, number>,
): OpenedModel {
  const { net, issues } = readCaffeNet(text);
  if (net === undefined) {
    return { format: 'prototxt', name, analysis: undefined, onnx: undefined, scenario: {}, issues };
  }
  const found = [...issues, ...ruleIssues(net)];
  const open = (state: NetInPhase): OpenedModel => openInPhase(net, state, name, dimensions, found);
  const train = netInPhase(net, 'TRAIN');
  const test = netInPhase(net, 'TEST');
  const isSame =
    train.layers.length === test.layers.length &&
    train.layers.every((layer, index) => layer === test.layers[index]);
  // A net that no data comes into in a phase was written for the other one.
  if (isSame || !isWhole(net, test)) return open(train);
  if (!isWhole(net, train)) return open(test);
  let inference: OpenedModel | undefined;
  return {
    ...open(train),
    inference: () => {
      inference ??= open(test);
      return inference;
    },
  };
}

function openInPhase(
  net: CaffeNet,
  state: NetInPhase,
  name: string,
  dimensions: ReadonlyMap<string, number>,
  found: readonly Issue[],
): OpenedModel {
  const { model, structure, issues, spanOfNode } = lowerCaffe(net, state, dimensions);
  const analysis = analyzeOnnx(model, structure);
  // What the graph says of an operator is said at the layer it was lowered from.
  const placed = analysis.issues.map((issue): Issue => {
    const span = issue.operator === undefined ? undefined : spanOfNode(issue.operator);
    return span === undefined ? issue : { ...issue, span };
  });
  return {
    format: 'prototxt',
    name: net.name || name,
    analysis,
    onnx: model,
    structure,
    caffeNet: net,
    scenario: {},
    issues: readableIssues([...found, ...issues, ...placed]),
  };
}
