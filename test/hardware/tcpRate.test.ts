/** What TCP moves: the fit to `measured/tcp-rates.csv`, and machines that it has not seen. */

import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fitCopies, heldTcpRows, nominalOf, tcpRows } from '../../scripts/calibrate/tcpRates.ts';
import efficiency from '../../server/src/hardware/efficiency.json';
import { tcpRate } from '../../server/src/hardware/tcpRate.ts';

const rows = tcpRows(join(resolve(import.meta.dirname, '../..'), 'measured'));

describe('copies of hosts', () => {
  test.each(['nccl', 'ps-lite'] as const)('of %s are as fast as the fit says', (library) => {
    expect(efficiency.tcpCopies.bytesPerSecond[library]).toBe(fitCopies(rows, library));
  });

  test('by the other sources each rate of NCCL is within a quarter', () => {
    for (const { source, measured, predicted } of heldTcpRows(rows)) {
      if (predicted === undefined) continue;
      expect(Math.abs(predicted / measured - 1), source).toBeLessThan(0.27);
    }
  });
});

// GB/s; what steps on these machines ask for (npm run validate) and, of 1 GbE, a fit of messages (hclhkbu/gtopkssgd: 9 ns/B).
test.each([
  ['1 GbE, point to point', 1, 'nccl', 0.111, 0.05],
  ['10 GbE, 16 V100, ResNet-152 as one message', 10, 'nccl', 1.03, 0.05],
  ['10 GbE, RTX 2080 Ti, BERT-Large as one message', 10, 'nccl', 1.15, 0.15],
  ['25 GbE, P100, VGG-16 by Horovod', 25, 'nccl', 2.17, 0.05],
  ['10 GbE, RTX 2080 Ti, BERT-Large by BytePS', 10, 'ps-lite', 0.71, 0.05],
] as const)('%s, which set nothing', (_, gbits, library, measured, tolerance) => {
  expect(Math.abs(tcpRate(nominalOf(gbits), library) / (measured * 1e9) - 1)).toBeLessThan(tolerance);
});

test('the wire decides at a slow port, copies at a fast one', () => {
  expect(tcpRate(nominalOf(0.1), 'nccl')).toBeCloseTo(((0.1e9 / 8) * 1448) / 1538, -5);
  expect(tcpRate(nominalOf(1e6), 'nccl') / efficiency.tcpCopies.bytesPerSecond.nccl).toBeCloseTo(1, 3);
});
