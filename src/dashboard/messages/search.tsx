import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { SerializedListedMessage } from '../../http/resources/messages/message.ts';
import { Icon, STATES } from '../components/icons.tsx';
import { FilterChip } from '../components/screen.tsx';
import { linkTo, navigate, withParameters } from '../data/location.ts';
import { useDomainNames, useKeyNames } from '../data/names.ts';
import { focusScreen, useShortcuts } from '../data/shortcuts.ts';
import {
  BOUNCE_REASONS,
  filterIn,
  type Ids,
  type MessageSearch,
  messageIn,
  OUTCOMES,
  PERIODS,
  WORDS,
} from './selection.ts';

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

interface SearchProps {
  readonly search: MessageSearch;
  /** Visible messages. Their values are offered as suggestions. */
  readonly messages: readonly SerializedListedMessage[];
}

/** Names by id, for filters that the API takes as ids. */
const useNames = (): Readonly<Record<'key_id' | 'domain_id', ReadonlyMap<string, string>>> => ({
  key_id: useKeyNames(),
  domain_id: useDomainNames(),
});

const idsOf = (names: ReturnType<typeof useNames>): Ids =>
  Object.fromEntries(
    Object.entries(names).map(([filter, each]) => [filter, new Map([...each].map(([id, name]) => [name, id]))]),
  );

const nameOf = (names: ReturnType<typeof useNames>, filter: string, value: string): string =>
  (filter === 'key_id' || filter === 'domain_id' ? names[filter].get(value) : undefined) ?? value;

/** Begins the values of outcomes among those of statuses. */
const OUTCOME = 'outcome:';

const choiceIn = (value: string) =>
  value.startsWith(OUTCOME)
    ? { status: null, outcome: value.slice(OUTCOME.length) }
    : { status: value || null, outcome: null };

const OFFERED_MAX = 40;

/** Suggestions for the next input: filter words, then values of the organization. */
const offers = (
  text: string,
  { key_id: keys, domain_id: domains }: ReturnType<typeof useNames>,
  messages: SearchProps['messages'],
): readonly string[] => {
  const [word = ''] = text.split(':', 1);
  const values: Readonly<Record<string, () => Iterable<string>>> = {
    status: () => STATUSES,
    outcome: () => Object.keys(OUTCOMES),
    key: () => keys.values(),
    domain: () => domains.values(),
    tag: () => messages.flatMap(({ tags }) => tags.map(({ name, value }) => `${name}:${value}`)),
    to: () => messages.flatMap(({ recipients }) => recipients.flatMap(({ address }) => address ?? [])),
    from: () => messages.flatMap(({ from }) => from ?? []),
    subject: () => messages.flatMap(({ subject }) => subject ?? []),
    template: () => messages.flatMap(({ template }) => template?.id ?? []),
    recipient_domain: () =>
      messages.flatMap(({ recipients }) => recipients.flatMap(({ address }) => address?.split('@')[1] ?? [])),
    provider: () => ['gmail', 'microsoft', 'yahoo', 'icloud', 'gmx', 'other'],
    stream: () => ['transactional', 'bulk'],
    bounce: () => Object.keys(BOUNCE_REASONS),
    code: () => ['421', '450', '451', '452', '550', '552', '554', '4.7.1', '5.1.1', '5.7.1'],
  };
  const found = text.includes(':') ? values[word] : undefined;
  if (found === undefined) return WORDS.map((each) => `${each}:`);
  return [...new Set(found())].slice(0, OFFERED_MAX).map((value) => `${word}:${value}`);
};

/** Filters as words that can be typed, pasted and removed. */
export const MessageSearchBar = ({ search, messages }: SearchProps): JSX.Element => {
  const [text, setText] = useState('');
  const names = useNames();
  const input = useRef<HTMLInputElement>(null);
  useShortcuts({ '/': () => input.current?.focus() });
  const { status, outcome, ...others } = search.filters;

  const find = (event: Event): void => {
    event.preventDefault();
    if (text.trim() === '') return;
    const id = messageIn(text);
    setText('');
    navigate(id === null ? withParameters(filterIn(text, idsOf(names))) : linkTo(`/messages/${id}`));
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') focusScreen();
    const last = Object.keys(others).at(-1);
    if (event.key === 'Backspace' && text === '' && last !== undefined) navigate(withParameters({ [last]: null }));
  };

  return (
    <search class="bar">
      <form class="field" onSubmit={find}>
        <Icon name="search" />
        {Object.entries(others).map(([name, value]) => (
          <FilterChip
            key={name}
            name={name}
            word={name.replace('_id', '').replace(/^smtp_|^mailbox_/, '')}
            value={nameOf(names, name, value)}
            removed={name}
          />
        ))}
        <input
          ref={input}
          type="text"
          aria-label="Search messages"
          placeholder="to, status, tag, key, subject, or paste any id"
          autocomplete="off"
          spellcheck={false}
          list="search-offers"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={pressed}
        />
        <datalist id="search-offers">
          {offers(text, names, messages).map((offer) => (
            <option key={offer} value={offer} />
          ))}
        </datalist>
        <kbd class="hide-s">/</kbd>
      </form>
      <label class="btn choice">
        <Icon name="filter" />
        <span class="vh">Status</span>
        <select
          value={outcome === undefined ? (status ?? '') : `${OUTCOME}${outcome}`}
          onChange={(event) => navigate(withParameters(choiceIn(event.currentTarget.value)))}
        >
          <option value="">Any status</option>
          <optgroup label="Status of the message">
            {STATUSES.map((one) => (
              <option key={one} value={one}>
                {STATES[one].word}
              </option>
            ))}
          </optgroup>
          <optgroup label="Outcome of any recipient">
            {Object.entries(OUTCOMES).map(([one, word]) => (
              <option key={one} value={`${OUTCOME}${one}`}>
                {word}
              </option>
            ))}
          </optgroup>
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
