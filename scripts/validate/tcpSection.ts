/** What TCP moves beside what hosts' copies and the wire say, for `docs/ACCURACY.md`. */

import type { HeldTcpRow } from '../calibrate/tcpRates.ts';
import { signedPercent } from './percent.ts';

export const tcpSection = (rows: readonly HeldTcpRow[]): string => `
What TCP moves, by \`measured/tcp-rates.csv\`: a byte is copied by the host and carried by the wire, one after the other. The rate of
copies is fitted to these rows; each is predicted by those of the other sources. No judged step set it.

| source | library | port | measured, GB/s | predicted, GB/s | error |
| --- | --- | --: | --: | --: | --: |
${rows.map(lineOf).join('\n')}
`;

function lineOf({ source, library, gbits, measured, predicted }: HeldTcpRow): string {
  const held =
    predicted === undefined
      ? ['–', 'the only row of its library']
      : [(predicted / 1e9).toFixed(2), signedPercent(predicted / measured - 1)];
  return `| ${[source, library, `${gbits} Gb/s`, (measured / 1e9).toFixed(2), ...held].join(' | ')} |`;
}
