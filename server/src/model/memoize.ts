/** Answers kept by the question: for pure functions that are asked the same a thousand times. */

/** `answer`, which is asked each thing once. Objects are the same where they are the same object. */
export function memoize<Question, Answer>(
  answer: (question: Question) => Answer,
): (question: Question) => Answer {
  const known = new Map<Question, Answer>();
  return (question) => {
    let found = known.get(question);
    if (found === undefined) {
      found = answer(question);
      known.set(question, found);
    }
    return found;
  };
}

/** The same of an object that does not change, kept as long as the object is. */
export function memoizeOfObject<Thing extends object, Answer>(
  answer: (thing: Thing) => Answer,
): (thing: Thing) => Answer {
  const known = new WeakMap<Thing, Answer>();
  return (thing) => {
    let found = known.get(thing);
    if (found === undefined) {
      found = answer(thing);
      known.set(thing, found);
    }
    return found;
  };
}
