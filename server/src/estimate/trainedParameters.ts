/** Which parameters a person says are trained: all but frozen ones, or low-rank adapters beside linear layers. */

import { addAdapters } from '../analysis/adapters/addAdapters.ts';
import { quantizeBase } from '../analysis/adapters/quantizeBase.ts';
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

/** A model of which some parameters are not trained. With adapters these are all, unless the request names some itself. */
export function withTrainedParameters(
  opened: OpenedModel,
  requests: readonly ScenarioRequest[],
): { readonly opened: OpenedModel; readonly issues: readonly Issue[] } {
  const { analysis } = opened;
  const mode = requests.find((request) => request.mode !== undefined)?.mode;
  const lora = requests.find((request) => request.lora !== undefined)?.lora;
  const patterns = requests.find(({ freeze }) => freeze !== undefined)?.freeze ?? [];
  if (analysis === undefined || (lora === undefined && patterns.length === 0)) return { opened, issues: [] };
  const frozen = frozenBy(analysis, patterns);
  // Nothing is trained in inference, and a pattern that names nothing is a mistake all the same.
  if (mode === 'inference') return { opened, issues: frozen.issues };
  if (lora !== undefined) {
    const base = patterns.length === 0 ? freezeParameters(analysis, ['*']) : frozen;
    const adapted = withAdapters(base.analysis, lora);
    return {
      opened: { ...opened, analysis: adapted.analysis },
      issues: [...frozen.issues, ...adapted.issues],
    };
  }
  const isNothingLeft = frozen.analysis.parameters.length === 0 && analysis.parameters.length > 0;
  return {
    opened: { ...opened, analysis: frozen.analysis },
    issues: isNothingLeft ? [...frozen.issues, nothingTrained(patterns)] : frozen.issues,
  };
}

interface Changed {
  readonly analysis: ModelAnalysis;
  readonly issues: readonly Issue[];
}

/** A pattern that names none is a mistake. */
function frozenBy(before: ModelAnalysis, patterns: readonly string[]): Changed {
  const { analysis, unmatched, names } = freezeParameters(before, patterns);
  const issues = unmatched.map(
    (pattern): Issue => ({
      code: 'scenario/invalid',
      severity: 'error',
      message: `No parameter or module matches \`${pattern}\`${didYouMean(pattern.replace(/^!/, ''), names)}; write a name, with \`*\` for any characters`,
      scenarioKey: 'freeze',
    }),
  );
  return { analysis, issues };
}

/** PyTorch refuses the backward of such a loss; the forward is still worth knowing. */
const nothingTrained = (patterns: readonly string[]): Issue => ({
  code: 'scenario/invalid',
  severity: 'warning',
  message: `\`freeze\` leaves no parameter to train (${patterns.join(', ')}), so that the step has no backward and no update; freeze less, or set \`mode\` to \`inference\``,
  scenarioKey: 'freeze',
});

/** Worked out once for each analysis and request. */
const withAdapters = memoizeRecent((before: ModelAnalysis, lora: LowRankAdapters): Changed => {
  const base = lora.base === undefined ? before : quantizeBase(before, lora.base);
  const { analysis, adapted, unmatched, names } = addAdapters(base, lora);
  const unknown = unmatched.map(
    (pattern): Issue => ({
      code: 'scenario/invalid',
      severity: 'error',
      message: `No linear layer matches \`${pattern}\`${didYouMean(pattern, names)}; write a name or its end, with \`*\` for any characters`,
      scenarioKey: 'lora',
    }),
  );
  if (adapted > 0) return { analysis, issues: [...unknown, addedIssue(analysis, lora, adapted)] };
  return { analysis, issues: unknown.length > 0 ? unknown : [nothingAdapted] };
}, isSameContent);

const addedIssue = (
  { parameters, frozen }: ModelAnalysis,
  { rank, base }: LowRankAdapters,
  adapted: number,
): Issue => {
  const inFormat = totalElements(frozen.filter(({ format }) => format !== undefined));
  const based = base === undefined ? '' : `, ${formatCount(inFormat)} of them in ${base}`;
  return {
    code: 'scenario/added-adapters',
    severity: 'information',
    message: `LoRA adds adapters of rank ${rank} to ${counted(adapted, 'linear layer')}: ${formatCount(totalElements(parameters))} parameters are trained, and ${formatCount(totalElements(frozen))} are not${based}`,
  };
};

const nothingAdapted: Issue = {
  code: 'scenario/invalid',
  severity: 'error',
  message:
    'The model has no linear layer before its head, so that LoRA adds no adapters; name layers with `layers`, or leave `lora` out',
  scenarioKey: 'lora',
};
