import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { linkTo, navigate, withParameters } from '../data/location.ts';
import { filterIn, type MessageSearch, messageIn, PERIODS } from '../data/message-search.ts';
import { useShortcuts } from '../data/shortcuts.ts';
import { Icon } from './icons.tsx';
import { STATES } from './shapes.ts';

const STATUSES = [
  'accepted',
  'scheduled',
  'sending',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'suppressed',
  'cancelled',
  'expired',
] as const;

/** Filters as words that can be typed, pasted and taken away. */
export const MessageSearchBar = ({ search }: { readonly search: MessageSearch }): JSX.Element => {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useShortcuts({ '/': () => input.current?.focus() });
  const { status, ...others } = search.filters;

  const find = (event: Event): void => {
    event.preventDefault();
    if (text.trim() === '') return;
    const id = messageIn(text);
    setText('');
    const [name, value] = filterIn(text);
    navigate(id === null ? withParameters({ [name]: value }) : linkTo(`/messages/${id}`));
  };
  const removeLast = (event: KeyboardEvent): void => {
    const last = Object.keys(others).at(-1);
    if (event.key === 'Backspace' && text === '' && last !== undefined) navigate(withParameters({ [last]: null }));
  };

  return (
    <search class="bar">
      <form class="field" onSubmit={find}>
        <Icon name="search" />
        {Object.entries(others).map(([name, value]) => (
          <span class="chip" key={name}>
            <span>{name.replace('_id', '')}</span> <span class="value">{value}</span>
            <button
              type="button"
              aria-label={`Remove ${name}`}
              onClick={() => navigate(withParameters({ [name]: null }))}
            >
              <Icon name="cross" />
            </button>
          </span>
        ))}
        <input
          ref={input}
          type="text"
          aria-label="Search messages"
          placeholder="to, tag, key, subject, or paste any id"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={removeLast}
        />
        <kbd class="hide-s">/</kbd>
      </form>
      <label class="btn choice">
        <Icon name="filter" />
        <span class="vh">Status</span>
        <select
          value={status ?? ''}
          onChange={(event) => navigate(withParameters({ status: event.currentTarget.value || null }))}
        >
          <option value="">Any status</option>
          {STATUSES.map((one) => (
            <option key={one} value={one}>
              {STATES[one].word}
            </option>
          ))}
        </select>
      </label>
      <label class="btn choice">
        <Icon name="clock" />
        <span class="vh">Time</span>
        <select
          value={search.period ?? 'chosen'}
          onChange={(event) =>
            navigate(withParameters({ period: event.currentTarget.value, since: null, until: null }))
          }
        >
          {search.period === null && <option value="chosen">Chosen time</option>}
          {Object.entries(PERIODS).map(([period, { word }]) => (
            <option key={period} value={period}>
              {word}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
};
