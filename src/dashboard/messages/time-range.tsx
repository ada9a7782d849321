import type { JSX } from 'preact';
import { DateField } from '../components/date-field.tsx';
import { navigate, withParameters } from '../data/location.ts';
import type { MessageSearch } from './selection.ts';

/** First and last moment, shown if no preset period is selected. */
export const TimeRange = ({ search: { since, until } }: { readonly search: MessageSearch }): JSX.Element => (
  <>
    <DateField
      label="From"
      empty="any time"
      value={since}
      hasTime
      onDate={(at) => navigate(withParameters({ since: at, period: null }))}
    />
    <DateField
      label="To; empty: now"
      empty="now"
      value={until}
      hasTime
      onDate={(at) => navigate(withParameters({ until: at, since, period: null }))}
    />
  </>
);
