/**
 * The lines of a layer spec that are indented by a slip, with the indent that was meant: the one by which the text reads
 * with the fewest errors. A tab has no width in YAML, so that each of them is a slip.
 */

import type { Issue } from '../../model/issue.ts';
import type { IndentedSpec, ReadSpec } from './specReading.ts';
import { contentLines, type MeantIndents, type YamlLine } from './yamlLines.ts';

/** `read` reads the text with some indents. Reading is repeated, so that long texts are not, and less so the longer they are. */
export function meantIndents(text: string, read: (meant: MeantIndents) => IndentedSpec): MeantIndents {
  const meant = new Map<number, number>();
  if (text.length > longestText) return meant;
  const lines = contentLines(text, meant, () => undefined);
  let readings = 1;
  let present = read(meant);
  for (let slip = 0; slip < mostSlips && present.issues.length > 0; slip += 1) {
    if (readings * text.length > mostRead) break;
    const tabbed = lines.findIndex((line) => holdsTab(text, line) && !meant.has(line.start));
    const first = Math.min(...present.issues.map(({ span }) => span?.start ?? 0));
    const wrong = lines.findLastIndex(({ start }) => start <= first);
    const suspects = tabbed >= 0 ? [tabbed] : [wrong, wrong - 1, wrong + 1, wrong - 2];
    let best: readonly [start: number, indent: number] | undefined;
    let fewest = present;
    for (const suspect of suspects) {
      const line = lines[suspect];
      if (line === undefined || meant.has(line.start)) continue;
      for (const indent of indentsAround(lines, suspect, meant)) {
        const left = read(new Map([...meant, [line.start, indent]]));
        readings += 1;
        // Without tabs, one line is taken for the slip or none is: more could be moved about until nothing is wrong.
        if ((tabbed < 0 && left.isMisplaced) || badness(left) >= badness(fewest)) continue;
        fewest = left;
        best = [line.start, indent];
      }
    }
    if (best === undefined) break;
    meant.set(...best);
    present = fewest;
  }
  return meant;
}

/** What is left out makes no errors; it must not seem to be the better reading. */
function badness({ spec, issues }: ReadSpec): number {
  const bodies = spec === undefined ? [] : [spec, ...spec.models];
  const read = bodies.flatMap(({ dims, inputs, blocks, layers }) => [
    ...dims,
    ...inputs,
    ...layers,
    ...blocks.flatMap((block) => [block, ...block.layers]),
  ]);
  return issues.length - read.length;
}

/** Characters. */
const longestText = 2 ** 16;
const mostSlips = 8;
/** Characters read, up to the slip with which they are exceeded: a person waits for this with every keystroke. */
const mostRead = 2 ** 20;

/** What is wrong with the indent of each of these lines. */
export function issuesOfIndents(text: string, meant: MeantIndents): readonly Issue[] {
  return contentLines(text, new Map(), () => undefined).flatMap((line): readonly Issue[] => {
    const indent = meant.get(line.start);
    if (indent === undefined) return [];
    const spaces = { start: line.start, end: line.first };
    return [
      {
        code: 'spec/syntax',
        severity: 'error',
        message: holdsTab(text, line)
          ? 'a tab cannot indent YAML; use spaces'
          : `the line is indented by ${line.first - line.start}, its neighbours by ${indent}; indent them alike`,
        span: line.first > line.start ? spaces : { start: line.first, end: line.end },
        repair: { title: `Indent by ${indent} spaces`, span: spaces, text: ' '.repeat(indent) },
      },
    ];
  });
}

const holdsTab = (text: string, { start, first }: YamlLine): boolean =>
  text.slice(start, first).includes('\t');

/** Indents that a line may be meant to have: those of its neighbours and of the lines around these, and one level more. */
function indentsAround(lines: readonly YamlLine[], at: number, meant: MeantIndents): readonly number[] {
  const indentAt = (index: number): number | undefined => {
    const line = lines[index];
    return line && (meant.get(line.start) ?? line.indent);
  };
  const written = indentAt(at);
  const indents = new Set<number>();
  for (const by of [-1, 1, 2]) indents.add(indentAt(at + by) ?? 0);
  let outermost = indentAt(at - 1) ?? 0;
  indents.add(outermost + 2);
  for (let index = at - 2; index >= 0 && outermost > 0; index -= 1) {
    outermost = Math.min(outermost, indentAt(index) ?? 0);
    indents.add(outermost);
  }
  return [...indents].filter((indent) => indent !== written);
}
