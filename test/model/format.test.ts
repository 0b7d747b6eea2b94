import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  atLeast,
  atMost,
  formatBandwidth,
  formatBytes,
  formatCount,
  formatFlopRate,
  formatFlops,
  formatOperations,
  formatPercent,
  formatRate,
  formatShortCount,
  formatSpread,
  formatTime,
  significant,
} from '../../server/src/model/format.ts';
import { bytes, bytesPerSecond, flops, flopsPerSecond, seconds } from '../../server/src/model/units.ts';

describe('numbers as people read them', () => {
  test.each([
    [formatBytes(bytes(0)), '0 B'],
    [formatBytes(bytes(512)), '512 B'],
    [formatBytes(bytes(1536)), '1.50 KiB'],
    [formatBytes(bytes(9 * 2 ** 20)), '9.00 MiB'],
    [formatBytes(bytes(80 * 2 ** 30)), '80.0 GiB'],
    [formatBytes(bytes(2 ** 20 - 1)), '1.00 MiB'],
    [formatBytes(null), '?'],
    [formatBandwidth(bytesPerSecond(340e9)), '340 GB/s'],
    [formatBandwidth(bytesPerSecond(1.25e9)), '1.25 GB/s'],
    [formatBandwidth(bytesPerSecond(3.35e12)), '3350 GB/s'],
    [formatFlops(flops(38.7e9)), '38.7 GFLOP'],
    [formatFlops(flops(0)), '0 FLOP'],
    [formatFlops(flops(8_178_000_000)), '8.18 GFLOP'],
    [formatFlopRate(flopsPerSecond(312e12)), '312 TFLOP/s'],
    [formatOperations(12_600_000), '12.6 Mop'],
    [formatTime(seconds(0.00021)), '210 µs'],
    [formatTime(seconds(0.00134)), '1.34 ms'],
    [formatTime(seconds(0.0009999)), '1.00 ms'],
    [formatTime(seconds(2.4)), '2.40 s'],
    [formatTime(seconds(5e-9)), '5.00 ns'],
    [formatTime(seconds(0)), '0 s'],
    [formatTime(seconds(192)), '3.20 min'],
    [formatTime(seconds(18000)), '5.00 h'],
    [formatTime(null), '?'],
    [formatRate(12.34), '12.3 samples/s'],
    [formatRate(12345.6), '12,346 samples/s'],
    [formatRate(null), '?'],
    [formatPercent(0.123), '12 %'],
    [formatPercent(0.021), '2.1 %'],
    [formatPercent(0.1), '10 %'],
    [formatPercent(0.0996), '10 %'],
    [formatPercent(0.0994), '9.9 %'],
    [formatPercent(-0.1), '-10 %'],
    [formatPercent(0), '0 %'],
    [formatPercent(0.0005), '0.1 %'],
    [formatPercent(0.000499), '< 0.1 %'],
    [formatPercent(1), '100 %'],
    [formatCount(25557032), '25,557,032'],
    [formatCount(0), '0'],
    [formatCount(-1234), '-1,234'],
    [formatShortCount(25557032), '25.6 M'],
    [formatShortCount(950), '950'],
    [formatShortCount(null), '?'],
    [formatSpread({ low: 0.9, high: 1.1 }), '± 10 %'],
    [atLeast('8.18 GFLOP', false), '≥ 8.18 GFLOP'],
    [atLeast('8.18 GFLOP', true), '8.18 GFLOP'],
    // What is unknown is no bound.
    [atLeast(formatTime(null), false), '?'],
    [atMost(formatRate(null), false), '?'],
    [significant(Number.POSITIVE_INFINITY), '∞'],
    [significant(0.000123456), '0.000123'],
    [significant(99.96), '100'],
  ])('%s', (actual, expected) => {
    expect(actual).toBe(expected);
  });
});

test('three significant digits are those of the rounded number, however it is written', () => {
  const magnitude = fc.tuple(fc.double({ min: 1, max: 10, noNaN: true }), fc.integer({ min: -9, max: 9 }));
  fc.assert(
    fc.property(magnitude, fc.boolean(), ([mantissa, exponent], negative) => {
      const value = (negative ? -1 : 1) * mantissa * 10 ** exponent;
      const text = significant(value);
      expect(Number(text)).toBe(Number(value.toPrecision(3)));
      expect(text).toMatch(/^-?(\d{3,}|\d\d\.\d|[1-9]\.\d\d|0\.0*[1-9]\d\d)$/);
    }),
  );
});
