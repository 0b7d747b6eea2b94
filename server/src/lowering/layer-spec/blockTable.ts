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
  const files: Files = { read, paths: new Set(), homes: new Map() };
  const blocks = blocksOf({ includes: spec.includes, blocks: spec.blocks, chain: [path], report }, files);
  return { blocks, paths: [...files.paths] };
}

/** Files that are included, each read once; written in place. */
interface Files {
  readonly read: ReadInclude | undefined;
  readonly paths: Set<string>;
  readonly homes: Map<string, Home>;
}

/** A file whose includes are read. */
interface Includer {
  readonly includes: readonly SpecInclude[];
  readonly blocks: readonly SpecBlock[];
  /** Files that include one another, up to this one. */
  readonly chain: readonly string[];
  readonly report: (issue: Issue) => void;
}

/** Says something at an include. */
type Problem = (message: string, severity?: Severity) => void;

function blocksOf(includer: Includer, files: Files): ReadonlyMap<string, HomeBlock> {
  const blocks = new Map<string, HomeBlock>();
  for (const { path } of includer.includes) {
    const problem: Problem = (message, severity = 'error') =>
      includer.report({ code: 'spec/include', severity, message, span: path.span });
    const found = fileOf(path.text, includer.chain, files);
    if ('problem' in found) {
      problem(found.problem);
      continue;
    }
    const home = homeOf(found.path, includer.chain, files, problem);
    if (home !== undefined) addBlocks(home, includer.blocks, blocks, problem);
  }
  return blocks;
}

/** The file that an include names, or why it is not read. */
function fileOf(
  written: string,
  chain: readonly string[],
  { paths }: Files,
): { readonly path: string } | { readonly problem: string } {
  const found = includePath(written, chain.at(-1) ?? '');
  if ('problem' in found) return { problem: `\`${written}\` cannot be included: ${found.problem}` };
  const { path } = found;
  if (chain.includes(path)) {
    const way = [...chain.slice(chain.indexOf(path)), path].join(' → ');
    return { problem: `\`${path}\` includes itself: ${way}` };
  }
  if (chain.length > deepestIncludes)
    return { problem: `\`${path}\` is included ${deepestIncludes} files deep: include it here` };
  if (paths.size >= mostFiles && !paths.has(path))
    return { problem: `\`${path}\` is left out: more than ${mostFiles} files are included` };
  return found;
}

/** Adds the blocks that a file itself defines to those of others, after those of the includer. */
function addBlocks(
  home: Home,
  own: readonly SpecBlock[],
  blocks: Map<string, HomeBlock>,
  problem: Problem,
): void {
  const path = home.file?.path;
  for (const [name, block] of home.blocks) {
    if (block.home !== home) continue;
    const other = blocks.get(name);
    if (own.some((candidate) => candidate.name.text === name))
      problem(`block \`${name}\` of \`${path}\` is also defined here; the one here is used`, 'warning');
    else if (other !== undefined && other.home !== home) {
      const used = `\`${other.home.file?.path}\`, which is used; rename one of them`;
      problem(`block \`${name}\` of \`${path}\` is also in ${used}`);
    } else blocks.set(name, block);
  }
}

/** An included file as its blocks see it; `undefined` where it cannot be read. */
function homeOf(path: string, chain: readonly string[], files: Files, problem: Problem): Home | undefined {
  files.paths.add(path);
  const before = files.homes.get(path);
  if (before !== undefined) return before;
  const text = files.read?.(path);
  if (text === undefined) {
    problem(`\`${path}\` cannot be read; the path is relative to the folder of this file`);
    return undefined;
  }
  const file: IncludedFile = { path, text };
  const { spec, issues } = readLayerSpec(text);
  const found: Issue[] = [...issues];
  const report = (issue: Issue): void => void found.push(issue);
  const { values } = dimensionValues(spec?.dims ?? [], new Set(), new Map(), report);
  const { includes = [], blocks: own = [] } = spec ?? {};
  const blocks = new Map(blocksOf({ includes, blocks: own, chain: [...chain, path], report }, files));
  const home: Home = { file, blocks, values };
  for (const block of own) blocks.set(block.name.text, { block, home });
  reportIssues(found, file, problem);
  files.homes.set(path, home);
  return home;
}

/** Says the issues of an included file where it is included. */
function reportIssues(issues: readonly Issue[], file: IncludedFile, problem: Problem): void {
  for (const { message, severity, span } of issues.slice(0, mostIssues))
    problem(`${placeIn(file, span)}: ${message}`, severity);
  const left = issues.length - mostIssues;
  if (left > 0) problem(`\`${file.path}\` has ${left} more issues; open it`);
}

/** `in blocks.layers.yaml, line 12` */
export function placeIn({ path, text }: IncludedFile, span: TextSpan | undefined): string {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < (span?.start ?? 0); at = text.indexOf('\n', at + 1))
    line += 1;
  return `in ${path}, line ${line}`;
}
