/** The last few answers about a thing, kept as long as the thing is: what was found does not change while it lasts. */

import { LruCache } from './lruCache.ts';
import type { Steps } from './steps.ts';

/** `answer`, a pure function, which mostly is asked again what it was asked of the same thing just before. */
export function memoizeRecent<Thing extends object, Question, Answer>(
  answer: (thing: Thing, question: Question) => Answer,
  isSame: (known: Question, asked: Question) => boolean = isIdentical,
  most?: number,
): (thing: Thing, question: Question) => Answer {
  const answersTo = recentAnswers<Thing, Question, Answer>(isSame, most);
  return (thing, question) => {
    const answers = answersTo(thing);
    const found = answers.find(question) ?? answer(thing, question);
    answers.keep(question, found);
    return found;
  };
}

/** The same for an answer in steps. What is known is given at once. */
export function memoizeRecentSteps<Thing extends object, Question, Answer>(
  answer: (thing: Thing, question: Question) => Steps<Answer>,
  isSame: (known: Question, asked: Question) => boolean,
  most?: number,
): (thing: Thing, question: Question) => Steps<Answer> {
  const answersTo = recentAnswers<Thing, Question, Answer>(isSame, most);
  return function* (thing, question) {
    const answers = answersTo(thing);
    const found = answers.find(question) ?? (yield* answer(thing, question));
    answers.keep(question, found);
    return found;
  };
}

const isIdentical = <Question>(known: Question, asked: Question): boolean => known === asked;

function recentAnswers<Thing extends object, Question, Answer>(
  isSame: (known: Question, asked: Question) => boolean,
  most: number | undefined,
): (thing: Thing) => LruCache<Question, Answer> {
  const things = new WeakMap<Thing, LruCache<Question, Answer>>();
  return (thing) => {
    const answers = things.get(thing) ?? new LruCache<Question, Answer>(isSame, most);
    things.set(thing, answers);
    return answers;
  };
}
