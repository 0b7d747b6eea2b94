/** Which parameters a person says are trained: all but frozen ones, or low-rank adapters beside linear layers. */

import { addAdapters } from '../analysis/adapters/addAdapters.ts';
import { freezeParameters } from '../analysis/freezeParameters.ts';
import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import { counted } from '../model/counted.ts';
import { formatCount } from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { didYouMean } from '../model/nearestName.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { LowRankAdapters, ScenarioRequest } from '../model/scenario.ts';
import { totalElements } from '../model/totalElements.ts';

interface Trained {
  readonly opened: OpenedModel;
  readonly issues: readonly Issue[];
}

/** A model of which some parameters are not trained. With adapters these are all, unless the request names some itself. */
export function withTrainedParameters(opened: OpenedModel, requests: readonly ScenarioRequest[]): Trained {
  const mode = requests.find((request) => request.mode !== undefined)?.mode;
  const lora =
    mode === 'inference' ? undefined : requests.find((request) => request.lora !== undefined)?.lora;
  const given = requests.find(({ freeze }) => freeze !== undefined)?.freeze;
  const { opened: frozen, issues } = withFrozenParameters(
    opened,
    given ?? (lora === undefined ? [] : ['*']),
    lora,
  );
  if (lora === undefined || frozen.analysis === undefined) return { opened: frozen, issues };
  const adapted = withAdapters(frozen.analysis, lora);
  return { opened: { ...frozen, analysis: adapted.analysis }, issues: [...issues, ...adapted.issues] };
}

/** A pattern that names none is a mistake. */
function withFrozenParameters(
  opened: OpenedModel,
  patterns: readonly string[],
  lora: LowRankAdapters | undefined,
): Trained {
  if (opened.analysis === undefined || patterns.length === 0) return { opened, issues: [] };
  const { analysis, unmatched, names } = freezeParameters(opened.analysis, patterns);
  // A model without parameters has none for `*`, which nobody wrote.
  const unknown =
    opened.analysis.parameters.length === 0 && lora !== undefined
      ? []
      : unmatched.map(
          (pattern): Issue => ({
            code: 'scenario/invalid',
            severity: 'error',
            message: `No parameter or module matches \`${pattern}\`${didYouMean(pattern.replace(/^!/, ''), names)}; write a name, with \`*\` for any characters`,
            scenarioKey: 'freeze',
          }),
        );
  const isNothingLeft =
    analysis.parameters.length === 0 && opened.analysis.parameters.length > 0 && lora === undefined;
  return {
    opened: { ...opened, analysis },
    issues: isNothingLeft ? [...unknown, nothingTrained(patterns)] : unknown,
  };
}

/** PyTorch refuses the backward of such a loss; the forward is still worth knowing. */
const nothingTrained = (patterns: readonly string[]): Issue => ({
  code: 'scenario/invalid',
  severity: 'warning',
  message: `\`freeze\` leaves no parameter to train (${patterns.join(', ')}), so that the step has no backward and no update; freeze less, or set \`mode\` to \`inference\``,
  scenarioKey: 'freeze',
});

/** The graph with adapters, and what there is to say of it; worked out once for each analysis and request. */
const withAdapters = memoizeRecent(
  (
    before: ModelAnalysis,
    lora: LowRankAdapters,
  ): { readonly analysis: ModelAnalysis; readonly issues: readonly Issue[] } => {
    const { analysis, adapted, unmatched, names } = addAdapters(before, lora);
    const unknown = unmatched.map(
      (pattern): Issue => ({
        code: 'scenario/invalid',
        severity: 'error',
        message: `No linear layer matches \`${pattern}\`${didYouMean(pattern, names)}; write a name or its end, with \`*\` for any characters`,
        scenarioKey: 'lora',
      }),
    );
    if (adapted > 0) return { analysis, issues: [...unknown, addedIssue(before, analysis, lora, adapted)] };
    return { analysis, issues: unknown.length > 0 ? unknown : [nothingAdapted] };
  },
  isSameContent,
);

const addedIssue = (
  before: ModelAnalysis,
  { parameters }: ModelAnalysis,
  { rank }: LowRankAdapters,
  adapted: number,
): Issue => ({
  code: 'scenario/added-adapters',
  severity: 'information',
  message: `LoRA adds adapters of rank ${rank} to ${counted(adapted, 'linear layer')}: ${formatCount(totalElements(parameters))} parameters are trained, and ${formatCount(totalElements(before.frozen))} are not`,
});

const nothingAdapted: Issue = {
  code: 'scenario/invalid',
  severity: 'error',
  message:
    'The model has no linear layer before its head, so that LoRA adds no adapters; name layers with `layers`, or leave `lora` out',
  scenarioKey: 'lora',
};
