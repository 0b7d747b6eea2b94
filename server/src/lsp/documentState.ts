/** What is known of an open document while its views are made. */

import type { TextDocument } from 'vscode-languageserver-textdocument';
import { isComplete, isReadable, keepLastGood } from '../language/keepLastGood.ts';
import type { ModelView } from '../language/modelView.ts';
import { type DocumentCache, documentCache } from './makeView.ts';

/**
 * An editor asks again by itself after a keystroke, and is the one that asks for a view that was let go of; after
 * anything else it has to be asked to.
 */
export type Cause = 'keystroke' | 'asked' | 'other';

/** Written in place. */
export class DocumentState {
  cache: DocumentCache = documentCache();
  /** Grows with every change; work started for an older one is dropped. */
  generation = 0;
  /** What the view under way is for: 'other' until the editor has been asked to refresh. */
  cause: Cause = 'other';
  /** The document was not used for long, and its view is made again when it is asked for. */
  letGo = false;
  /** Milliseconds that the last view took. */
  duration = 0;
  timer: ReturnType<typeof setTimeout> | undefined;
  shown: ModelView | undefined;
  /** Whether the view of the present text is there; `ready` resolves when it is. */
  settled = true;
  ready: Promise<void> = Promise.resolve();
  private lastGood: ModelView | undefined;
  private resolveReady = (): void => {};

  constructor(readonly document: TextDocument) {}

  /** A newer text supersedes the view under way. */
  supersede(): void {
    this.generation += 1;
    clearTimeout(this.timer);
  }

  unsettle(): void {
    if (!this.settled) return;
    this.settled = false;
    this.ready = new Promise((resolve) => {
      this.resolveReady = resolve;
    });
  }

  settle(): void {
    this.settled = true;
    this.resolveReady();
  }

  show(view: ModelView): void {
    // Numbers of another scenario are no good ones, only those of another moment of the text are.
    const isOther = this.cause === 'other' && isReadable(view);
    this.shown = isOther ? view : keepLastGood(view, this.lastGood);
    if (isComplete(view)) this.lastGood = view;
  }

  /** Keeps only what cannot be made again. */
  forgetViews(): void {
    this.letGo = true;
    this.shown = undefined;
    this.lastGood = undefined;
    this.cache = { ...documentCache(), measured: this.cache.measured };
  }
}
