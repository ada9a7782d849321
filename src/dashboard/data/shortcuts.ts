import { useLayoutEffect } from 'preact/hooks';
import { letters } from './store.ts';

/** Elements in which letters are text. Sliders and check boxes are excluded. */
const FIELDS = 'input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]';

/** Elements that Enter and the space bar activate when focused. */
const PRESSED = 'a[href], button, summary, input';
const PRESSING: readonly string[] = ['Enter', ' '];

const CLOSED = 'dialog:not([open])';

/** True if the key is a shortcut here. Fields and dialogs take all keys, and letters can be disabled. */
export const mayPress = (event: KeyboardEvent): boolean => {
  const taken = PRESSING.includes(event.key) ? `${FIELDS}, ${PRESSED}, dialog` : `${FIELDS}, dialog`;
  const { target } = event;
  // A dialog that has just closed keeps the focus for a moment.
  const isTyping = target instanceof Element && target.closest(taken) !== null && target.closest(CLOSED) === null;
  const isOff = letters.get() === 'off' && /^[\w?/]$/.test(event.key);
  return !isTyping && !isOff && !event.metaKey && !event.ctrlKey && !event.altKey;
};

/**
 * Binds the keys of a screen by `KeyboardEvent.key`. The layout effect rebinds them before the browser paints, so that
 * a quick second key acts on the new selection.
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

/** Moves the focus from a field or button to the screen, so that its shortcuts work. */
export const focusScreen = (): void => document.querySelector('main')?.focus({ preventScroll: true });
