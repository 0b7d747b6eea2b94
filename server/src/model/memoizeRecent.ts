/** The last few answers about a thing, kept as long as the thing is: what was found does not change while it lasts. */

import { LruCache } from './lruCache.ts';

/** `answer`, a pure function, which mostly is asked again what it was asked of the same thing just before. */
export function memoizeRecent<Thing extends object, Question, Answer>(
  answer: (thing: Thing, question: Question) => Answer,
  isSame: (known: Question, asked: Question) => boolean,
  most?: number,
): (thing: Thing, question: Question) => Answer {
  const things = new WeakMap<Thing, LruCache<Question, Answer>>();
  return (thing, question) => {
    const answers = things.get(thing) ?? new LruCache<Question, Answer>(isSame, most);
    things.set(thing, answers);
    const found = answers.find(question) ?? answer(thing, question);
    answers.keep(question, found);
    return found;
  };
}
