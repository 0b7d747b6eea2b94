/** Stages of a pipeline that a person gave: as numbers of blocks, or by the names of the blocks that they begin with. */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import { itemAt } from '../model/at.ts';
import type { ParallelRequest, StageCut } from '../model/scenario.ts';
import { placesToCut } from './pipelineStages.ts';

type AskedStages = NonNullable<ParallelRequest['stages']>;

/** Names become numbers of blocks. `count`: stages of all ranks. A problem says what to do. */
export function resolveStages(
  asked: AskedStages,
  analysis: ModelAnalysis,
  count: number,
): { readonly stages: StageCut } | { readonly problem: string } {
  if (typeof asked === 'string') return { stages: asked };
  if (count === 1) return { problem: '`stages` has blocks of several stages; set `pp` to as many' };
  const names = placesToCut(analysis).map(({ block }) => block);
  const blocks = isNames(asked) ? blocksBetween(asked, names) : { blocks: asked };
  if ('problem' in blocks) return blocks;
  const { length } = blocks.blocks;
  if (length !== count)
    return {
      problem: `\`stages\` is of ${length} stage${length === 1 ? '' : 's'}, and the pipeline has ${count}; give ${isNames(asked) ? `${count - 1} blocks that begin one` : `${count} numbers of blocks`}`,
    };
  const total = blocks.blocks.reduce((sum, each) => sum + each, 0);
  if (total !== names.length)
    return {
      problem: `\`stages\` has ${total} blocks, and the model has ${names.length}; give numbers that add up to ${names.length}`,
    };
  return { stages: blocks.blocks };
}

const isNames = (asked: readonly (string | number)[]): asked is readonly string[] =>
  asked.some((each) => typeof each === 'string');

/** `begins`: of stages behind the first. A name may be the end of a path: `h.8` of `transformer.h.8`. */
function blocksBetween(
  begins: readonly string[],
  names: readonly string[],
): { readonly blocks: readonly number[] } | { readonly problem: string } {
  const places: number[] = [0];
  for (const begin of begins) {
    const found = names.flatMap((name, index) => (isEndOf(begin, name) ? [index] : []));
    const [place, other] = found;
    const [first = '', last = ''] = [names[1], names.at(-1)];
    if (place === undefined)
      return {
        problem: `\`stages\`: the model has no block \`${begin}\`; a stage may begin at \`${first}\` to \`${last}\``,
      };
    if (other !== undefined)
      return {
        problem: `\`stages\`: \`${begin}\` is ${found.length} blocks, such as \`${names[place]}\` and \`${names[other]}\`; write more of the path`,
      };
    if (place <= itemAt(places, places.length - 1))
      return {
        problem: `\`stages\`: \`${begin}\` does not lie behind the stage before; name blocks in the order of the model, from \`${first}\` on`,
      };
    places.push(place);
  }
  return { blocks: places.map((place, index) => (places[index + 1] ?? names.length) - place) };
}

function isEndOf(end: string, name: string): boolean {
  const [own, whole] = [dotted(end), dotted(name)];
  return own === whole || whole.endsWith(`.${own}`);
}

/** `layers[7]` of a layer spec, `/model/layers.7` of an exporter and `layers.7` of a module name the same block. */
const dotted = (path: string): string => path.replaceAll(/\[(\d+)\]/g, '.$1').replaceAll('/', '.');
