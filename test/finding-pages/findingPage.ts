/**
 * Pages that explain a finding, manual and test at once: prose, and specs with their scenario in fenced blocks.
 *
 *     <!-- expected, by line of the example
 *     4 # warning: [findings/exposed-communication] "12 % of the step" # fix: "Use a batch of 64"
 *     -->
 *
 * `warning` and `note` state a finding that stands on the line, by its code and a part of its message. A finding that is
 * not stated fails the page, so that an example without any shows a healthy configuration. `fix` states, by the start
 * of its title, a quick fix of the findings of its line; applied, it must take away the first finding that the line
 * states. A finding of the whole step stands on the first line with text. A cluster profile in a fence of JSON is the
 * cluster of all examples of its page.
 */

import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { readClusterProfile } from '../../server/src/hardware/readClusterProfile.ts';
import { type Diagnostic, diagnostics } from '../../server/src/language/diagnostics.ts';
import { layerSpecFixes } from '../../server/src/language/layer-spec/fixes/layerSpecFixes.ts';
import { readSpecText } from '../../server/src/language/layer-spec/specText.ts';
import { applyEdits } from '../../server/src/language/textEdit.ts';
import { viewLayerSpec } from '../../server/src/language/viewLayerSpec.ts';
import { type Fence, severities, statementsOf } from '../spec-pages/specPage.ts';

/** What a fence states and what is so; equal where the page is right. */
export function checkFindings(
  fence: Fence,
  cluster?: ClusterProfile,
): {
  readonly stated: readonly string[];
  readonly found: readonly string[];
} {
  const shown = findingsIn(fence.text, cluster);
  const unstated = new Set(shown);
  const stated: string[] = [];
  const found: string[] = [];
  for (const [index, line] of fence.text.split('\n').entries()) {
    const place = `line ${fence.line + index}`;
    let first: Diagnostic | undefined;
    for (const { kind, text } of statementsOf(line)) {
      stated.push(`${place} ${kind}: ${text}`);
      if (kind === 'fix') {
        found.push(
          `${place} fix: ${first === undefined ? 'belongs to no finding' : outcome(fence.text, first, text, cluster)}`,
        );
        continue;
      }
      const finding = shown.find(
        (candidate) => unstated.has(candidate) && isStated(candidate, index, kind, text),
      );
      found.push(`${place} ${kind}: ${finding === undefined ? 'is not so' : text}`);
      if (finding !== undefined) unstated.delete(finding);
      first ??= finding;
    }
  }
  for (const { code, message, range, severity } of unstated) {
    found.push(`line ${fence.line + range.start.line} unstated ${severity}: [${code}] "${message}"`);
  }
  return { stated, found };
}

function isStated(
  { code, message, range, severity }: Diagnostic,
  line: number,
  kind: string,
  text: string,
): boolean {
  const [, wanted, part = ''] = /^\[([\w/-]+)\](?: "(.*)")?$/.exec(text) ?? [];
  return (
    range.start.line === line && severities[kind] === severity && code === wanted && message.includes(part)
  );
}

/** The statement itself where the fix is there and helps; otherwise what is the matter. */
function outcome(text: string, finding: Diagnostic, statement: string, cluster?: ClusterProfile): string {
  const wanted = /^"(.*)"$/.exec(statement)?.[1] ?? statement;
  const estimate = (edited: string): ModelEstimate => estimateIn(edited, cluster);
  const view = viewLayerSpec(text, estimate(text));
  const fixes = layerSpecFixes(readSpecText(text), view, [finding], estimate);
  const fix = fixes.find(({ title }) => title.startsWith(wanted));
  if (fix === undefined) return `is not offered, but ${fixes.map(({ title }) => `"${title}"`).join(', ')}`;
  const left = findingsIn(applyEdits(text, fix.edits), cluster);
  const stays = left.some(
    ({ code, range }) => code === finding.code && range.start.line === finding.range.start.line,
  );
  return stays ? 'leaves the finding there' : statement;
}

function estimateIn(text: string, cluster?: ClusterProfile): ModelEstimate {
  const opened = openLayerSpec(text, 'page.layers.yaml');
  return estimateModel(opened, [opened.scenario], cluster);
}

/** Errors of the spec are shown too: an example has none. */
function findingsIn(text: string, cluster?: ClusterProfile): readonly Diagnostic[] {
  return diagnostics(viewLayerSpec(text, estimateIn(text, cluster))).filter(
    ({ code, severity }) => code.startsWith('findings/') || severity === 'error',
  );
}

/** The cluster that a page describes, if it does. */
export function clusterOf(page: string): ClusterProfile | undefined {
  const text = /^```json\n([\s\S]*?)^```$/m.exec(page)?.[1];
  if (text === undefined) return undefined;
  const { cluster, issues } = readClusterProfile(text);
  if (cluster === undefined) throw new Error(issues.map(({ message }) => message).join('; '));
  return cluster;
}
