import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addDimensions,
  boundOf,
  broadcastDimensions,
  ceilDivideDimensions,
  type Dimension,
  divideExactly,
  equalDimensions,
  evaluateDimension,
  floorDivideDimensions,
  integerDimension,
  isPast64Bits,
  isUnknown,
  maximumOfDimensions,
  minimumOfDimensions,
  multiplyDimensions,
  printDimension,
  productOfDimensions,
  subtractDimensions,
  symbol,
  symbolsOf,
  unknownDimension,
} from '../../server/src/model/dimension.ts';

const names = ['batch', 'seq', 'heads'];
const bindings = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 }))
  .map((values) => new Map(names.map((name, index) => [name, values[index] ?? 1])));

const leaf = fc.oneof(
  fc.integer({ min: -9, max: 9 }).map((value): Dimension => value),
  fc.constantFrom(...names).map((name): Dimension => symbol(name)),
);
const polynomial: fc.Arbitrary<Dimension> = fc.letrec<{ node: Dimension }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc
      .tuple(tie('node'), tie('node'), fc.constantFrom(addDimensions, subtractDimensions, multiplyDimensions))
      .map(([left, right, combine]) => combine(left, right)),
  ),
})).node;

const value = (dimension: Dimension, values: ReadonlyMap<string, number>): number => {
  const result = evaluateDimension(dimension, values);
  if (typeof result !== 'number') throw new Error(result.reason);
  return result;
};

describe('an operation on dimensions commutes with giving symbols values', () => {
  const operations: readonly (readonly [
    string,
    (left: Dimension, right: Dimension) => Dimension,
    (left: number, right: number) => number,
  ])[] = [
    ['add', addDimensions, (left, right) => left + right],
    ['subtract', subtractDimensions, (left, right) => left - right],
    ['multiply', multiplyDimensions, (left, right) => left * right],
    ['maximum', maximumOfDimensions, Math.max],
    ['minimum', minimumOfDimensions, Math.min],
  ];
  test.each(operations)('%s', (_, combine, combineNumbers) => {
    fc.assert(
      fc.property(polynomial, polynomial, bindings, (left, right, values) => {
        expect(value(combine(left, right), values) + 0).toBe(
          combineNumbers(value(left, values), value(right, values)) + 0,
        );
      }),
    );
  });

  test.each([
    ['floor', floorDivideDimensions, Math.floor],
    ['ceil', ceilDivideDimensions, Math.ceil],
  ] as const)('%s of a quotient', (_, divide, round) => {
    fc.assert(
      fc.property(polynomial, polynomial, bindings, (left, right, values) => {
        const divisor = value(right, values);
        fc.pre(divisor > 0);
        expect(value(divide(left, right), values) + 0).toBe(round(value(left, values) / divisor) + 0);
      }),
    );
  });
});

describe('canonical form', () => {
  test('sums and products do not depend on order', () => {
    fc.assert(
      fc.property(polynomial, polynomial, polynomial, (a, b, c) => {
        expect(equalDimensions(addDimensions(a, b), addDimensions(b, a))).toBe(true);
        expect(equalDimensions(multiplyDimensions(a, b), multiplyDimensions(b, a))).toBe(true);
        expect(
          equalDimensions(
            multiplyDimensions(a, addDimensions(b, c)),
            addDimensions(multiplyDimensions(a, b), multiplyDimensions(a, c)),
          ),
        ).toBe(true);
      }),
    );
  });

  test('what was multiplied in divides out again', () => {
    fc.assert(
      fc.property(polynomial, polynomial, (quotient, divisor) => {
        fc.pre(divisor !== 0);
        const back = divideExactly(multiplyDimensions(quotient, divisor), divisor);
        expect(back === undefined ? undefined : printDimension(back)).toBe(printDimension(quotient));
      }),
    );
  });

  test('a dimension that equals a number is that number', () => {
    const batch = symbol('batch');
    expect(subtractDimensions(batch, batch)).toBe(0);
    expect(addDimensions(subtractDimensions(batch, batch), 3)).toBe(3);
    expect(divideExactly(multiplyDimensions(batch, 12), multiplyDimensions(batch, 4))).toBe(3);
  });
});

const [batch, seq] = [symbol('batch'), symbol('seq')];
const unknown = unknownDimension('it depends on data');

test.each([
  ['one symbol', batch, 'batch'],
  ['a product, names sorted', multiplyDimensions(seq, batch), 'batch*seq'],
  ['a polynomial, highest degree first', addDimensions(1, multiplyDimensions(2, batch)), '2*batch + 1'],
  ['a difference', subtractDimensions(multiplyDimensions(seq, seq), 4), 'seq*seq - 4'],
  [
    'a quotient that does not divide',
    floorDivideDimensions(addDimensions(seq, 1), 2),
    'floor((seq + 1)/(2))',
  ],
  ['a quotient that divides', floorDivideDimensions(multiplyDimensions(seq, 4), 2), '2*seq'],
  ['an unknown', unknown, '?'],
])('prints %s', (_, dimension, text) => {
  expect(printDimension(dimension)).toBe(text);
});

describe('broadcasting', () => {
  test.each([
    ['1 and a symbol', 1, batch, 'batch'],
    ['a symbol and 1', batch, 1, 'batch'],
    ['a symbol and itself', batch, batch, 'batch'],
    ['a symbol and a number', batch, 7, '7'],
    ['an unknown and a number', unknown, 7, '7'],
    ['an unknown and 1', unknown, 1, '?'],
    ['two symbols', batch, seq, 'broadcast(batch, seq)'],
  ] as const)('%s', (_, left, right, text) => {
    const together = broadcastDimensions(left, right);
    expect(together === undefined ? undefined : printDimension(together)).toBe(text);
  });

  test('numbers that differ contradict each other', () => {
    expect(broadcastDimensions(2, 3)).toBeUndefined();
  });

  test('a broadcast that takes part again stays the same', () => {
    const together = broadcastDimensions(batch, seq) ?? 0;
    expect(broadcastDimensions(together, seq)).toBe(together);
    expect(broadcastDimensions(batch, together)).toBe(together);
  });

  test('two symbols are solved once they have values, or say both names', () => {
    const together = broadcastDimensions(batch, seq) ?? 0;
    const given = (b: number, s: number) =>
      evaluateDimension(together, new Map(Object.entries({ batch: b, seq: s })));
    expect(given(8, 8)).toBe(8);
    expect(given(1, 8)).toBe(8);
    expect(given(8, 1)).toBe(8);
    expect(given(8, 4)).toEqual(
      unknownDimension('`batch` is 8 and `seq` is 4, but they are broadcast together'),
    );
  });
});

test('unknown stays unknown, with its reason, except where it cannot matter', () => {
  expect(addDimensions(unknown, 3)).toBe(unknown);
  expect(multiplyDimensions(batch, unknown)).toBe(unknown);
  expect(multiplyDimensions(0, unknown)).toBe(0);
  expect(floorDivideDimensions(unknown, 2)).toBe(unknown);
  expect(productOfDimensions([2, unknown, 3])).toBe(unknown);
  expect(equalDimensions(unknown, unknown)).toBe(false);
});

describe('a size that is unknown but bounded', () => {
  const few = unknownDimension('data', 300);

  test.each([
    ['a sum', addDimensions(few, 4), '≤304'],
    ['a difference', subtractDimensions(few, 4), '≤296'],
    ['a difference from it', subtractDimensions(400, few), '?'],
    ['a product', multiplyDimensions(few, batch), '≤300*batch'],
    ['a product with what may be negative', multiplyDimensions(few, subtractDimensions(batch, 5)), '?'],
    ['a quotient', ceilDivideDimensions(few, 7), '≤43'],
    ['a quotient by it', floorDivideDimensions(600, few), '?'],
    ['the lesser', minimumOfDimensions(few, 100), '≤100'],
    ['the lesser of nothing known', minimumOfDimensions(unknown, 100), '≤100'],
    ['the greater', maximumOfDimensions(few, 500), '≤500'],
    ['the greater of nothing known', maximumOfDimensions(unknown, 500), '?'],
    ['broadcast with a symbol', broadcastDimensions(few, batch) ?? 0, '≤max(300, batch)'],
  ])('%s', (_, dimension, text) => {
    expect(printDimension(dimension)).toBe(text);
  });

  test('has a bound in numbers once symbols have values', () => {
    expect(evaluateDimension(multiplyDimensions(few, batch), new Map([['batch', 2]]))).toEqual(
      unknownDimension('data', 600),
    );
  });

  test('is never more than arithmetic on its bound says', () => {
    const step = fc.tuple(
      fc.constantFrom(
        addDimensions,
        subtractDimensions,
        multiplyDimensions,
        floorDivideDimensions,
        ceilDivideDimensions,
        maximumOfDimensions,
        minimumOfDimensions,
      ),
      fc.integer({ min: -3, max: 9 }),
      fc.boolean(),
      fc.boolean(),
    );
    const natural = fc.nat(9);
    fc.assert(
      fc.property(natural, natural, fc.array(step, { maxLength: 6 }), (truth, slack, steps) => {
        let value: Dimension = truth;
        let guess: Dimension = unknownDimension('data', truth + slack);
        for (const [operation, number, swaps, hides] of steps) {
          const other = hides && number >= 0 ? unknownDimension('data', number + 2) : number;
          [value, guess] = swaps
            ? [operation(number, value), operation(other, guess)]
            : [operation(value, number), operation(guess, other)];
          if (isUnknown(value)) return;
        }
        const most = boundOf(guess);
        if (typeof value === 'number' && typeof most === 'number') expect(most).toBeGreaterThanOrEqual(value);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('integers past 2⁵³', () => {
  const huge = integerDimension('9223372036854775807');

  test('cancel exactly', () => {
    expect(printDimension(subtractDimensions(addDimensions(huge, 1), 1))).toBe('9223372036854775807');
    expect(integerDimension('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('have no value, and are no symbol that could be given one', () => {
    expect(evaluateDimension(huge, new Map())).toMatchObject({ reason: expect.stringContaining('2⁵³') });
    expect(symbolsOf(huge)).toEqual([]);
  });

  test('may be more than 64 bits count', () => {
    expect(isPast64Bits(huge)).toBe(false);
    expect(isPast64Bits(addDimensions(huge, 1))).toBe(true);
    expect(isPast64Bits(addDimensions(huge, batch))).toBe(false);
  });
});

test('a symbol without a value names itself', () => {
  expect(evaluateDimension(multiplyDimensions(batch, seq), new Map([['batch', 2]]))).toEqual(
    unknownDimension('dimension `seq` has no value'),
  );
});

test('the symbols of an expression include those inside quotients', () => {
  expect(symbolsOf(addDimensions(batch, floorDivideDimensions(seq, 3)))).toEqual(['batch', 'seq']);
});
