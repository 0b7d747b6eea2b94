/** How long the page takes from what a person does to what is painted, measured inside the page. */

import type { Page } from 'playwright-core';

/** Milliseconds from the start to the painting; rejected where nothing appears within a minute. */
export type Lap = () => Promise<number>;

/** What is waited for: an element that the selector names whose text matches. */
export interface Awaited {
  readonly selector: string;
  readonly text: RegExp;
}

/**
 * Begins with the last event of the kind before the text is there. Call it before the event is caused, and the lap
 * afterwards.
 */
export async function startStopwatch(
  page: Page,
  event: 'keydown' | 'mouseup' | 'dblclick',
  { selector, text }: Awaited,
): Promise<Lap> {
  const lap = `lap${count}`;
  count += 1;
  const words = JSON.stringify({ lap, event, selector, pattern: text.source });
  await page.evaluate(`(${startInPage})(${words})`);
  return () => page.evaluate<number>(`globalThis[${JSON.stringify(lap)}]`);
}

let count = 0;

/** As text, since the types of this project know no browser. A frame's callbacks run before it is painted, messages after. */
const startInPage = `({ lap, event, selector, pattern }) => {
  const wanted = new RegExp(pattern);
  const plain = (text) => text.replace(/\\u00a0/g, ' ').replace(/[\\u200b-\\u200d]/g, '');
  const isThere = () =>
    [...document.querySelectorAll(selector)].some((element) => wanted.test(plain(element.textContent ?? '')));
  let started;
  const start = () => { started = performance.now(); };
  addEventListener(event, start, true);
  globalThis[lap] = new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => reject(new Error('not painted within a minute: ' + pattern))), 60000);
    const end = (settle) => {
      clearTimeout(timer);
      observer.disconnect();
      removeEventListener(event, start, true);
      settle();
    };
    const observer = new MutationObserver(() => {
      if (started === undefined || !isThere()) return;
      observer.disconnect();
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => end(() => resolve(performance.now() - started));
        port2.postMessage(undefined);
      });
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  globalThis[lap].catch(() => {});
}`;
