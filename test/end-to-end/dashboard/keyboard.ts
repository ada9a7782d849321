import type { Locator, Page } from 'playwright-core';
import { eventually } from '../../support/api-client.ts';

/** Operates a screen with the keyboard alone, and checks that the focus is visible. */

/** More stops than any screen has. */
const STOPS_MAX = 120;

const OPTIONS_MAX = 40;

interface Selection {
  readonly selectedOptions: ArrayLike<{ readonly textContent: string }>;
}

export interface Keyboard {
  /** Presses Tab until the target is focused. Each stop on the way must show its focus. */
  reach(target: Locator): Promise<void>;
  /** Focuses a button and presses Enter. */
  press(name: string | RegExp): Promise<void>;
  follow(name: string | RegExp): Promise<void>;
  /** Opens a dialog, confirms it, and checks that the focus has returned. */
  confirm(name: string, fill?: () => Promise<void>, done?: string): Promise<void>;
  /** Presses `G` and a letter. */
  go(letter: string, heading: string): Promise<void>;
  type(label: string, text: string): Promise<void>;
  /** Selects an option with the arrow keys. Typing its name would have to be quick, which a busy machine is not. */
  choose(box: string | RegExp, option: string): Promise<void>;
}

interface Focus {
  /** A description of the focused element. */
  readonly name: string;
  readonly isShown: boolean;
}

/** Runs in the page: finds the outline of the focused element or of its ancestors. */
const FOCUS = `(() => {
  let focused = document.activeElement;
  while (focused.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  const name = [focused.tagName, focused.getAttribute('aria-label') ?? focused.textContent.trim().slice(0, 60)].join(' ');
  const around = [focused];
  while (around.length < 4 && around.at(-1) !== null)
    around.push(around.at(-1).parentElement ?? around.at(-1).getRootNode().host ?? null);
  const isOutlined = around.some((element) => [null, '::after'].some((drawnBy) => {
    if (element === null) return false;
    const { content, outlineStyle, outlineWidth } = getComputedStyle(element, drawnBy);
    const isDrawn = drawnBy === null || content !== 'none';
    return isDrawn && outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1;
  }));
  return { name, isShown: isOutlined || focused === document.body || focused.tagName === 'IFRAME' };
})()`;

const focusIn = (page: Page): Promise<Focus> => page.evaluate(FOCUS);

const isFocused = (target: Locator): Promise<boolean> =>
  target.evaluateAll((elements) => elements.some((element) => element.matches(':focus')));

/** @param unseen collects elements that do not show their focus. */
export const keyboardOf = (page: Page, unseen: Set<string>): Keyboard => {
  const dialog = page.locator('dialog[open]');
  const button = (within: Page | Locator, name: string | RegExp): Locator =>
    within.getByRole('button', { name, exact: true }).first();
  const reach = async (target: Locator): Promise<void> => {
    await target.waitFor();
    const stops: string[] = [];
    for (let stop = 0; stop < STOPS_MAX; stop += 1) {
      if (await isFocused(target)) return;
      await page.keyboard.press('Tab');
      const { name, isShown } = await focusIn(page);
      stops.push(name);
      if (!isShown) unseen.add(name);
    }
    const alerts = await page.getByRole('alert').allInnerTexts();
    throw new Error(`${target} cannot be reached: ${[...alerts, ...stops.slice(-60)].join(' | ')}`);
  };
  const enter = async (target: Locator): Promise<void> => {
    await reach(target);
    await page.keyboard.press('Enter');
  };
  return {
    reach,
    press: (name) => enter(button(page, name)),
    follow: (name) => enter(page.locator('main').getByRole('link', { name }).first()),
    confirm: async (name, fill, done) => {
      const opener = button(page.locator('main'), name);
      await enter(opener);
      await dialog.waitFor();
      await fill?.();
      await enter(button(dialog, name));
      if (done !== undefined) await enter(button(dialog, done));
      await dialog.waitFor({ state: 'detached' });
      // The action may have removed the button.
      await eventually(
        async () => (await isFocused(page.locator('main'))) || (await isFocused(opener)),
        (focused) => focused,
      );
    },
    go: async (letter, heading) => {
      // Together, because the letter must follow soon.
      await Promise.all([page.keyboard.press('g'), page.keyboard.press(letter)]);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    },
    choose: async (name, option) => {
      const box = page.getByRole('combobox', { name });
      await reach(box);
      await page.keyboard.press('Home');
      for (let step = 0; step < OPTIONS_MAX; step += 1) {
        const shown = await box.evaluate((one) => (one as unknown as Selection).selectedOptions[0]?.textContent ?? '');
        if (shown.startsWith(option)) return;
        await page.keyboard.press('ArrowDown');
      }
      throw new Error(`${box} has no option ${option}`);
    },
    type: async (label, text) => {
      await reach(page.getByLabel(label, { exact: true }).first());
      await page.keyboard.press('Control+a');
      await page.keyboard.type(text);
    },
  };
};
