/**
 * The option table of NVIDIA's pages: `TP 4 PP 8 VP 5 DP 2 MBS 1 GBS 256`, or a header with a row below it.
 * Its columns: NVIDIA/dgxc-benchmarking, the tables of each recipe's README. VP counts the chunks of a rank.
 */

import { didYouMean } from '../../model/nearestName.ts';
import type { GroupResult } from '../scenarioGroups.ts';
import { degreesOf, type LayoutRequest, type Numbers } from './degrees.ts';

const columns = ['TP', 'PP', 'CP', 'VP', 'EP', 'ETP', 'DP', 'MBS', 'GBS', 'GA', 'GPUS'] as const;
type Column = (typeof columns)[number];

/** In capitals, unlike the names of `tp=8,pp=4`. */
export const isOptionTable = (text: string): boolean => columnOf(wordsOf(text)[0] ?? '') !== undefined;

export function readOptionTable(text: string): GroupResult<LayoutRequest> {
  const words = wordsOf(text);
  const names = words.filter((word) => !isValue(word));
  const values = words.filter(isValue);
  if (names.length !== values.length)
    return {
      value: {},
      problems: [
        `the table has ${names.length} columns (${names.join(' ')}) and ${values.length} values; give each column one`,
      ],
    };
  const found = new Map<Column, number>();
  const problems: string[] = [];
  names.forEach((name, index) => {
    const column = columnOf(name);
    const value = values[index] ?? '';
    if (column === undefined)
      problems.push(
        `\`${name}\` is not a column of an option table${didYouMean(name, columns) || `; it takes ${columns.join(', ')}`}`,
      );
    else if (found.has(column)) problems.push(`\`${name}\` is given twice; keep one of them`);
    else if (!isLeftOut(value)) {
      if (Number.isInteger(Number(value)) && Number(value) > 0) found.set(column, Number(value));
      else problems.push(`\`${name}\` takes a whole number from 1, not "${value}"`);
    }
  });
  const numbers: Numbers = {
    tensor: found.get('TP'),
    pipeline: found.get('PP'),
    context: found.get('CP'),
    chunks: found.get('VP'),
    expert: found.get('EP'),
    expertTensor: found.get('ETP'),
    replicas: found.get('DP'),
    microBatch: found.get('MBS'),
    globalBatch: found.get('GBS'),
    passes: found.get('GA'),
    gpus: found.get('GPUS'),
  };
  const { value, problems: own } = degreesOf(numbers);
  return { value, problems: [...problems, ...own] };
}

const wordsOf = (text: string): readonly string[] =>
  text.split(/[\s,;:=|]+/).filter((word) => word !== '' && !/^-{2,}$/.test(word));

const columnOf = (word: string): Column | undefined =>
  /^(?:#-?)?gpus$/i.test(word) && word !== 'gpus' ? 'GPUS' : columns.find((column) => column === word);

const isLeftOut = (word: string): boolean => /^(?:-|n\/?a|none)$/i.test(word);
const isValue = (word: string): boolean => isLeftOut(word) || /^[-+.\d]/.test(word);
