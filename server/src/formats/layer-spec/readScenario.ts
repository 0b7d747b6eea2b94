/** Reads the `scenario` of a layer spec: the command line's options, by the same names. */

import type { Issue, TextSpan } from '../../model/issue.ts';
import { didYouMean, likelyName } from '../../model/nearestName.ts';
import type { ScenarioRequest } from '../../model/scenario.ts';
import { besideBatch } from '../layouts/degrees.ts';
import { readScenarioFramework } from './readFramework.ts';
import { scenarioKeys } from './scenarioKeys.ts';
import { assign, readValue, type ScenarioDraft } from './scenarioValues.ts';
import { scalarValue, type YamlEntry } from './yamlTree.ts';

type Report = (message: string, span: TextSpan) => void;

/** The scenario, where each value and each key stands, and issues for what it does not take. */
export function readScenario(
  entries: readonly YamlEntry[],
  issues: Issue[],
): {
  readonly scenario: ScenarioRequest;
  readonly spans: ReadonlyMap<string, TextSpan>;
  readonly keySpans: ReadonlyMap<string, TextSpan>;
} {
  const draft: ScenarioDraft = {};
  const spans = new Map<string, TextSpan>();
  const keySpans = new Map<string, TextSpan>();
  const report: Report = (message, span) =>
    issues.push({ code: 'spec/scenario', severity: 'error', message, span });
  for (const { key: writtenKey, value } of entries) {
    const key = meantKey(writtenKey, entries, report);
    if (key === undefined) continue;
    keySpans.set(key.text, key.span);
    readEntry({ key, value }, draft, spans, report);
  }
  return { scenario: withLayout(draft, spans), spans, keySpans };
}

/** A key that is none is read as the one that was meant, unless that stands there too. */
function meantKey(
  key: YamlEntry['key'],
  entries: readonly YamlEntry[],
  report: Report,
): YamlEntry['key'] | undefined {
  const known = Object.keys(scenarioKeys);
  if (known.includes(key.text)) return key;
  const near =
    key.text === 'dims' ? '; write it at the top level, beside `layers`' : didYouMean(key.text, known);
  report(`\`${key.text}\` is not a key of the scenario${near}`, key.span);
  const meant = likelyName(key.text, known);
  return meant === undefined || entries.some((entry) => entry.key.text === meant)
    ? undefined
    : { ...key, text: meant };
}

function readEntry(
  { key, value }: Pick<YamlEntry, 'key' | 'value'>,
  draft: ScenarioDraft,
  spans: Map<string, TextSpan>,
  report: Report,
): void {
  if (value?.kind === 'unreadable') return;
  if (key.text === 'framework' && (value?.kind === 'map' || value?.kind === 'scalar')) {
    const framework = readScenarioFramework(value, report);
    assign(draft, 'framework', framework.choice);
    spans.set('framework', value.span);
    for (const [name, span] of framework.spans) spans.set(name, span);
    return;
  }
  const span = value?.span ?? key.span;
  const content = value?.kind === 'scalar' ? scalarValue(value) : undefined;
  if (typeof content !== 'string' && typeof content !== 'number') {
    report(`\`${key.text}\` ${takes[key.text] ?? 'takes one word or number'}`, span);
    return;
  }
  spans.set(key.text === 'global-batch' ? 'globalBatch' : key.text, span);
  readValue(draft, { key: key.text, content, report: (message) => report(message, span) });
}

/** What comes with a layout (GPUs, the batch, the framework) counts where no key says otherwise. */
function withLayout({ layout, ...scenario }: ScenarioDraft, spans: Map<string, TextSpan>): ScenarioRequest {
  if (layout === undefined) return scenario;
  const own = besideBatch(layout, scenario.batch);
  const span = spans.get('parallel');
  for (const key of Object.keys(own)) if (span !== undefined && !spans.has(key)) spans.set(key, span);
  return { ...own, ...scenario };
}

/** Where a list or a map stands for what is written in one piece. */
const takes: Readonly<Record<string, string>> = {
  framework:
    'is a name, or a name with options: `pytorch-ddp,bucket-mb=50` or `{ name: pytorch-ddp, bucket-mb: 50 }`',
  parallel: 'is written in one piece, such as `parallel: "tp=4,pp=2,sp"`',
  lora: 'is a rank, or is written in one piece, such as `lora: "rank=16,layers=q_proj+v_proj"`',
};
