/** The loss that a training step needs and its model lacks, as it is asked for. */

import {
  addCrossEntropy,
  anyLogits,
  hasLoss,
  type Logits,
  type ReturnedLogits,
  tokenLogits,
  tokensOfLastLogits,
} from '../analysis/addLoss.ts';
import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import { type Dimension, printDimension } from '../model/dimension.ts';
import type { Issue } from '../model/issue.ts';
import type { LossChoice, ScenarioRequest } from '../model/scenario.ts';

/** `opened` with its loss, and what there is to say of it; the same object where none is added. */
export function withAddedLoss(
  opened: OpenedModel,
  requests: readonly ScenarioRequest[],
): { readonly opened: OpenedModel; readonly issues: readonly Issue[] } {
  const { analysis } = opened;
  const isTrained = requests.find(({ mode }) => mode !== undefined)?.mode !== 'inference';
  const asked = requests.find(({ loss }) => loss !== undefined)?.loss ?? 'auto';
  if (analysis === undefined || !isTrained || asked === 'none') return { opened, issues: [] };
  const { added, issues } = lossOf(analysis, asked);
  return { opened: added === undefined ? opened : { ...opened, analysis: added }, issues };
}

interface AddedLoss {
  readonly added?: ModelAnalysis;
  readonly issues: readonly Issue[];
}

/** Worked out once for each analysis. */
const known = new WeakMap<ModelAnalysis, Map<LossChoice, AddedLoss>>();

function lossOf(analysis: ModelAnalysis, asked: LossChoice): AddedLoss {
  const choices = known.get(analysis) ?? new Map<LossChoice, AddedLoss>();
  known.set(analysis, choices);
  const found = choices.get(asked) ?? findLoss(analysis, asked);
  choices.set(asked, found);
  return found;
}

function findLoss(analysis: ModelAnalysis, asked: LossChoice): AddedLoss {
  if (hasLoss(analysis)) return { issues: [] };
  const logits = tokenLogits(analysis) ?? (asked === 'auto' ? undefined : anyLogits(analysis));
  if (logits !== undefined) {
    const read = tokensOfLastLogits(analysis, logits);
    return {
      added: addCrossEntropy(analysis, logits, returnedLogits[asked]),
      issues: [addedIssue(logits), ...(read === undefined ? [] : [lastTokenIssue(logits, read)])],
    };
  }
  if (asked === 'auto') return { issues: [] };
  const message =
    'No output of the model has an axis of classes, so that there is nothing to take the cross-entropy of; set `loss` to `none`, or write the loss into the model';
  return { issues: [{ code: 'scenario/invalid', severity: 'error', message, scenarioKey: 'loss' }] };
}

const returnedLogits: Partial<Readonly<Record<LossChoice, ReturnedLogits>>> = {
  'with-logits': 'cast',
  'with-logits-uncast': 'uncast',
};

const addedIssue = ({ shape, layer }: Logits): Issue => ({
  code: 'scenario/added-loss',
  severity: 'information',
  message: `The model has no loss: cross-entropy is costed as its last layer. It follows the logits [${shape.map(printDimension).join(', ')}] of \`${layer}\`; set \`loss\` to \`none\` to leave it out`,
});

const lastTokenIssue = ({ layer }: Logits, read: Dimension): Issue => ({
  code: 'graph/last-token-logits',
  severity: 'warning',
  message: `The model reads ${printDimension(read)} tokens of a sequence and gives the logits of one, at \`${layer}\`. A training step computes all of them, so it takes longer and more memory; export the model with its labels`,
});
