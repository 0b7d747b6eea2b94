/** `fix`: changes of the scenario that help with the findings of a step, each costed. */

import { z } from 'zod';
import type { ModelEstimate } from '../../estimate/estimateModel.ts';
import { scenarioFixes } from '../../language/scenarioFixes.ts';
import type { ScenarioChange } from '../../model/scenarioChange.ts';
import type { Finding } from '../../model/stepCost.ts';
import { costModelFile } from '../costFile.ts';
import { WrongArgument } from '../optionValues.ts';
import { costGiven } from './costGiven.ts';
import { modelPath } from './modelPath.ts';
import { type GivenScenario, readGivenScenario, scenarioSchema } from './scenarioSchema.ts';
import { toolOf, wrong } from './tool.ts';

export const fixTool = toolOf({
  name: 'fix',
  title: 'Find costed fixes',
  description:
    'For the findings of an estimate: changes of the scenario that help, each costed with the engine, with what it saves and the changed scenario to pass on to estimate. A change that makes the step no better is not offered. No file is changed.',
  input: z.strictObject({
    file: modelPath,
    scenario: scenarioSchema.default({}),
    code: z.string().optional().describe('Of one finding alone, such as findings/out-of-memory'),
  }),
  run: async ({ file, scenario, code }) => {
    const costed = await costGiven(file, scenario);
    if (typeof costed === 'string') return wrong(costed);
    const before = costed.estimate;
    const findings = firstOfEach(before.cost?.findings ?? []).filter(
      (finding) => code === undefined || finding.code === code || finding.code === `findings/${code}`,
    );
    if (findings.length === 0)
      return { text: code === undefined ? 'The step has no findings.' : `The step has no finding ${code}.` };
    const recost = (change: ScenarioChange): ModelEstimate => {
      const changed = scenarioWith(scenario, change);
      try {
        return costModelFile(costed.file, readGivenScenario(changed).request);
      } catch (error) {
        // Two options that exclude each other: the change has no effect here.
        if (error instanceof WrongArgument) return before;
        throw error;
      }
    };
    const sections = findings.map((finding) => {
      const fixes = scenarioFixes({ diagnostic: finding, before, ways: (change) => [change], recost });
      const lines = fixes.map(
        ({ title, way }) => `- ${title}\n  scenario: ${JSON.stringify(scenarioWith(scenario, way))}`,
      );
      const none =
        finding.fix === '' ? 'nothing is known to help' : `no change of the scenario; ${finding.fix}`;
      return [`${finding.code}: ${finding.message}`, ...(lines.length > 0 ? lines : [`- ${none}`])].join(
        '\n',
      );
    });
    return { text: sections.join('\n\n') };
  },
});

/** Findings of one code differ in their layer alone, and the scenario is of all layers. */
const firstOfEach = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ code }, index) => findings.findIndex((other) => other.code === code) === index);

/** `null` of a change takes a key away. */
function scenarioWith(scenario: GivenScenario, { dimensions, ...change }: ScenarioChange): GivenScenario {
  const merged: Record<string, unknown> = {
    ...scenario,
    ...change,
    ...(dimensions === undefined ? {} : { dim: { ...scenario.dim, ...dimensions } }),
  };
  for (const [name, value] of Object.entries(merged)) if (value === null) delete merged[name];
  return scenarioSchema.parse(merged);
}
