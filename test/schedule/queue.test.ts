import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ranksOf } from '../../server/src/schedule/messageColumns.ts';
import { createQueue } from '../../server/src/schedule/queue.ts';

test('a queue gives the lowest rank first, and among equals the first to come', () => {
  const ranks = 3000;
  const jobs = 200;
  // A number is the rank of the next job that comes; nothing is a turn of the channel.
  const rank = fc.oneof(fc.nat(ranks - 1), fc.nat(3));
  fc.assert(
    fc.property(fc.array(fc.option(rank), { maxLength: jobs }), (turns) => {
      const links = new Int32Array(jobs);
      const queue = createQueue(ranks);
      let plain: { readonly job: number; readonly rank: number }[] = [];
      const next = () => plain.toSorted((a, b) => a.rank - b.rank || a.job - b.job);
      for (const [job, came] of turns.entries()) {
        if (came === null) {
          const [first] = next();
          expect(queue.pop(links)).toBe(first?.job ?? -1);
          plain = plain.filter((one) => one !== first);
        } else {
          queue.push(job, came, links);
          plain.push({ job, rank: came });
        }
      }
      expect(queue.waiting(links)).toEqual(next().map(({ job }) => job));
    }),
  );
});

test('ranks keep the order of values, equal ones alike', () => {
  expect(ranksOf([7, -1, 7, 0.5])).toEqual({ ranks: Int32Array.from([2, 0, 2, 1]), distinct: 3 });
  expect(ranksOf([])).toEqual({ ranks: new Int32Array(0), distinct: 0 });
});
