/** Layer traces as data: what is read, in seconds, and what is refused. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLayerTrace } from '../../server/src/estimate/plan/readLayerTrace.ts';

function check(text: string, layers: Record<string, object>, messages: readonly string[] = []): void {
  const { measurements, issues } = readLayerTrace(text, 'trace.csv');
  expect(Object.fromEntries(measurements?.layers ?? [])).toEqual(layers);
  expect(issues.map((issue) => issue.message)).toEqual(messages);
}

describe('layer traces', () => {
  it('reads milliseconds and leaves empty cells out', () =>
    check('layer,forward_ms,backward_ms\nconv1,2,\nfc,0.5,1\n', {
      conv1: { forward: 0.002 },
      fc: { forward: 0.0005, backward: 0.001 },
    }));

  it('reads what --format csv prints, quoted names and line endings included', () =>
    check('layer,type,time_forward_s,time_backward_s\r\n"a, ""b""",Conv2d,1e-3,2e-3\r\n', {
      'a, "b"': { forward: 0.001, backward: 0.002 },
    }));

  it('needs a header', () =>
    check('conv1,2,3\n', {}, [
      'trace.csv has no header with the columns layer and forward_ms or backward_ms (or _s, _us, _ns); add one as its first line',
    ]));

  it('leaves out a row whose time is no time', () =>
    check('name,forward_us\na,-1\nb,ten\nc,10\n', { c: { forward: 10e-6 } }, [
      'trace.csv, row 2: a time is not a number of at least 0; the row is left out',
      'trace.csv, row 3: a time is not a number of at least 0; the row is left out',
    ]));

  it('answers any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        readLayerTrace(text, 'x');
        readLayerTrace(`layer,forward_s\n${text}`, 'x');
      }),
    );
  });
});
