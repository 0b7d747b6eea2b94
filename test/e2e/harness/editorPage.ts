/** What a person sees and does in an editor: opens files, reads hints, hovers, types, runs commands. */

import type { Frame, Locator, Page } from 'playwright-core';

/** How long a person would wait at most; the slow part is an extension host on two busy cores. */
const patience = 30_000;

interface ShownCost {
  readonly text: string;
  readonly isLens: boolean;
  readonly begins: number;
  readonly ends: number;
}

interface PlacedText {
  readonly top: number;
  readonly text: string;
}

/** As much of an element of the page as is read here; the types of this project know no browser. */
interface Drawn {
  readonly textContent: string | null;
  readonly classList: { contains(name: string): boolean };
  getBoundingClientRect(): { readonly top: number; readonly left: number; readonly right: number };
}

export class EditorPage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Waits until the explorer lists the workspace and the palette knows the extension. */
  async ready(): Promise<void> {
    await this.page.locator('.monaco-workbench').waitFor({ timeout: 60_000 });
    await this.explorerRows().first().waitFor({ timeout: 60_000 });
    // A file that is opened before extensions are registered is opened without them.
    await this.until('the commands of the extension in the palette', () => this.knowsExtension(), 60_000);
    await this.idle();
  }

  /**
   * Waits until the page has nothing to do. VS Code makes its service of custom editors then (it is registered as
   * `InstantiationType.Delayed`); in a new profile, a binary file that is opened before is shown as bytes. Idle
   * callbacks run in the order in which they were asked for, so this one runs after that of the service. Chromium
   * without a screen may have no idle period until something is drawn: the pointer moves so that there is.
   */
  private async idle(): Promise<void> {
    await this.page.evaluate('requestIdleCallback(() => { globalThis.wasIdle = true; })');
    let place = 200;
    await this.until('a moment in which the page has nothing to do', async () => {
      place = 600 - place;
      await this.page.mouse.move(place, place);
      return (await this.page.evaluate('globalThis.wasIdle')) === true ? true : undefined;
    });
  }

  /** An editor that still starts may not hear the key, or may close the list again: then it is asked once more. */
  private async knowsExtension(): Promise<true | undefined> {
    const title = 'Layercost: Choose Cluster';
    const within = { timeout: 1_500 };
    await this.page.keyboard.press('F1');
    const known = await this.quickInput()
      .fill(`>${title}`, within)
      .then(() => this.quickInputRow(title).waitFor(within))
      .then(
        () => true as const,
        () => undefined,
      );
    await this.page.keyboard.press('Escape');
    await this.quickInput().waitFor({ state: 'hidden', timeout: patience });
    return known;
  }

  /** Presses a key that opens a list, until it is open. */
  private async openQuickInput(key: string): Promise<Locator> {
    const input = this.quickInput();
    await this.until('a list to choose from', async () => {
      await this.page.keyboard.press(key);
      return input.waitFor({ timeout: 2_000 }).then(
        () => true as const,
        () => undefined,
      );
    });
    return input;
  }

  /** Double-clicks a file of the explorer and waits for its editor. */
  async openFile(name: string): Promise<void> {
    const row = this.explorerRows().filter({ has: this.page.getByText(name, { exact: true }) });
    await row.dblclick({ timeout: patience });
    await this.activeTab(name.endsWith('.onnx') ? `${name}.layers.yaml` : name).waitFor({
      timeout: patience,
    });
  }

  /** The tab in front, where its title has the text. */
  activeTab(title: string): Locator {
    return this.page.locator('.tabs-container .tab.active').filter({ hasText: title }).first();
  }

  /**
   * The lines of the text that are in view, from top to bottom, each with the hint that ends it. A wrapped line is
   * one line: only its first row has a number.
   */
  async visibleLines(): Promise<readonly string[]> {
    return (await this.numberedLines()).map(({ text }) => text);
  }

  /** Waits for a line that matches, and gives its number as the margin shows it. */
  lineNumber(pattern: RegExp): Promise<number> {
    return this.until(
      `the number of a line matching ${pattern}`,
      async () => (await this.numberedLines()).find(({ text }) => pattern.test(text))?.line,
    );
  }

  private async numberedLines(): Promise<
    readonly { readonly line: number | undefined; readonly text: string }[]
  > {
    const { rows, numbers } = await this.drawnText();
    const starts = new Map(
      numbers.filter(({ text }) => text !== '').map(({ top, text }) => [top, Number(text)]),
    );
    const lines: { readonly line: number | undefined; readonly text: string }[] = [];
    for (const { top, text } of rows) {
      const before = starts.has(top) ? undefined : lines.pop();
      if (before === undefined) lines.push({ line: starts.get(top), text });
      else lines.push({ ...before, text: `${before.text}${text.trimStart()}` });
    }
    return lines;
  }

  /** Rows of text and numbers of the margin of one moment: a lens that comes in between would move one of them. */
  private async drawnText(): Promise<{
    readonly rows: readonly PlacedText[];
    readonly numbers: readonly PlacedText[];
  }> {
    const both = await this.editor()
      .locator('.view-lines .view-line, .margin-view-overlays .line-numbers')
      .evaluateAll((drawn: readonly Drawn[]) =>
        drawn.map((element) => ({
          top: Math.round(element.getBoundingClientRect().top),
          text: element.textContent ?? '',
          isRow: element.classList.contains('view-line'),
        })),
      );
    const rows = inOrder(both.filter(({ isRow }) => isRow));
    return { rows, numbers: inOrder(both.filter(({ isRow }) => !isRow)) };
  }

  /** Waits for a line that matches, and gives it. */
  lineMatching(pattern: RegExp): Promise<string> {
    return this.until(`a line matching ${pattern}`, async () =>
      (await this.visibleLines()).find((line) => pattern.test(line)),
    );
  }

  /** The same of the cells of a notebook, which lies above the editors. */
  cellLineMatching(pattern: RegExp): Promise<string> {
    return this.until(`a line of a cell matching ${pattern}`, async () =>
      (await readInOrder(this.page.locator('.notebookOverlay .view-line'))).find((line) =>
        pattern.test(line),
      ),
    );
  }

  /** The line of the cursor, with the hint that ends it; nothing where it is not in view. */
  async lineAtCursor(): Promise<string | undefined> {
    const at = /\bLn (\d+)/.exec(await this.statusBar())?.[1];
    const { rows, numbers } = await this.drawnText();
    const top = numbers.find(({ text }) => text === at)?.top;
    return rows.find((row) => row.top === top)?.text;
  }

  /** The code lenses in view, from top to bottom. */
  lenses(): Promise<readonly string[]> {
    return readInOrder(this.editor().locator('.codelens-decoration'));
  }

  lensMatching(pattern: RegExp): Promise<string> {
    return this.until(`a lens matching ${pattern}`, async () =>
      (await this.lenses()).find((lens) => pattern.test(lens)),
    );
  }

  /** Where the hints and lenses in view begin and end, in pixels from the minimap. */
  async endsOfCosts(): Promise<readonly ShownCost[]> {
    const minimap = await this.editor().locator('.minimap').first().boundingBox();
    if (minimap === null) throw new Error('there is no minimap');
    const drawn = await this.editor()
      .locator('.view-line span[class*="dyn-rule"], .view-line span[class*="ced-"], .codelens-decoration')
      .evaluateAll((elements: readonly Drawn[]) =>
        elements.map((element) => ({
          text: element.textContent ?? '',
          left: element.getBoundingClientRect().left,
          right: element.getBoundingClientRect().right,
          isLens: element.classList.contains('codelens-decoration'),
        })),
      );
    return drawn
      .filter(({ text }) => /\d [nµm]?s\b|FLOP|cost unknown/.test(plain(text)))
      .map(({ text, left, right, isLens }) => ({
        text: plain(text),
        isLens,
        begins: Math.ceil(left - minimap.x),
        ends: Math.ceil(right - minimap.x),
      }));
  }

  /** Rests the mouse on the first place in view where the code has the text, and reads what appears. */
  async hover(text: string): Promise<string> {
    const place = this.editor().locator('.view-line span span').filter({ hasText: text }).first();
    await place.waitFor({ timeout: patience });
    const shown = this.page.locator('.monaco-hover:not(.hidden) .monaco-hover-content').first();
    return this.until(`a hover on ${text}`, async () => {
      await this.page.mouse.move(5, 5);
      await place.hover({ position: { x: 4, y: 8 }, timeout: patience });
      const appeared = await shown.waitFor({ timeout: 3_000 }).then(
        () => true,
        () => false,
      );
      if (!appeared) return undefined;
      // biome-ignore lint/performance/useDomNodeTextContent: the lines of a hover are wanted as it draws them
      const words = plain(await shown.innerText());
      return /^Loading/.test(words) ? undefined : words;
    });
  }

  /**
   * Runs a command of the palette by its whole title. The palette lists what applies when it opens: a command that
   * waits for the editor in front is there when it is opened again. A list that the command opens is another one.
   */
  async runCommand(title: string): Promise<void> {
    const typed = `>${title}`;
    await this.until(`the command ${title} in the palette`, async () => {
      const input = await this.openQuickInput('F1');
      await input.fill(typed);
      const row = this.quickInputRow(title);
      const isListed = await row.waitFor({ timeout: 3_000 }).then(
        () => true,
        () => false,
      );
      if (isListed) {
        await row.click({ timeout: patience });
        return true;
      }
      await this.press('Escape');
      await input.waitFor({ state: 'hidden', timeout: patience });
      return undefined;
    });
    const input = this.quickInput();
    await this.until('the palette closed', async () => {
      if (!(await input.isVisible())) return true;
      const left = await input.inputValue({ timeout: 500 }).catch(() => '');
      return left === typed ? undefined : true;
    });
  }

  /** Leaves the list that is open, once it has the row, without a choice. */
  async leaveQuickInput(word: string): Promise<void> {
    await this.quickInputRow(word).waitFor({ timeout: patience });
    await this.press('Escape');
    await this.quickInput().waitFor({ state: 'hidden', timeout: patience });
  }

  /** Shows the walkthrough with the title, of which other extensions may have some too. */
  async openWalkthrough(title: string): Promise<void> {
    await this.runCommand('Open Walkthrough...');
    await this.chooseInQuickInput(title, title);
  }

  /** Types into the list that is open and takes the first row that says the word. */
  async chooseInQuickInput(typed: string, word: string): Promise<void> {
    const input = this.quickInput();
    await input.waitFor({ timeout: patience });
    await this.page.locator('.quick-input-list .monaco-list-row').first().waitFor({ timeout: patience });
    await input.fill(typed);
    await this.quickInputRow(word).click({ timeout: patience });
  }

  /** Types into the box that asks for a value, and accepts it. */
  async answerInput(text: string): Promise<void> {
    const input = this.quickInput();
    await input.waitFor({ timeout: patience });
    await input.fill(text);
    await this.page.keyboard.press('Enter');
    await input.waitFor({ state: 'hidden', timeout: patience });
  }

  /** Answers one of several questions that follow one another in the same box. */
  async answerQuestion(prompt: RegExp, text: string): Promise<void> {
    await this.page.locator('.quick-input-message', { hasText: prompt }).waitFor({ timeout: patience });
    await this.quickInput().fill(text);
    await this.page.keyboard.press('Enter');
    await this.page
      .locator('.quick-input-message', { hasText: prompt })
      .waitFor({ state: 'hidden', timeout: patience });
  }

  /** What the box that asks for a value proposes. */
  async proposedInput(): Promise<string> {
    const input = this.quickInput();
    await input.waitFor({ timeout: patience });
    return this.until('a proposed value', async () => (await input.inputValue()) || undefined);
  }

  /** How many pictures stand beside the lines in view. */
  gutterMarks(): Promise<number> {
    return this.editor().locator('.glyph-margin-widgets .cgmr, .margin-view-overlays .cgmr').count();
  }

  /** Picks a cluster by its name, from the palette. */
  async chooseCluster(name: string): Promise<void> {
    await this.runCommand('Layercost: Choose Cluster');
    await this.page
      .locator('.quick-input-title', { hasText: 'Choose Cluster' })
      .waitFor({ timeout: patience });
    await this.chooseInQuickInput(name, name);
    await this.page.locator('.quick-input-title', { hasText: 'Keep For' }).waitFor({ timeout: patience });
    await this.chooseInQuickInput('This workspace', 'This workspace');
  }

  /** Puts the cursor at a place, both counted from 1; the place is scrolled into view. */
  async goTo(line: number, column = 1): Promise<void> {
    const input = await this.openQuickInput('Control+g');
    await input.fill(`:${line}:${column}`);
    await this.page.keyboard.press('Enter');
    await input.waitFor({ state: 'hidden', timeout: patience });
    await this.statusMatching(new RegExp(`\\bLn ${line}\\b`));
  }

  /** Selects a piece of text as the keyboard does, and types over it key by key. */
  async typeOver(place: { line: number; column: number; length: number }, text: string): Promise<void> {
    await this.goTo(place.line, place.column);
    for (let i = 0; i < place.length; i += 1) await this.page.keyboard.press('Shift+ArrowRight');
    await this.page.keyboard.type(text, { delay: 40 });
  }

  /** Types at the cursor, key by key. */
  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text, { delay: 40 });
  }

  async press(key: string): Promise<void> {
    await this.page.keyboard.press(key);
  }

  /** Asks for proposals and takes the one with this label. */
  async complete(label: string): Promise<void> {
    const row = this.page
      .locator(`.suggest-widget.visible .monaco-list-row[aria-label^=${JSON.stringify(label)}]`)
      .first();
    await this.until(`the proposal ${label}`, async () => {
      await this.press('Control+Space');
      return row.waitFor({ timeout: 3_000 }).then(
        () => true as const,
        () => undefined,
      );
    });
    await row.click({ timeout: patience });
  }

  /** Waits for a proposal that nobody asked for. */
  async proposalMatching(label: RegExp): Promise<void> {
    await this.page
      .locator('.suggest-widget.visible .monaco-list-row')
      .filter({ hasText: new RegExp(label.source.replace('^', '')) })
      .first()
      .waitFor({ timeout: patience });
  }

  /** Asks for proposals, and waits for the list. */
  async propose(): Promise<void> {
    await this.until('proposals', async () => {
      await this.press('Control+Space');
      return this.page
        .locator('.suggest-widget.visible .monaco-list-row')
        .first()
        .waitFor({ timeout: 3_000 })
        .then(
          () => true as const,
          () => undefined,
        );
    });
  }

  /** Opens the quick fixes at the cursor. */
  async showFixes(): Promise<void> {
    await this.until('quick fixes', async () => {
      await this.press('Control+.');
      return this.page
        .locator('.action-widget .monaco-list-row.action')
        .first()
        .waitFor({ timeout: 3_000 })
        .then(
          () => true as const,
          () => undefined,
        );
    });
  }

  /** The signature that is shown for the call at the cursor. */
  signature(pattern: RegExp): Promise<string> {
    return this.until(`a signature matching ${pattern}`, async () => {
      const shown = await readInOrder(this.page.locator('.parameter-hints-widget.visible .signature'));
      return shown.find((text) => pattern.test(text));
    });
  }

  /** Opens the quick fixes at the cursor and takes the one that matches, by the keyboard. */
  async fix(title: RegExp): Promise<void> {
    const rows = this.page.locator('.action-widget .monaco-list-row.action');
    await this.until(`the fix ${title}`, async () => {
      await this.press('Control+.');
      const shown = await rows
        .first()
        .waitFor({ timeout: 3_000 })
        .then(
          () => readInOrder(rows),
          () => [],
        );
      const index = shown.findIndex((text) => title.test(text));
      if (index < 0) {
        await this.press('Escape');
        return undefined;
      }
      // The first is chosen when the list opens.
      for (let row = 0; row < index; row += 1) await this.press('ArrowDown');
      await this.press('Enter');
      return true;
    });
  }

  /** Renames what the cursor is on. */
  async rename(name: string): Promise<void> {
    const input = this.page.locator('.rename-box input');
    await this.until('the box for a new name', async () => {
      await this.press('F2');
      return input.waitFor({ timeout: 3_000 }).then(
        () => true as const,
        () => undefined,
      );
    });
    await input.fill(name);
    await this.press('Enter');
  }

  /** Waits for a text in any page that the editor shows, such as a rendered Markdown page. */
  pageMatching(pattern: RegExp): Promise<string> {
    return this.until(`a page matching ${pattern}`, async () => {
      for (const frame of this.page.frames().slice(1)) {
        const text = await frame
          .locator('body')
          .textContent({ timeout: 1_000 })
          .catch(() => null);
        const found = pattern.exec(plain(text ?? ''));
        if (found) return found[0];
      }
      return undefined;
    });
  }

  /** Turns the wheel over the text. */
  async scroll(pixels: number): Promise<void> {
    await this.editor().locator('.view-lines').first().hover();
    await this.page.mouse.wheel(0, pixels);
  }

  /** Opens the panel of problems and waits for one that matches. */
  async problemMatching(pattern: RegExp): Promise<string> {
    await this.showProblems();
    return this.until(`a problem matching ${pattern}`, async () =>
      (await this.problems()).find((problem) => pattern.test(problem)),
    );
  }

  /** Waits until no problem matches any more. */
  async noProblemMatching(pattern: RegExp): Promise<void> {
    await this.showProblems();
    await this.until(`no problem matching ${pattern}`, async () =>
      (await this.problems()).some((problem) => pattern.test(problem)) ? undefined : true,
    );
  }

  problems(): Promise<readonly string[]> {
    return readInOrder(this.page.locator('.markers-panel .monaco-list-row'));
  }

  /** Opens the panel of problems, and gives the keyboard back to the text. */
  async showProblems(): Promise<void> {
    if (await this.page.locator('.markers-panel').isVisible()) return;
    await this.page.keyboard.press('Control+Shift+m');
    await this.page.locator('.markers-panel').waitFor({ timeout: patience });
    await this.page.keyboard.press('Control+1');
  }

  /** The status bar's items, as one text. */
  async statusBar(): Promise<string> {
    const items = await readInOrder(this.page.locator('.statusbar-item:visible'));
    return items.join(' | ');
  }

  statusMatching(pattern: RegExp): Promise<string> {
    return this.until(`a status bar matching ${pattern}`, async () => {
      const text = await this.statusBar();
      return pattern.test(text) ? text : undefined;
    });
  }

  /** The notifications in view. */
  notifications(): Promise<readonly string[]> {
    return readInOrder(this.page.locator('.notification-list-item'));
  }

  notificationMatching(pattern: RegExp): Promise<string> {
    return this.until(`a notification matching ${pattern}`, async () =>
      (await this.notifications()).find((notification) => pattern.test(notification)),
    );
  }

  /** Presses a button of the notification in view. */
  async pressInNotification(button: string): Promise<void> {
    await this.page
      .locator('.notification-list-item')
      .getByRole('button', { name: button })
      .first()
      .click({ timeout: patience });
  }

  /** A click on a lens that the editor is just about to draw again is lost: another follows until something is shown. */
  async clickUntil(target: Locator, shown: Locator, what: string): Promise<void> {
    await this.until(what, async () => {
      await target.click({ timeout: 1_000 }).catch(() => undefined);
      return shown
        .waitFor({ timeout: 6_000 })
        .then(() => true as const)
        .catch(() => undefined);
    });
  }

  /** The page of a panel that has an element. */
  async frameWith(selector: string, what: string): Promise<Frame> {
    return this.until(what, async () => {
      for (const frame of this.page.frames().slice(1)) {
        const found = await frame
          .locator(selector)
          .count()
          .catch(() => 0);
        if (found > 0) return frame;
      }
      return undefined;
    });
  }

  /** Asks again until there is an answer. */
  async until<Answer>(
    what: string,
    ask: () => Promise<Answer | undefined>,
    within = patience,
  ): Promise<Answer> {
    const end = Date.now() + within;
    for (;;) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      if (Date.now() > end) throw new Error(`${what} did not appear within ${within / 1000} s`);
      await this.page.waitForTimeout(150);
    }
  }

  private quickInput(): Locator {
    return this.page.locator('.quick-input-widget:visible .quick-input-box input');
  }

  /** The first row of the open list that says the word. */
  private quickInputRow(word: string): Locator {
    const label = JSON.stringify(word);
    return this.page.locator(`.quick-input-list .monaco-list-row[aria-label*=${label}]`).first();
  }

  private editor(): Locator {
    return this.page.locator('.editor-group-container.active');
  }

  private explorerRows(): Locator {
    return this.page.locator('.explorer-folders-view .monaco-list-row');
  }
}

/** Reads elements from top to bottom; Monaco keeps them in the order in which it drew them. */
async function readPlaces(elements: Locator): Promise<readonly PlacedText[]> {
  const placed: readonly PlacedText[] = await elements.evaluateAll((drawn: readonly Drawn[]) =>
    drawn.map((element) => ({
      top: Math.round(element.getBoundingClientRect().top),
      text: element.textContent ?? '',
    })),
  );
  return inOrder(placed);
}

function inOrder(placed: readonly PlacedText[]): readonly PlacedText[] {
  return [...placed].sort((a, b) => a.top - b.top).map(({ top, text }) => ({ top, text: plain(text) }));
}

async function readInOrder(elements: Locator): Promise<readonly string[]> {
  return (await readPlaces(elements)).map(({ text }) => text);
}

/** Monaco draws spaces as U+00A0 and pads hints with zero-width characters. */
function plain(text: string): string {
  return text.replace(/\u00a0/g, ' ').replace(/[\u200b-\u200d]/g, '');
}
