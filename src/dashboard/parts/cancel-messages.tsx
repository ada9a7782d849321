import type { JSX } from 'preact';
import { ApiFault, request } from '../data/api.ts';
import type { MessageSearch } from '../data/message-search.ts';
import { useRead } from '../data/queries.ts';
import { count } from '../data/time.ts';
import { Action, type Outcome } from './action.tsx';
import { Fault } from './states.tsx';

/** Cancels messages with `POST /v1/messages/cancel`: the selected ones, or all pending ones that match a filter. */

interface Cancellation {
  readonly matched: number;
  readonly cancelled: number;
  readonly has_more: boolean;
}

/** Maximum number of requests, each for 500 messages. If more messages remain, the user has to start again. */
const ROUNDS_MAX = 200;
const WAITING: readonly string[] = ['accepted', 'scheduled', 'deferred'];

const cancel = (body: object): Promise<Cancellation> =>
  request<Cancellation>('/v1/messages/cancel', { method: 'POST', body });

const outcomeOf = (cancelled: number, left: number, isLimited = false): Outcome => ({
  shown: (
    <>
      <h2>Cancelled {count(cancelled)}</h2>
      {isLimited && <p class="two">More wait and match: the rate limit is used up, cancel them in a minute.</p>}
      {left > 0 && <p class="two">{count(left)} could not be: they were being sent, or had ended.</p>}
    </>
  ),
  word: 'Done',
});

interface PickedProps {
  readonly ids: ReadonlySet<string>;
  clear(): void;
}

export const CancelPicked = ({ ids, clear }: PickedProps): JSX.Element => {
  const act = async (): Promise<Outcome> => {
    const { matched, cancelled } = await cancel({ ids: [...ids] });
    return outcomeOf(cancelled, matched - cancelled);
  };
  return (
    <>
      <button type="button" class="btn ghost" onClick={clear}>
        Clear
      </button>
      <Action word={`Cancel ${ids.size}`} icon="forbid" tone="danger" title={`Cancel ${ids.size} messages?`} act={act}>
        <p class="two">Recipients that wait get nothing. What was delivered stays delivered.</p>
      </Action>
    </>
  );
};

/** Converts the search to an API filter; null: no match can be cancelled, or the filter would match everything. */
export const cancellable = ({ filters, since, until }: MessageSearch): Readonly<Record<string, string>> | null => {
  const { message_id: id, status, ...given } = filters;
  const isWaiting = status === undefined || WAITING.includes(status);
  if (id !== undefined || !isWaiting || Object.keys(filters).length === 0) return null;
  return {
    ...given,
    ...(status === undefined ? {} : { status }),
    ...(since === null ? {} : { since }),
    ...(until === null ? {} : { until }),
  };
};

type Filter = Readonly<Record<string, string>>;

const Matching = ({ filter }: { readonly filter: Filter }): JSX.Element => {
  const { data, error } = useRead<Cancellation>(['cancel', filter], () => cancel({ filter, dry_run: true }));
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <p class="two">Counting …</p>;
  return (
    <p class="two">
      {count(data.matched)}
      {data.has_more && ' or more'} wait and match. Each is cancelled; what is being sent just now is not.
    </p>
  );
};

/** @returns null if the rate limit is exhausted. @throws {ApiFault} */
const cancelMore = (filter: Filter): Promise<Cancellation | null> =>
  cancel({ filter }).catch((error: unknown) => {
    if (error instanceof ApiFault && error.status === 429) return null;
    throw error;
  });

/** Repeats until no match is left or the rate limit is exhausted. @throws {ApiFault} */
const cancelAll = async (filter: Filter): Promise<Outcome> => {
  const first = await cancel({ filter });
  let [done, cancelled, left]: [Cancellation | null, number, number] = [first, 0, 0];
  for (let round = 1; done !== null; round += 1) {
    cancelled += done.cancelled;
    left += done.matched - done.cancelled;
    const isLast = !done.has_more || done.cancelled === 0 || round === ROUNDS_MAX;
    if (isLast) return outcomeOf(cancelled, left);
    done = await cancelMore(filter);
  }
  return outcomeOf(cancelled, left, true);
};

export const CancelMatching = ({ filter }: { readonly filter: Filter }): JSX.Element => {
  const act = (): Promise<Outcome> => cancelAll(filter);
  return (
    <Action word="Cancel matching" icon="forbid" tone="plain" title="Cancel what matches and waits?" act={act}>
      <Matching filter={filter} />
    </Action>
  );
};
