import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { dateIn } from '../data/date-in.ts';
import { useStore, zone } from '../data/store.ts';
import { useTimes } from '../data/time.ts';

interface DateFieldProps {
  /** Name in the form. Its value is ISO 8601, or empty. */
  readonly name?: string;
  readonly label: string;
  /** ISO 8601; null: empty. */
  readonly value: string | null;
  /** Accepts a time of day, too. Default: days only. */
  readonly hasTime?: true;
  readonly isRequired?: boolean;
  /** Shown in an empty field: what empty means. Default: an example. */
  readonly empty?: string;
  /** Time zone in which dates are read and shown. Default: that of the dashboard. */
  readonly timeZone?: 'UTC';
  /** Called with a valid date, or with null if the field is emptied. */
  onDate?(at: string | null): void;
}

/**
 * A date as the rest of the dashboard writes it, `28 Nov 2026` or `28 Nov 2026, 14:05`. Native fields follow the locale of
 * the browser and ignore the time zone of the dashboard. Accepts `2026-11-28`, `28 Nov`, `yesterday` and `3d` for
 * three days ago.
 */
export const DateField = (props: DateFieldProps): JSX.Element => {
  const { name, label, value, hasTime = false, isRequired = false, empty, timeZone, onDate } = props;
  const times = useTimes(timeZone);
  const shownZone = useStore(zone);
  const shown = (at: string | null): string => {
    if (at === null) return '';
    return hasTime ? times.minute(at) : times.dated(at);
  };
  const [text, setText] = useState(shown(value));
  const [at, setAt] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const isEdited = useRef(false);
  useEffect(() => {
    if (isEdited.current) return; // typed text is not replaced when data is read again
    setText(shown(value));
    setAt(value);
  }, [value, shownZone]);
  const isUtc = (timeZone ?? shownZone) === 'UTC';
  const read = (typed: string): void => {
    isEdited.current = true;
    setText(typed);
    const found = dateIn(typed, { isUtc, hasTime });
    setAt(found);
    const isWrong = found === null && typed.trim() !== '';
    input.current?.setCustomValidity(isWrong ? `Enter a date such as ${shown(new Date().toISOString())}.` : '');
  };
  const leave = (): void => {
    if (text === shown(value)) return;
    if (at === null && text.trim() !== '') {
      input.current?.reportValidity();
      return;
    }
    setText(shown(at));
    if (onDate === undefined) return;
    isEdited.current = false;
    onDate(at);
  };
  return (
    <>
      <input
        ref={input}
        class="inp date"
        type="text"
        inputMode="text"
        autocomplete="off"
        spellcheck={false}
        aria-label={label}
        required={isRequired}
        value={text}
        placeholder={empty ?? (hasTime ? 'e.g. 28 Nov, 14:05' : 'e.g. 28 Nov')}
        onInput={({ currentTarget }) => read(currentTarget.value)}
        onBlur={leave}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && onDate !== undefined) leave();
        }}
      />
      {name !== undefined && <input type="hidden" name={name} value={at ?? ''} />}
    </>
  );
};
