/**
 * Pages of Markdown that are manual and test at once: prose, and specs in fenced blocks that say at the end of a line
 * what comes of it.
 *
 *     - fc: Linear(d, 4*d) # shape: [8, 3072] # cost: 2,362,368 parameters, 4.83 GFLOP
 *     - fc: Linear(512, d) # error: [shape/mismatch] "the last axis of the input is 768"
 *
 * `shape` is that of the layer's output, of the last where it is repeated; `cost` is of all layers of the line,
 * FLOPs of forward; `backward` are the FLOPs of backward, `gradient` and `saved` bytes on one GPU in fp32. `error`,
 * `warning` and `note` state an issue by its code and a part of its message; several may stand on a line. An issue
 * that is not stated fails the page. A fence with `file=NAME` is a file that later fences of the page include, and one
 * with `model=NAME` is costed for that model.
 */

import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { lineCost } from '../../server/src/language/lineCost.ts';
import { type ModelView, rowAtLine } from '../../server/src/language/modelView.ts';
import { positionAt } from '../../server/src/language/textLines.ts';
import { viewLayerSpec } from '../../server/src/language/viewLayerSpec.ts';
import { printDimension } from '../../server/src/model/dimension.ts';
import { formatBytes, formatCount, formatFlops } from '../../server/src/model/format.ts';

export interface Fence {
  /** Line of the page on which the text begins, from 1. */
  readonly line: number;
  readonly text: string;
  readonly file: string | undefined;
  readonly model: string | undefined;
}

/** What is expected of a fence may stand behind it too, in a comment that no reader sees: `3 # warning: …` by line. */
export function fencesOf(page: string): readonly Fence[] {
  return [
    ...page.matchAll(
      /^```yaml(.*)\n([\s\S]*?)^```$(?:\n\n<!-- expected, by line of the example\n([\s\S]*?)^-->)?/gm,
    ),
  ].map((match) => {
    const [, info = '', written = '', expected = ''] = match;
    const lines = written.split('\n');
    for (const [, line = '', statements = ''] of expected.matchAll(/^(\d+) (.*)$/gm)) {
      lines[Number(line) - 1] += ` ${statements}`;
    }
    return {
      line: page.slice(0, match.index).split('\n').length + 1,
      text: lines.join('\n'),
      file: /\bfile=(\S+)/.exec(info)?.[1],
      model: /\bmodel=(\S+)/.exec(info)?.[1],
    };
  });
}

interface Statement {
  readonly kind: string;
  readonly text: string;
}

const kinds = ['shape', 'cost', 'backward', 'gradient', 'saved', 'error', 'warning', 'note', 'fix'] as const;
const statement = new RegExp(`# (${kinds.join('|')}): (.*?)(?= # (?:${kinds.join('|')}): |$)`, 'g');

export const statementsOf = (line: string): readonly Statement[] =>
  [...line.matchAll(statement)].map(([, kind = '', text = '']) => ({ kind, text: text.trim() }));

/** The text of a fence with every value it states replaced by what is so; issues stay as they are written. */
export function withValues(fence: Fence, files: ReadonlyMap<string, string>): string {
  const view = viewOf(fence, files);
  return fence.text
    .split('\n')
    .map((line, index) =>
      line.replaceAll(statement, (whole, kind: string) =>
        severities[kind] === undefined ? `# ${kind}: ${measured(view, index, kind)}` : whole,
      ),
    )
    .join('\n');
}

/** What a fence states and what is so, line by line; equal where the page is right. */
export function checkFence(
  fence: Fence,
  files: ReadonlyMap<string, string>,
): { readonly stated: readonly string[]; readonly found: readonly string[] } {
  const view = viewOf(fence, files);
  const stated: string[] = [];
  const found: string[] = [];
  const { issues } = view.estimate;
  const unstated = new Set(issues);
  for (const [index, line] of fence.text.split('\n').entries()) {
    const place = `line ${fence.line + index}`;
    for (const { kind, text } of statementsOf(line)) {
      stated.push(`${place} ${kind}: ${text}`);
      const severity = severities[kind];
      if (severity === undefined) {
        found.push(`${place} ${kind}: ${measured(view, index, kind)}`);
        continue;
      }
      const [, code, part = ''] = /^\[([\w/-]+)\](?: "(.*)")?$/.exec(text) ?? [];
      const issue = issues.find(
        (candidate) =>
          unstated.has(candidate) &&
          candidate.code === code &&
          candidate.severity === severity &&
          candidate.message.includes(part) &&
          positionAt(view.text, candidate.span?.start ?? 0).line === index,
      );
      found.push(`${place} ${kind}: ${issue === undefined ? 'is not so' : text}`);
      if (issue !== undefined) unstated.delete(issue);
    }
  }
  for (const { code, message, span, severity } of unstated) {
    if (code.startsWith('scenario/')) continue;
    const place = positionAt(view.text, span?.start ?? 0).line + fence.line;
    found.push(`line ${place} unstated ${severity}: [${code}] "${message}"`);
  }
  return { stated, found };
}

export const severities: Readonly<Record<string, string>> = {
  error: 'error',
  warning: 'warning',
  note: 'information',
};

function viewOf({ text, model }: Fence, files: ReadonlyMap<string, string>): ModelView {
  const opened = openLayerSpec(text, 'page.layers.yaml', {
    ...(model === undefined ? {} : { model }),
    readInclude: (path) => files.get(path),
  });
  const oneGpu = { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'fp32', optimizer: 'sgd' } as const;
  return viewLayerSpec(text, estimateModel(opened, [opened.scenario, oneGpu]));
}

function measured(view: ModelView, line: number, kind: string): string {
  const row = rowAtLine(view, line);
  if (row === undefined) return 'no layer is on the line';
  if (kind === 'shape') {
    const shape = row.layers.at(-1)?.output.shape;
    return shape === undefined || shape === null ? 'unknown' : `[${shape.map(printDimension).join(', ')}]`;
  }
  const cost = lineCost(row);
  if (cost.unknown) return 'unknown';
  switch (kind) {
    case 'cost': {
      const parameters = `${formatCount(cost.parameters)} parameters`;
      return `${parameters}, ${formatFlops(cost.flops.forward)}`;
    }
    case 'backward':
      return formatFlops(cost.flops.backward);
    case 'gradient':
      return formatBytes(cost.gradient);
    default:
      return formatBytes(cost.saved);
  }
}
