import type { JSX } from 'preact';
import type { List } from '../../http/schemas/envelope.ts';
import { linkTo, withParameters } from '../data/location.ts';
import { hoursAgo, type MessageSearch } from '../data/message-search.ts';
import { useResource } from '../data/queries.ts';
import { Empty } from './states.tsx';

const MONTH_HOURS = 720;
const COUNTED_MAX = 100;

/** Number of matches with other filters: `4`, `100 or more`; null: none, or not yet known. */
const useCount = (filters: MessageSearch['filters'], since: string | null, enabled: boolean): string | null => {
  const query = { ...filters, since, limit: COUNTED_MAX };
  const { data } = useResource<List<unknown>>({ path: '/v1/messages', query, enabled });
  if (data === undefined || data.data.length === 0) return null;
  return data.has_more ? `${COUNTED_MAX} or more` : String(data.data.length);
};

interface WaysProps {
  readonly search: MessageSearch;
  /** True if the last 30 days contain matches. */
  readonly isLater: boolean;
}

const WaysOut = ({ search: { filters, period }, isLater }: WaysProps): JSX.Element => (
  <>
    {period !== 'all' && (
      <a class="btn" href={withParameters({ period: isLater ? '30d' : 'all', since: null, until: null })}>
        {isLater ? 'Last 30 days' : 'Any time'}
      </a>
    )}
    {filters.status !== undefined && (
      <a class="btn" href={withParameters({ status: null })}>
        Any status
      </a>
    )}
    {Object.keys(filters).length > 0 && (
      <a class="btn" href={linkTo('/messages')}>
        Without filters
      </a>
    )}
  </>
);

const NoneAtAll = (): JSX.Element => (
  <Empty icon="mail" title="No messages yet">
    Each message that is sent shows up here within a second, with what became of it at every recipient.
  </Empty>
);

/** Suggests other filters that have matches. */
export const NoMessages = ({ search }: { readonly search: MessageSearch }): JSX.Element => {
  const { filters, period, since } = search;
  const isFiltered = Object.keys(filters).length > 0;
  const { status, ...others } = filters;
  const isShorter = period !== '30d' && period !== 'all';
  const later = useCount(filters, hoursAgo(MONTH_HOURS), isFiltered && isShorter);
  const otherwise = useCount(others, since, status !== undefined);
  if (!isFiltered && period === 'all') return <NoneAtAll />;
  const found = [
    ...(later === null ? [] : [`${later} in the last 30 days`]),
    ...(otherwise === null ? [] : [`${otherwise} with another status`]),
  ];
  return (
    <Empty icon="search" title="No message matches" actions={<WaysOut search={search} isLater={later !== null} />}>
      {found.length > 0
        ? `There are ${found.join(', and ')}.`
        : 'Subjects must contain all words, and addresses must match exactly. Try another period or fewer filters.'}
    </Empty>
  );
};
