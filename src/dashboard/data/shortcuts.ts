import { useEffect } from 'preact/hooks';

/** Where letters are text. A slider and a box to tick take none. */
const FIELDS = 'input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]';

/** Keys of a screen, by `KeyboardEvent.key`. They are off in fields and dialogs. */
export const useShortcuts = (shortcuts: Readonly<Record<string, () => void>>): void => {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      // The first of the path: an editor is in a shadow root of its own.
      const [target] = event.composedPath();
      const isTyping = target instanceof Element && target.closest(`${FIELDS}, dialog`) !== null;
      if (isTyping || event.metaKey || event.ctrlKey || event.altKey) return;
      const act = shortcuts[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
};
