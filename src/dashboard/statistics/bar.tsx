import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Choice, wordsOf } from '../components/choice.tsx';
import { DateField } from '../components/date-field.tsx';
import { Icon } from '../components/icons.tsx';
import { FilterChip } from '../components/screen.tsx';
import { navigate, withParameters } from '../data/location.ts';
import { useDomainNames, useKeyNames } from '../data/names.ts';
import { zone } from '../data/store.ts';
import { useTimes } from '../data/time.ts';
import { DIMENSIONS, type Dimension, GRANULARITIES, nextDay, PERIODS, type StatisticsSearch } from './data.ts';

/** First and last day, shown if no preset period is selected. */
const Days = ({ from, to }: StatisticsSearch): JSX.Element => {
  const last = new Date((to === null ? Date.now() : Date.parse(to)) - 1).toISOString();
  return (
    <>
      <DateField
        label="First day"
        value={from}
        onDate={(at) => at !== null && navigate(withParameters({ from: at }))}
      />
      <DateField
        label="Last day"
        value={last}
        onDate={(at) => at !== null && navigate(withParameters({ to: nextDay(at) }))}
      />
    </>
  );
};

/** Names of the values that can be picked from a list. */
const useKnown = (dimension: Dimension): ReadonlyMap<string, string> | null => {
  const keys = useKeyNames();
  const domains = useDomainNames();
  if (dimension === 'api_key') return keys;
  return dimension === 'domain' ? domains : null;
};

const AddFilter = (): JSX.Element => {
  const panel = useRef<HTMLDetailsElement>(null);
  const [dimension, setDimension] = useState<Dimension>('recipient_domain');
  const known = useKnown(dimension);
  const add = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const value = new FormData(event.currentTarget).get('value');
    if (typeof value !== 'string' || value.trim() === '') return;
    if (panel.current !== null) panel.current.open = false;
    navigate(withParameters({ [dimension]: value.trim() }));
  };
  return (
    <details class="drop" ref={panel}>
      <summary class="btn ghost">
        <Icon name="plus" />
        Filter
      </summary>
      <form class="surface" onSubmit={add}>
        <select
          class="inp"
          aria-label="Dimension"
          value={dimension}
          onChange={(event) => setDimension(event.currentTarget.value as Dimension)}
        >
          {Object.entries(DIMENSIONS).map(([name, word]) => (
            <option key={name} value={name}>
              {word}
            </option>
          ))}
        </select>
        {known === null || known.size === 0 ? (
          <input
            class="inp"
            name="value"
            aria-label="Value"
            required
            maxLength={253}
            placeholder={EXAMPLES[dimension]}
          />
        ) : (
          <select class="inp" name="value" aria-label="Value">
            {[...known].map(([id, name]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
        <button type="submit" class="btn primary">
          Show only these
        </button>
      </form>
    </details>
  );
};

const EXAMPLES: Readonly<Record<Dimension, string>> = {
  recipient_domain: 'example.com',
  mailbox_provider: 'gmail',
  domain: 'dom_…',
  api_key: 'key_…',
  template: 'welcome',
  tag: 'campaign:spring',
  stream: 'bulk',
  bounce_class: 'no_mailbox',
};

interface BarProps {
  readonly search: StatisticsSearch;
  nameOf(dimension: Dimension, value: string): string;
}

const BY = Object.fromEntries(GRANULARITIES.map((one) => [one, `by ${one}`]));
/** More hours would exceed the bucket limit of a response. */
const DAYS_BY_HOUR_MAX = 83;

/** Period, grouping and filters, all kept in the URL. */
export const StatisticsBar = ({ search, nameOf }: BarProps): JSX.Element => {
  const times = useTimes();
  const { period, granularity, groupBy, filters, attribution } = search;
  const [first, second] = groupBy;
  const days = (Date.parse(search.to ?? new Date().toISOString()) - Date.parse(search.from)) / 86_400_000;
  const { hour: _hour, ...byDay } = BY;
  const group = (one: string, two: string | undefined): void =>
    navigate(withParameters({ group_by: two ? `${one},${two}` : one }));
  const others = Object.fromEntries(Object.entries(DIMENSIONS).filter(([name]) => name !== first));
  const choosePeriod = (value: string): void =>
    navigate(
      withParameters(
        value === 'chosen'
          ? { period: null, from: search.from, granularity: null }
          : { period: value, from: null, to: null, granularity: null },
      ),
    );
  return (
    <search class="bar">
      <Choice
        icon="clock"
        label="Time"
        value={period ?? 'chosen'}
        options={{
          ...wordsOf(PERIODS),
          chosen: 'Days',
        }}
        choose={choosePeriod}
      />
      {period === null && <Days {...search} />}
      <Choice
        icon="bars"
        label="Bar interval"
        value={granularity}
        options={days > DAYS_BY_HOUR_MAX && granularity !== 'hour' ? byDay : BY}
        choose={(value) => navigate(withParameters({ granularity: value }))}
      />
      <Choice
        icon="layers"
        label="Group"
        value={first ?? ''}
        options={Object.fromEntries(
          Object.entries(DIMENSIONS).map(([one, word]) => [one, `Group: ${word.toLowerCase()}`]),
        )}
        choose={(value) => group(value, second === value ? undefined : second)}
      />
      <Choice
        icon="layers"
        label="Second group"
        value={second ?? ''}
        options={{
          '': 'no second group',
          ...Object.fromEntries(Object.entries(others).map(([one, word]) => [one, `and ${word.toLowerCase()}`])),
        }}
        choose={(value) => group(first ?? 'recipient_domain', value)}
      />
      {Object.entries(filters).map(([name, value]) => (
        <FilterChip
          key={name}
          name={name}
          word={DIMENSIONS[name as Dimension]}
          value={nameOf(name as Dimension, value)}
          removed={DIMENSIONS[name as Dimension]}
        />
      ))}
      <AddFilter />
      <span class="sp" />
      <div class="flex">
        <fieldset class="seg" aria-label="Counted">
          <button
            type="button"
            aria-pressed={attribution === 'cohort'}
            onClick={() => navigate(withParameters({ attribution: null }))}
          >
            By acceptance
          </button>
          <button
            type="button"
            aria-pressed={attribution === 'event'}
            onClick={() => navigate(withParameters({ attribution: 'event' }))}
          >
            By event
          </button>
        </fieldset>
        <button
          type="button"
          class="btn ghost hide-s"
          aria-label={`Times are in ${times.zone}. Switch between local time and UTC`}
          onClick={() => zone.set(zone.get() === 'UTC' ? 'local' : 'UTC')}
        >
          <Icon name="globe" />
          {times.zone}
        </button>
      </div>
    </search>
  );
};
