/**
 * The blocks that can be called in a file: its own, and those of the files it includes. A block means the same wherever
 * it is called from: it sees its parameters, and the dims and blocks of its own file.
 */

import { includePath } from '../../formats/layer-spec/includePath.ts';
import { readLayerSpec } from '../../formats/layer-spec/readLayerSpec.ts';
import type { LayerSpec, SpecBlock, SpecInclude } from '../../formats/layer-spec/syntax.ts';
import type { Issue, Severity, TextSpan } from '../../model/issue.ts';
import { dimensionValues } from './dimensionValues.ts';
import type { Values } from './evaluate.ts';

/** The text of a file by its path relative to the model's folder; `undefined` where there is none to read. */
export type ReadInclude = (path: string) => string | undefined;

/** A file as its blocks see it. */
export interface Home {
  /** `undefined` for the file that is costed. */
  readonly file: IncludedFile | undefined;
  readonly blocks: ReadonlyMap<string, HomeBlock>;
  readonly values: Values;
}

export interface HomeBlock {
  readonly block: SpecBlock;
  readonly home: Home;
}

export interface IncludedFile {
  /** Relative to the folder of the model. */
  readonly path: string;
  readonly text: string;
}

export interface Included {
  readonly blocks: ReadonlyMap<string, HomeBlock>;
  /** Every path that was asked for, found or not: when one changes, so may the model. */
  readonly paths: readonly string[];
}

/** Issues of one included file that are told one by one. */
const mostIssues = 8;

/** People include one file or two; each level is a few calls of this program. */
const deepestIncludes = 32;

const mostFiles = 1_000;

/** Blocks of the files that `spec` includes. `path` is its own name; issues stand at the includes. */
export function includeBlocks(
  spec: LayerSpec,
  path: string,
  read: ReadInclude | undefined,
  report: (issue: Issue) => void,
): Included {
  const paths = new Set<string>();
  const homes = new Map<string, Home>();

  const blocksOf = (
    includes: readonly SpecInclude[],
    chain: readonly string[],
    own: readonly SpecBlock[],
    problem: (message: string, span: TextSpan, severity?: Severity) => void,
  ): ReadonlyMap<string, HomeBlock> => {
    const blocks = new Map<string, HomeBlock>();
    for (const { path: written } of includes) {
      const found = includePath(written.text, chain.at(-1) ?? '');
      if ('problem' in found) {
        problem(`\`${written.text}\` cannot be included: ${found.problem}`, written.span);
        continue;
      }
      if (chain.includes(found.path)) {
        const way = [...chain.slice(chain.indexOf(found.path) + 1), found.path].join(' → ');
        problem(`\`${found.path}\` includes itself: ${found.path} → ${way}`, written.span);
        continue;
      }
      if (chain.length > deepestIncludes) {
        problem(`\`${found.path}\` is included ${deepestIncludes} files deep: include it here`, written.span);
        continue;
      }
      if (paths.size >= mostFiles && !paths.has(found.path)) {
        problem(`\`${found.path}\` is left out: more than ${mostFiles} files are included`, written.span);
        continue;
      }
      const home = homeOf(found.path, chain, (message, severity) => problem(message, written.span, severity));
      if (home === undefined) continue;
      for (const [name, block] of home.blocks) {
        if (block.home !== home) continue;
        const other = blocks.get(name);
        if (own.some((candidate) => candidate.name.text === name)) {
          const message = `block \`${name}\` of \`${found.path}\` is also defined here; the one here is used`;
          problem(message, written.span, 'warning');
        } else if (other !== undefined && other.home !== home) {
          const message = `block \`${name}\` of \`${found.path}\` is also in \`${other.home.file?.path}\`, which is used; rename one of them`;
          problem(message, written.span);
        } else blocks.set(name, block);
      }
    }
    return blocks;
  };

  const homeOf = (
    file: string,
    chain: readonly string[],
    problem: (message: string, severity?: Severity) => void,
  ): Home | undefined => {
    paths.add(file);
    const before = homes.get(file);
    if (before !== undefined) return before;
    const text = read?.(file);
    if (text === undefined) {
      problem(`\`${file}\` cannot be read; the path is relative to the folder of this file`);
      return undefined;
    }
    const included: IncludedFile = { path: file, text };
    const { spec: inner, issues } = readLayerSpec(text);
    const found: Issue[] = [...issues];
    const values = dimensionValues(inner?.dims ?? [], new Set(), new Map(), (issue) =>
      found.push(issue),
    ).values;
    const own = inner?.blocks ?? [];
    const reached = blocksOf(
      inner?.includes ?? [],
      [...chain, file],
      own,
      (message, span, severity = 'error') => found.push({ code: 'spec/include', severity, message, span }),
    );
    const blocks = new Map(reached);
    const home: Home = { file: included, blocks, values };
    for (const block of own) blocks.set(block.name.text, { block, home });
    for (const { message, severity, span } of found.slice(0, mostIssues)) {
      problem(`${placeIn(included, span)}: ${message}`, severity);
    }
    if (found.length > mostIssues)
      problem(`\`${file}\` has ${found.length - mostIssues} more issues; open it`);
    homes.set(file, home);
    return home;
  };

  const blocks = blocksOf(spec.includes, [path], spec.blocks, (message, span, severity = 'error') =>
    report({ code: 'spec/include', severity, message, span }),
  );
  return { blocks, paths: [...paths] };
}

/** `in blocks.layers.yaml, line 12` */
export function placeIn({ path, text }: IncludedFile, span: TextSpan | undefined): string {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < (span?.start ?? 0); at = text.indexOf('\n', at + 1))
    line += 1;
  return `in ${path}, line ${line}`;
}
