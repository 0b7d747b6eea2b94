/** A file as training runs it, where the file holds the graph of inference. */

import type { Issue } from '../../model/issue.ts';
import { readableIssues } from '../../model/readableIssues.ts';
import { finish, type Steps } from '../../model/steps.ts';
import { analyzeInSteps } from '../analyzeOnnx.ts';
import { issuesOfRuntimeFusions } from '../issuesOfFusedOperators.ts';
import type { OpenedModel } from '../openedModel.ts';
import { assumedGradients } from './assumedGradients.ts';
import { checkpointedExport } from './checkpointedExport.ts';
import { customBackwardExport } from './customBackwardExport.ts';
import { evaluationExport } from './evaluationExport.ts';
import { type FakeQuantized, withFakeQuantization } from './fakeQuantization.ts';
import type { FoldedNormalization } from './foldedNormalization.ts';
import { lostModules } from './lostModules.ts';
import { lostProjections } from './lostProjections.ts';
import { restoreNormalizations } from './restoreNormalizations.ts';
import { restorePadding } from './restorePadding.ts';
import { runtimeOptimized } from './runtimeOptimized.ts';
import { unrecordedCalls } from './unrecordedCalls.ts';
import { type WrittenOut, writeOutFused } from './writeOutFused.ts';

/**
 * `opened` with what folding took out of its graph put back, and issues that say so; the same object where nothing was. Worked
 * out once for each analysis.
 */
export function* asTrainedInSteps(opened: OpenedModel): Steps<OpenedModel> {
  const { analysis, onnx, structure } = opened;
  if (analysis === undefined || onnx === undefined || structure !== undefined) return opened;
  const known = trainedBefore.get(analysis);
  const found = known ?? (yield* changesOf(opened));
  trainedBefore.set(analysis, found);
  const { issues, ...changes } = found;
  if (issues.length === 0) return opened;
  return { ...opened, ...changes, issues: [...opened.issues, ...readableIssues(issues)] };
}

/** The same at once. */
export const asTrained = (opened: OpenedModel): OpenedModel => finish(asTrainedInSteps(opened));

type Changes = Pick<OpenedModel, 'issues'> & Partial<Pick<OpenedModel, 'analysis' | 'trained'>>;

const trainedBefore = new WeakMap<object, Changes>();

function* changesOf({ analysis, ...file }: OpenedModel): Steps<Changes> {
  const onnx = file.described ?? file.onnx;
  if (analysis === undefined || onnx === undefined) return { issues: [] };
  const fused = writeOutFused(onnx, analysis);
  const rounded = withFakeQuantization(fused?.model ?? onnx);
  const padded = restorePadding(rounded?.model ?? fused?.model ?? onnx);
  const unfused = padded?.model ?? rounded?.model ?? fused?.model ?? onnx;
  const found = restoreNormalizations(unfused, analysis);
  const isFolded = found?.restored.some(({ by }) => by === 'torchscript') ?? false;
  const evaluated = evaluationExport(onnx, isFolded);
  const missing = [
    runtimeOptimized(onnx, fused?.padded) ?? [],
    issuesOfRuntimeFusions(onnx),
    evaluated ?? [],
    lostModules(onnx, analysis) ?? [],
    assumedGradients(onnx) ?? [],
    unrecordedCalls(onnx) ?? [],
    checkpointedExport(onnx) ?? [],
    customBackwardExport(onnx) ?? [],
    lostProjections(onnx) ?? [],
  ].flat();
  const isSame = unfused === onnx;
  if (found === undefined && isSame) return { issues: missing };
  const { model, restored, biases, left } = found ?? {
    model: unfused,
    restored: [],
    biases: 0,
    left: 0,
  };
  const unknown = left === 0 ? [] : [leftFolded(left)];
  if (isSame && restored.length + biases === 0) return { issues: [...unknown, ...missing] };
  yield;
  return {
    analysis: yield* analyzeInSteps(model),
    trained: model,
    issues: [
      ...(fused === undefined ? [] : [writtenOutIssue(fused)]),
      ...(rounded === undefined ? [] : [roundedIssue(rounded)]),
      ...(restored.length === 0 ? [] : [restoredIssue(restored)]),
      ...(biases === 0 ? [] : [restoredBiases(biases)]),
      ...(padded === undefined ? [] : [restoredPaddings(padded.count)]),
      ...unknown,
      ...missing,
    ],
  };
}

const writtenOutIssue = ({ count, first }: WrittenOut): Issue => ({
  code: 'graph/restored-operators',
  severity: 'information',
  message: `${count === 1 ? '1 operator is' : `${count} operators are`} fused or rearranged for inference in the file, first ${first.type} \`${first.name || first.outputs[0]}\`; ${count === 1 ? 'it is' : 'they are'} costed as training runs what ${count === 1 ? 'it was' : 'they were'} made of`,
});

const roundedIssue = ({ count, first }: FakeQuantized): Issue => ({
  code: 'graph/fake-quantization',
  severity: 'information',
  message: `${count === 1 ? '1 tensor is' : `${count} tensors are`} rounded by QuantizeLinear and DequantizeLinear, first \`${first}\`; training costs this as fake quantization, which hands gradients straight through`,
});

function restoredIssue(restored: readonly FoldedNormalization[]): Issue {
  const [first] = restored;
  const count =
    restored.length === 1 ? '1 batch normalization is' : `${restored.length} batch normalizations are`;
  return {
    code: 'graph/restored-normalization',
    severity: 'information',
    message: `${count} folded into other operators in the file, and costed as trained; to export the graph of training, ${howToExport[first?.by ?? 'optimizer']}${first?.by === 'torchscript' ? '. Biases that were beside them left no trace' : ''}`,
  };
}

const howToExport: Readonly<Record<FoldedNormalization['by'], string>> = {
  onnxscript: 'call `torch.onnx.export` with `optimize=False`',
  torchscript:
    'call `torch.onnx.export` with `training=TrainingMode.TRAINING` and `do_constant_folding=False`',
  optimizer: 'take the file from before it was optimized',
};

const restoredBiases = (count: number): Issue => ({
  code: 'graph/restored-bias',
  severity: 'information',
  message: `${count === 1 ? '1 bias is' : `${count} biases are`} 0 before training, so that the exporter left ${count === 1 ? 'it' : 'them'} out of the file; they are costed as trained`,
});

const restoredPaddings = (count: number): Issue => ({
  code: 'graph/restored-padding',
  severity: 'information',
  message: `The exporter put the padding in front of ${count === 1 ? '1 convolution' : `${count} convolutions`} into ${count === 1 ? 'it' : 'them'}; training is costed with a padded copy, as the program has it`,
});

const leftFolded = (count: number): Issue => ({
  code: 'graph/folded-normalization',
  severity: 'warning',
  message: `${count} operators have a batch normalization folded in that could not be restored, as the shape of their weights is unknown; training costs leave it out`,
});
