/** The profiles of PipeDream as layer specs: they list every call with the calls it reads, but no shapes. */

import type { MeasuredRow } from '../measured/readMeasured.ts';

/** `measured`: the rows whose layers are timed; additions and concatenations are not, nor is the reading of data. */
export function pipedreamSpec(rows: readonly MeasuredRow[]): {
  readonly text: string;
  readonly measured: readonly MeasuredRow[];
} {
  const [first] = rows;
  const input = rows.find(({ call }) => call === 'Input');
  const batch = Number(first?.batch);
  const side = Math.sqrt(Number(input?.elements) / batch / 3);
  const sizes = new Set(rows.filter(({ call }) => call?.startsWith('Size')).map(({ layer }) => layer ?? ''));
  const lines = rows.flatMap((row) => {
    const call = callOf(row, sizes);
    return call === undefined ? [] : [`  - ${row.layer}: ${call}`];
  });
  const text = [
    'inputs:',
    `  ${input?.layer}: float32[${batch}, 3, ${side}, ${side}]`,
    'layers:',
    ...lines,
    '',
  ].join('\n');
  const measured = rows.filter(
    (row) =>
      row !== input && callOf(row, sizes) !== undefined && Number(row.forward) + Number(row.backward) > 0,
  );
  return { text, measured };
}

function callOf({ call = '', inputs = '' }: MeasuredRow, sizes: ReadonlySet<string>): string | undefined {
  const sources = inputs.split(' ').filter((source) => !sizes.has(source));
  const from = sources.join(', ');
  if (call === 'Input' || call.startsWith('Size')) return undefined;
  if (call.startsWith('Add')) return `add(${from})`;
  if (call.startsWith('Concat')) return `cat((${from}), dim=1)`;
  if (call.startsWith('View')) return `Flatten() from ${sources[0]}`;
  // NASNet shifts a padded image by one entry, which leaves its size.
  if (call.startsWith('__getitem__')) return `Identity() from ${from}`;
  const arguments_ = call
    .replaceAll(';', ',')
    .replace('(inplace)', '(inplace=True)')
    .replace('(p=0.5)', '(0.5)');
  return `${arguments_} from ${from}`;
}
