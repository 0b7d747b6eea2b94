/**
 * The events of a pass over a graph that repeats blocks, from those over the graph with most of the blocks left out: a block
 * takes and gives back what its neighbours do.
 */

import type { Fold, FoldLayout } from '../../analysis/repetition/foldGraph.ts';
import { intAt, itemAt } from '../../model/at.ts';
import { backwardPlace, forwardPlace, type PassEvents } from './passEvents.ts';

/** `undefined` where the blocks kept do not do the same, so that nothing says what those left out do. */
export function unfoldPass({ inner, ...fold }: FoldLayout, folded: PassEvents): PassEvents | undefined {
  const pass = inner === undefined ? folded : unfoldPass(inner, folded);
  return pass && unfoldBlocks(fold, pass);
}

function unfoldBlocks(fold: Fold, pass: PassEvents): PassEvents | undefined {
  const { cut, period, copies, count } = fold;
  const ordinals = allocationRanksOf(pass);
  if (!areSettled(fold, pass, ordinals)) return undefined;
  const { operators } = pass;
  const last = cut - period;
  const isLast = (operator: number): boolean => operator >= last && operator < cut;
  const isBlock = isInBlocks(fold);
  const takerOf = (number: number): number => operatorAt(itemAt(pass.taken, number).place, operators);
  const isOfLast = (number: number): boolean => isLast(takerOf(number));
  const taken: { readonly bytes: number; place: number }[] = pass.taken.map(({ bytes }) => ({
    bytes,
    place: -1,
  }));
  /** By number of what the last block kept takes: that of the first of its copies, behind which the others are. */
  const firstCopies = new Int32Array(pass.taken.length);
  for (const [number, { bytes }] of pass.taken.entries()) {
    if (!isOfLast(number)) continue;
    firstCopies[number] = taken.length;
    for (let copy = 0; copy < copies; copy += 1) taken.push({ bytes, place: -1 });
  }
  const copyOf = (number: number, copy: number): number =>
    copy === 0 ? number : intAt(firstCopies, number) + copy - 1;
  /** The same of a block before or behind. */
  const sameOf = (number: number, blocks: number): number => {
    const { place } = itemAt(pass.taken, number);
    const operator = takerOf(number) + blocks * period;
    const moved = isBackward(place, operators) ? backwardPlace(operator, operators) : forwardPlace(operator);
    return ordinals.at(moved, ordinals.of(number)) ?? number;
  };
  /** What an operator of the last block kept takes or gives: in a copy of that block, the same of it or of one beside. */
  const inCopies = (event: number): ((copy: number) => number) => {
    const number = event < 0 ? ~event : event;
    const operator = takerOf(number);
    const beside = isLast(operator) ? 0 : operator < last ? -1 : 1;
    const same = beside === 0 ? number : sameOf(number, -beside);
    const own = (copy: number): number =>
      copy + beside < 0 || copy + beside > copies ? number : copyOf(same, copy + beside);
    return event < 0 ? (copy) => ~own(copy) : own;
  };
  const events: (readonly number[])[] = Array.from({ length: 2 * count + 3 }, () => []);
  const put = (place: number, own: readonly number[]): void => {
    for (const event of own) {
      const at = event < 0 ? undefined : taken[event];
      if (at !== undefined) at.place = place;
    }
    events[place] = own;
  };
  /** Outside the last block: behind it stand its copies. */
  const outside = (operator: number, own: readonly number[]): readonly number[] => {
    if (operator >= 0 && isBlock(operator)) {
      if (operator < last) return own;
      return own.map((event) => (event < 0 && isOfLast(~event) ? ~copyOf(~event, copies) : event));
    }
    const all: number[] = [];
    for (let index = 0; index < own.length; ) {
      let end = index;
      while (end < own.length && itemAt(own, end) < 0 && isOfLast(~itemAt(own, end))) end += 1;
      if (end === index) {
        all.push(itemAt(own, index));
        index += 1;
        continue;
      }
      // What the blocks are done with together is given back block by block.
      for (let copy = 0; copy <= copies; copy += 1) {
        for (const event of own.slice(index, end)) all.push(~copyOf(~event, copy));
      }
      index = end;
    }
    return all;
  };
  const placeIn = (place: number): number => {
    const operator = operatorAt(place, operators);
    if (operator < 0) return place === 0 ? 0 : place === operators + 1 ? count + 1 : 2 * count + 2;
    const whole = operator < cut ? operator : operator + copies * period;
    return isBackward(place, operators) ? backwardPlace(whole, count) : forwardPlace(whole);
  };
  for (const [place, own] of pass.events.entries()) {
    const operator = operatorAt(place, operators);
    if (!isLast(operator)) {
      put(placeIn(place), outside(operator, own));
      continue;
    }
    const ofCopies = own.map(inCopies);
    for (let copy = 0; copy <= copies; copy += 1) {
      const whole = operator + copy * period;
      put(
        isBackward(place, operators) ? backwardPlace(whole, count) : forwardPlace(whole),
        ofCopies.map((eventIn) => eventIn(copy)),
      );
    }
  }
  return { operators: count, events, taken };
}

/** −1 where no operator is. */
function operatorAt(place: number, operators: number): number {
  if (place === 0 || place === operators + 1 || place === 2 * operators + 2) return -1;
  return place <= operators ? place - 1 : 2 * operators + 1 - place;
}

const isBackward = (place: number, operators: number): boolean => place > operators + 1;

const isInBlocks =
  ({ cut, period, keptBefore, keptBehind }: Fold) =>
  (operator: number): boolean =>
    operator >= cut - keptBefore * period && operator < cut + keptBehind * period;

/** The how manieth of its place each is that is taken. */
interface AllocationRanks {
  readonly of: (number: number) => number;
  readonly at: (place: number, ordinal: number) => number | undefined;
}

function allocationRanksOf({ events, taken }: PassEvents): AllocationRanks {
  const ordinals = new Int32Array(taken.length);
  const byPlace = events.map((own) => own.filter((event) => event >= 0));
  for (const numbers of byPlace) {
    for (const [ordinal, number] of numbers.entries()) ordinals[number] = ordinal;
  }
  return { of: (number) => intAt(ordinals, number), at: (place, ordinal) => byPlace[place]?.[ordinal] };
}

/** Whether the last block before the cut, the one before it and the one behind do the same. */
function areSettled({ cut, period, ...rest }: Fold, pass: PassEvents, ordinals: AllocationRanks): boolean {
  const { operators, events, taken } = pass;
  const isBlock = isInBlocks({ cut, period, ...rest });
  const areSame = (place: number, other: number): boolean => {
    const own = events[place] ?? [];
    const others = events[other] ?? [];
    return (
      own.length === others.length &&
      own.every((event, index) => {
        const theirs = itemAt(others, index);
        if (event >= 0) return theirs >= 0 && taken[event]?.bytes === taken[theirs]?.bytes;
        if (theirs >= 0 || ordinals.of(~event) !== ordinals.of(~theirs)) return false;
        const [from, their] = [itemAt(taken, ~event).place, itemAt(taken, ~theirs).place];
        const [operator, theirOperator] = [operatorAt(from, operators), operatorAt(their, operators)];
        const at = operatorAt(place, operators);
        return (
          isBackward(from, operators) === isBackward(their, operators) &&
          isBlock(operator) &&
          isBlock(theirOperator) &&
          at - operator === operatorAt(other, operators) - theirOperator &&
          blockOf(operator) - blockOf(at) <= 1 &&
          blockOf(at) - blockOf(operator) <= 1
        );
      })
    );
  };
  const blockOf = (operator: number): number => Math.floor((operator - cut) / period);
  for (let operator = cut - period; operator < cut; operator += 1) {
    for (const other of [operator - period, operator + period]) {
      if (!areSame(forwardPlace(operator), forwardPlace(other))) return false;
      if (!areSame(backwardPlace(operator, operators), backwardPlace(other, operators))) return false;
    }
  }
  return true;
}
