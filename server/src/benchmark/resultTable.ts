/** Two kept results side by side, as an aligned table in plain text. */

import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { formatTime, significant } from '../model/format.ts';
import { type ComparedResultTime, compareResults } from './compareResults.ts';
import type { SavedResult } from './savedResult.ts';

export interface NamedResult {
  readonly id: string;
  readonly result: SavedResult;
}

export function resultTable(first: NamedResult, second: NamedResult): string {
  const { rows, step } = compareResults(first.result, second.result);
  const right = (title: string): Column => ({ title, align: 'right' });
  const direction = (title: string): readonly Column[] => [right(`${title} A`), right('B'), right('B ÷ A')];
  return [
    ...layoutColumns(
      [
        { title: '', align: 'left' },
        { title: 'result', align: 'left' },
        { title: 'measured with', align: 'left' },
      ],
      [first, second].map(({ id, result }, index) => ['AB'.charAt(index), id, measuredWith(result)]),
    ),
    '',
    ...layoutColumns(
      [
        { title: 'layer', align: 'left' },
        { title: 'type', align: 'left' },
        ...direction('forward'),
        ...direction('backward'),
      ],
      [
        ...rows.map(({ name, type, forward, backward }) => [
          name,
          type,
          ...cells(forward),
          ...cells(backward),
        ]),
      ],
    ),
    '',
    `step  A ${formatTime(step.first)}, B ${formatTime(step.second)}${step.ratio === null ? '' : `, B ÷ A ${significant(step.ratio)}`}`,
    '',
  ].join('\n');
}

/** What a person needs to know to judge its times. */
export const measuredWith = ({ device, computation, machine }: SavedResult): string =>
  `${device.name}, ${device.precision}, batch ${computation.conditions.batch}, torch ${device.torch}, on ${machine.name}`;

const cells = ({ first, second, ratio }: ComparedResultTime): readonly string[] => [
  first === null ? '' : formatTime(first),
  second === null ? '' : formatTime(second),
  ratio === null ? '' : significant(ratio),
];
