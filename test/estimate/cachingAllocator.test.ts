/** The caching allocator by the rules of its source, and by what holds of any order of tensors. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Block, CachingAllocator } from '../../server/src/estimate/memory/cachingAllocator.ts';

const mebibyte = 2 ** 20;

function take(allocator: CachingAllocator, size: number): Block {
  const block = allocator.allocate(size);
  if (block === undefined) throw new Error(`no room for ${size}`);
  return block;
}

describe('segments', () => {
  test.each([
    ['a small tensor takes a segment of 2 MiB', [1], 2],
    ['small tensors share it', [1, 512 * 1024, mebibyte], 2],
    ['a tensor above 1 MiB takes one of 20 MiB', [1.5 * mebibyte], 20],
    ['those below 10 MiB share it', [9 * mebibyte, 9 * mebibyte], 20],
    ['one of just 10 MiB, too', [10 * mebibyte], 10],
    ['one of 10 MiB and more takes its own, rounded to 2 MiB', [10.5 * mebibyte, 33 * mebibyte], 12 + 34],
  ] as const)('%s', (_, sizes, reserved) => {
    const allocator = new CachingAllocator();
    for (const size of sizes) take(allocator, size);
    expect(allocator.reserved / mebibyte).toBe(reserved);
  });

  test('a free block is taken again, the smallest that is large enough', () => {
    const allocator = new CachingAllocator();
    const blocks = [40, 30, 50].map((size) => take(allocator, size * mebibyte));
    for (const block of blocks) allocator.release(block);
    take(allocator, 29.5 * mebibyte);
    take(allocator, 40 * mebibyte);
    expect(allocator.reserved / mebibyte).toBe(120);
    expect(allocator.allocated / mebibyte).toBe(30 + 40);
  });

  test('a large block is cut where more than 1 MiB is left, and grows together again', () => {
    const allocator = new CachingAllocator();
    const whole = take(allocator, 40 * mebibyte);
    allocator.release(whole);
    const [first, second] = [take(allocator, 20 * mebibyte), take(allocator, 19.5 * mebibyte)];
    expect(allocator.reserved / mebibyte).toBe(40);
    expect(allocator.allocated / mebibyte).toBe(40);
    allocator.release(first);
    allocator.release(second);
    take(allocator, 40 * mebibyte);
    expect(allocator.reserved / mebibyte).toBe(40);
  });

  test('whole free segments are given back where the GPU has no more, and others are not', () => {
    const allocator = new CachingAllocator(100 * mebibyte);
    const first = take(allocator, 60 * mebibyte);
    allocator.release(first);
    take(allocator, 80 * mebibyte);
    expect(allocator.reserved / mebibyte).toBe(80);
    expect(allocator.allocate(30 * mebibyte)).toBeUndefined();
  });
});

const orders = fc.array(
  fc.record({ size: fc.integer({ min: 1, max: 64 * mebibyte }), release: fc.nat({ max: 20 }) }),
  { maxLength: 120 },
);

describe('whatever the order', () => {
  test('what is reserved holds what is in use, and all of it is there again in the end', () => {
    fc.assert(
      fc.property(orders, (order) => {
        const allocator = new CachingAllocator();
        const held: Block[] = [];
        for (const { size, release } of order) {
          held.push(take(allocator, size));
          const [released] = release < held.length ? held.splice(release, 1) : [];
          if (released !== undefined) allocator.release(released);
          const inUse = held.reduce((total, block) => total + block.size, 0);
          expect(allocator.allocated).toBe(inUse);
          expect(allocator.reserved).toBeGreaterThanOrEqual(inUse);
          const ends = held.map(({ address, size: own }) => [address, address + own] as const);
          for (const [index, [, end]] of ends.sort((a, b) => a[0] - b[0]).entries()) {
            expect(end).toBeLessThanOrEqual(ends[index + 1]?.[0] ?? Number.POSITIVE_INFINITY);
          }
        }
        for (const block of held) allocator.release(block);
        expect(allocator.allocated).toBe(0);
      }),
      { numRuns: 50 },
    );
  });
});
