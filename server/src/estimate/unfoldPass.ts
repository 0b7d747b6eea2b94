/**
 * The events of a pass over a graph that repeats blocks, from those over the graph with most of the blocks left out: a block
 * takes and gives back what its neighbours do.
 */

import { type Fold, keptAtEnd, keptAtStart, type Places } from '../analysis/folding/foldGraph.ts';
import { backwardPlace, forwardPlace, type PassEvents, type Taken } from './passEvents.ts';

/** `undefined` where the blocks kept do not do the same, so that nothing says what those left out do. */
export function unfoldPass({ inner, ...fold }: Places, folded: PassEvents): PassEvents | undefined {
  const pass = inner === undefined ? folded : unfoldPass(inner, folded);
  return pass && unfoldBlocks(fold, pass);
}

function unfoldBlocks(fold: Fold, pass: PassEvents): PassEvents | undefined {
  const { cut, period, copies, count } = fold;
  const ordinals = ordinalsOf(pass);
  if (!areSettled(fold, pass, ordinals)) return undefined;
  const { operators } = pass;
  const last = cut - period;
  const taken: Taken[] = [...pass.taken];
  /** By number of what the last block kept takes: the numbers of its copies. */
  const copied = new Map<number, number[]>();
  const copyOf = (number: number, copy: number): number =>
    copy === 0 ? number : (copied.get(number)?.[copy - 1] ?? number);
  const isLast = (operator: number): boolean => operator >= last && operator < cut;
  const isBlock = isInBlocks(fold);
  for (const [number, { bytes, place }] of pass.taken.entries()) {
    if (!isLast(operatorAt(place, operators))) continue;
    const first = taken.length;
    for (let copy = 0; copy < copies; copy += 1) taken.push({ bytes, place: -1 });
    copied.set(
      number,
      Array.from({ length: copies }, (_, copy) => first + copy),
    );
  }
  /** The same of a block before or behind. */
  const sameOf = (number: number, blocks: number): number => {
    const place = pass.taken[number]?.place ?? 0;
    const operator = operatorAt(place, operators) + blocks * period;
    const moved = isBackward(place, operators) ? backwardPlace(operator, operators) : forwardPlace(operator);
    return ordinals.at(moved, ordinals.of(number)) ?? number;
  };
  /** What an operator of the last block kept takes or gives, in a copy of that block. */
  const inCopy = (event: number, copy: number): number => {
    const number = event < 0 ? ~event : event;
    const operator = operatorAt(pass.taken[number]?.place ?? 0, operators);
    let own = number;
    if (isLast(operator)) own = copyOf(number, copy);
    else if (operator < last && copy > 0) own = copyOf(sameOf(number, 1), copy - 1);
    else if (operator >= cut && copy < copies) own = copyOf(sameOf(number, -1), copy + 1);
    return event < 0 ? ~own : own;
  };
  const events: number[][] = [];
  const add = (place: number, own: readonly number[]): void => {
    for (const event of own) {
      const at = event < 0 ? undefined : taken[event];
      if (at !== undefined) taken[event] = { ...at, place };
    }
    events[place] = [...own];
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
      while (end < own.length && (own[end] ?? 0) < 0 && isOfLast(~(own[end] ?? 0))) end += 1;
      if (end === index) {
        all.push(own[index] ?? 0);
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
  const isOfLast = (number: number): boolean => isLast(operatorAt(pass.taken[number]?.place ?? 0, operators));
  const placeIn = (place: number): number => {
    const operator = operatorAt(place, operators);
    if (operator < 0) return place === 0 ? 0 : place === operators + 1 ? count + 1 : 2 * count + 2;
    const whole = operator < cut ? operator : operator + copies * period;
    return isBackward(place, operators) ? backwardPlace(whole, count) : forwardPlace(whole);
  };
  for (const [place, own] of pass.events.entries()) {
    const operator = operatorAt(place, operators);
    if (!isLast(operator)) {
      add(placeIn(place), outside(operator, own));
      continue;
    }
    for (let copy = 0; copy <= copies; copy += 1) {
      const whole = operator + copy * period;
      add(
        isBackward(place, operators) ? backwardPlace(whole, count) : forwardPlace(whole),
        own.map((event) => inCopy(event, copy)),
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
  ({ cut, period }: Fold) =>
  (operator: number): boolean =>
    operator >= cut - keptAtStart * period && operator < cut + keptAtEnd * period;

/** The how manieth of its place each is that is taken. */
interface Ordinals {
  readonly of: (number: number) => number;
  readonly at: (place: number, ordinal: number) => number | undefined;
}

function ordinalsOf({ events, taken }: PassEvents): Ordinals {
  const ordinals = new Int32Array(taken.length);
  const byPlace = events.map((own) => own.filter((event) => event >= 0));
  for (const numbers of byPlace) {
    for (const [ordinal, number] of numbers.entries()) ordinals[number] = ordinal;
  }
  return { of: (number) => ordinals[number] ?? 0, at: (place, ordinal) => byPlace[place]?.[ordinal] };
}

/** Whether the last block before the cut, the one before it and the one behind do the same. */
function areSettled({ cut, period, ...rest }: Fold, pass: PassEvents, ordinals: Ordinals): boolean {
  const { operators, events, taken } = pass;
  const isBlock = isInBlocks({ cut, period, ...rest });
  const areSame = (place: number, other: number): boolean => {
    const own = events[place] ?? [];
    const others = events[other] ?? [];
    return (
      own.length === others.length &&
      own.every((event, index) => {
        const theirs = others[index] ?? 0;
        if (event >= 0) return theirs >= 0 && taken[event]?.bytes === taken[theirs]?.bytes;
        if (theirs >= 0 || ordinals.of(~event) !== ordinals.of(~theirs)) return false;
        const [from, their] = [taken[~event]?.place ?? 0, taken[~theirs]?.place ?? 0];
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
