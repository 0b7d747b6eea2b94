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
