import { useLayoutEffect } from 'preact/hooks';
import { letters } from './preferences.ts';

/** Where letters are text. A slider and a box to tick take none. */
const FIELDS = 'input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]';

/** What Enter and the space bar press where it is focused. */
const PRESSED = 'a[href], button, summary, input';
const PRESSING: readonly string[] = ['Enter', ' '];

const CLOSED = 'dialog:not([open])';

/** Whether a key is a shortcut here: not in fields and dialogs, nor a letter where letters are turned off. */
export const mayPress = (event: KeyboardEvent): boolean => {
  const taken = PRESSING.includes(event.key) ? `${FIELDS}, ${PRESSED}, dialog` : `${FIELDS}, dialog`;
  const { target } = event;
  // One that has just closed holds the focus for a moment.
  const isTyping = target instanceof Element && target.closest(taken) !== null && target.closest(CLOSED) === null;
  const isOff = letters.get() === 'off' && /^[\w?/]$/.test(event.key);
  return !isTyping && !isOff && !event.metaKey && !event.ctrlKey && !event.altKey;
};

/**
 * Keys of a screen, by `KeyboardEvent.key`. A key that follows at once, before the browser paints what the one before
 * it did, acts on what is then selected.
 */
export const useShortcuts = (shortcuts: Readonly<Record<string, () => void>>): void => {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const act = shortcuts[event.key];
      if (act === undefined || !mayPress(event)) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
};

/** Takes the focus out of a field or button, so that keys are the screen's again. */
export const focusScreen = (): void => document.querySelector('main')?.focus({ preventScroll: true });
