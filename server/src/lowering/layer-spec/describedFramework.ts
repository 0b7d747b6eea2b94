/** The framework that a layer spec's scenario names as a file beside it: `framework: ./mine.yaml`. */

import type { ReadFramework } from '../../formats/framework/readFrameworkDescription.ts';
import { includePath } from '../../formats/layer-spec/includePath.ts';
import type { SelectedModel } from '../../formats/layer-spec/selectModel.ts';
import { locateIssues } from '../../formats/locateIssues.ts';
import type { Issue } from '../../model/issue.ts';
import { isFrameworkPath, type ScenarioRequest } from '../../model/scenario.ts';
import type { ReadInclude } from './blockTable.ts';

/**
 * The scenario with what the file says, or with why that cannot be used: it is then not costed. Without `describe`,
 * which reads such a file, the scenario keeps its path.
 */
export function describeFramework(
  { scenario, scenarioSpans }: Pick<SelectedModel, 'scenario' | 'scenarioSpans'>,
  path: string,
  read: ReadInclude | undefined,
  describe: ((text: string) => ReadFramework) | undefined,
): ScenarioRequest {
  const { framework } = scenario;
  if (framework === undefined || !isFrameworkPath(framework.name) || describe === undefined) return scenario;
  const span = scenarioSpans.get('framework');
  const problem = (code: Issue['code'], message: string): Issue => ({
    code,
    severity: 'error',
    message,
    ...(span === undefined ? {} : { span }),
  });
  const without = (...problems: readonly Issue[]): ScenarioRequest => ({
    ...scenario,
    framework: { ...framework, problems },
  });
  const found = includePath(framework.name, path);
  if ('problem' in found) {
    const reason = /\.json$/i.test(framework.name)
      ? 'a layer spec takes descriptions in YAML (*.yaml, *.yml)'
      : found.problem;
    return without(problem('framework/file', `\`${framework.name}\`: ${reason}`));
  }
  const text = read?.(found.path);
  if (text === undefined) {
    const message = `There is no file \`${found.path}\` beside the layer spec that describes a framework; write it, or name a built-in one`;
    return without(problem('framework/file', message));
  }
  const { description, issues } = describe(text);
  if (description !== undefined) {
    return { ...scenario, framework: { name: description.name, options: framework.options, description } };
  }
  // Their places are those of another text than the spec's, so they are said in words.
  return without(
    ...locateIssues(issues, text).map(({ code, message }) => problem(code, `${found.path}: ${message}`)),
  );
}
