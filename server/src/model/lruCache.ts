/**
 * The last few answers, for a question that comes back.
 *
 * A person who takes back what was typed returns to the state before, or to the one on the way to it: three answers
 * cover the state before an edit, the one that is being typed, and one between. Who asks for more at a time says so.
 */

export class LruCache<Question, Answer> {
  /** The last one first. */
  private known: readonly { readonly question: Question; readonly answer: Answer }[] = [];

  constructor(
    private readonly isSame: (known: Question, asked: Question) => boolean,
    private readonly most = 3,
  ) {}

  /** What was answered to the same question; `undefined` where none of the last was it. */
  find(asked: Question): Answer | undefined {
    return this.known.find(({ question }) => this.isSame(question, asked))?.answer;
  }

  /** An answer that is known already moves to the front, under the question as it was asked now. */
  keep(question: Question, answer: Answer): void {
    const others = this.known.filter((entry) => entry.answer !== answer);
    this.known = [{ question, answer }, ...others].slice(0, this.most);
  }
}
