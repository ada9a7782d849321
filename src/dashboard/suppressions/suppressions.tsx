import type { ComponentChildren, JSX } from 'preact';
import type { z } from 'zod';
import type { AsOf, List } from '../../http/fields.ts';
import type {
  SerializedSuppression,
  suppressionCheckSchema,
} from '../../http/resources/suppressions/add-suppressions.ts';
import { IfAllowed } from '../components/action.tsx';
import {
  AsOfBar,
  AsOfButton,
  type Moment,
  momentsOf,
  type Past,
  queryAt,
  useAsOf,
  useMoments,
} from '../components/as-of.tsx';
import { wordsOf } from '../components/choice.tsx';
import { CopyField } from '../components/facts.tsx';
import { Icon, Mark, Status } from '../components/icons.tsx';
import { ApiButton, Download, Listed } from '../components/screen.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { useMaySearchFor } from '../data/access.ts';
import { ApiFault, urlOf } from '../data/api.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { useList, useResource } from '../data/queries.ts';
import { useTimes } from '../data/time.ts';
import { AddSuppressions, ImportSuppressions, RemoveSuppression } from './dialogs.tsx';

type Entry = SerializedSuppression['entries'][number];

/** A suppressed address with its evidence. */

export const REASONS = {
  bounce: { word: 'Bounced', state: 'bounced' },
  complaint: { word: 'Complained', state: 'complained' },
  unsubscribe: { word: 'Unsubscribed', state: 'unsubscribed' },
  manual: { word: 'Added', state: 'suppressed' },
  import: { word: 'Imported', state: 'suppressed' },
} as const satisfies Readonly<Record<Entry['reason'], object>>;

export const SCOPES: Readonly<Record<Entry['scope'], string>> = {
  all: 'everything',
  transactional: 'transactional mail',
  bulk: 'bulk mail',
  topic: 'one topic',
};

const Evidence = ({ entry }: { readonly entry: Entry }): JSX.Element => {
  const times = useTimes();
  const { state, word } = REASONS[entry.reason];
  return (
    <li class="said">
      <Mark state={entry.status === 'active' ? state : 'cancelled'} />
      <div>
        <p>
          <b class="b">{word}</b> <time dateTime={entry.added_at}>{times.full(entry.added_at)}</time>, suppresses{' '}
          {SCOPES[entry.scope]}
          {entry.topic_id !== null && (
            <>
              {' '}
              <code>{entry.topic_id}</code>
            </>
          )}
        </p>
        {entry.evidence !== null && (
          <pre>
            <bdi>{entry.evidence}</bdi>
          </pre>
        )}
        <p class="muted">
          {entry.removed_at !== null && `Removed ${times.full(entry.removed_at)}. `}
          {entry.expires_at !== null && entry.removed_at === null && (
            <>
              {entry.status === 'expired' ? 'Ended' : 'Ends'} {times.full(entry.expires_at)}.{' '}
            </>
          )}
          {entry.message_id !== null && (
            <a class="lnk" href={linkTo(`/messages/${entry.message_id}`)}>
              The message that caused it
            </a>
          )}
        </p>
      </div>
    </li>
  );
};

interface RowProps {
  readonly suppression: SerializedSuppression;
  readonly isOpen?: boolean;
}

export const SuppressionRow = ({ suppression, isOpen = false }: RowProps): JSX.Element => {
  const times = useTimes();
  const maySearchFor = useMaySearchFor();
  const { address, reason, scope, status, expires_at: expiresAt, created_at: createdAt, entries } = suppression;
  return (
    <details class="sup" open={isOpen}>
      <summary class="hoverable">
        <Status
          state={status === 'active' ? REASONS[reason].state : 'cancelled'}
          word={status === 'active' ? REASONS[reason].word : 'Not suppressed'}
        />
        <bdi class="ell b">{address ?? 'erased'}</bdi>
        <span class="two">
          {SCOPES[scope]}
          {expiresAt !== null && status === 'active' && `, until ${times.short(expiresAt)}`}
        </span>
        <time class="tm" dateTime={createdAt}>
          {times.short(createdAt)}
        </time>
      </summary>
      <div class="evidence line">
        <ul aria-label="Evidence">
          {entries.map((entry) => (
            <Evidence key={`${entry.added_at} ${entry.reason} ${entry.scope} ${entry.topic_id}`} entry={entry} />
          ))}
        </ul>
        <div class="evend flex wrap">
          <CopyField text={suppression.id} name="id" />
          {address !== null && maySearchFor(address) && (
            <a class="lnk" href={linkTo('/messages', { to: address, period: 'all' })}>
              Messages to this address
            </a>
          )}
          {status === 'active' && <RemoveSuppression suppression={suppression} />}
        </div>
      </div>
    </details>
  );
};

type Check = z.infer<typeof suppressionCheckSchema>;

const CHECK = '/v1/suppressions/check';
const EXPORT = '/v1/suppressions/export';

const Answer = ({ address, suppressed, opted_in: topics }: Check): JSX.Element => {
  const kept = [suppressed.transactional && 'Transactional mail', suppressed.bulk && 'Bulk mail'].filter(Boolean);
  const said = kept.length === 2 ? 'Mail' : kept[0];
  return (
    <p class="say held2">
      <Mark state={kept.length === 0 ? 'active' : 'suppressed'} />
      <span>
        {kept.length === 0 ? 'Mail is sent to ' : `${said} is suppressed for `}
        <bdi class="b">{address}</bdi>
        {topics.length > 0 && `. Topics it has opted in to: ${topics.length}`}.
      </span>
    </p>
  );
};

/** The recorded history of an address. */
const momentsIn = (suppression: SerializedSuppression | null): readonly Moment[] =>
  momentsOf(
    (suppression?.entries ?? []).flatMap(({ reason, added_at: addedAt, removed_at: removedAt }) => [
      { at: addedAt, word: REASONS[reason].word.toLowerCase() },
      ...(removedAt === null ? [] : [{ at: removedAt, word: 'removed' }]),
    ]),
  );

interface ChoiceProps {
  readonly name: 'reason' | 'scope';
  readonly any: string;
  readonly words: Readonly<Record<string, string>>;
}

const Choice = ({ name, any, words }: ChoiceProps): JSX.Element => (
  <select
    class="pick tall"
    aria-label={name === 'reason' ? 'Reason' : 'Suppressed mail'}
    value={usePlace().query.get(name) ?? ''}
    onChange={({ currentTarget }) => navigate(withParameters({ [name]: currentTarget.value || null }))}
  >
    <option value="">{any}</option>
    {Object.entries(words).map(([value, word]) => (
      <option key={value} value={value}>
        {word}
      </option>
    ))}
  </select>
);

const REASON_WORDS = wordsOf(REASONS);

const Search = (): JSX.Element => {
  const asked = usePlace().query.get('address') ?? '';
  const search = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const address = String(new FormData(event.currentTarget).get('address')).trim();
    navigate(withParameters({ address: address || null }));
  };
  return (
    <div class="bar">
      <IfAllowed operation="GET /v1/suppressions/check">
        <form class="field" aria-label="Search" onSubmit={search}>
          <Icon name="search" />
          <input
            key={asked}
            name="address"
            defaultValue={asked}
            placeholder="Enter a full address to check if it is suppressed"
            aria-label="Address"
            spellcheck={false}
          />
          {asked !== '' && (
            <a class="btn ghost small" href={withParameters({ address: null })}>
              All
            </a>
          )}
        </form>
      </IfAllowed>
      {asked === '' && (
        <>
          <Choice name="reason" any="Any reason" words={REASON_WORDS} />
          <Choice name="scope" any="Any mail" words={SCOPES} />
        </>
      )}
    </div>
  );
};

interface FrameProps {
  readonly moments: readonly Moment[];
  readonly asOf: AsOf | undefined;
  readonly requests: readonly string[];
  readonly children: ComponentChildren;
}

const Frame = ({ moments, asOf, requests, children }: FrameProps): JSX.Element => (
  <>
    <AsOfBar moments={moments} asOf={asOf} />
    <div class="head">
      <div>
        <h1>Suppressions</h1>
        <p class="sub">Addresses that get no mail from any of your domains</p>
      </div>
      <div class="acts">
        <AsOfButton moments={moments} />
        <ApiButton requests={[...requests, EXPORT]} />
        {useAsOf() === null && <Download word="Export" path={EXPORT} accept="text/csv" name="suppressions.csv" />}
        <ImportSuppressions />
        <AddSuppressions />
      </div>
    </div>
    <Search />
    {children}
  </>
);

/** The suppression of an address at a past moment. */
const useThen = (id: string | undefined) => {
  const at = useAsOf();
  const isPast = at !== null && id !== undefined;
  const path = `/v1/suppressions/${id}`;
  const { data, error } = useResource<Past<SerializedSuppression>>({ path, query: queryAt(at), enabled: isPast });
  const wasThere = !(error instanceof ApiFault && error.status === 404);
  return { isPast, data, wasThere, error: wasThere ? error : null, request: urlOf(path, queryAt(at)) };
};

const EntryNow = ({ suppression, now }: { readonly suppression: Past<SerializedSuppression>; readonly now: Check }) => (
  <div class="list">
    <SuppressionRow key={`${now.address} ${suppression.as_of?.leaf_index}`} suppression={suppression} isOpen />
  </div>
);

const CheckedThen = ({ wasThere, data, now }: ReturnType<typeof useThen> & { readonly now: Check }) => {
  if (wasThere) return data === undefined ? null : <EntryNow suppression={data} now={now} />;
  return (
    <Empty icon="forbid" title="Not suppressed at that time">
      There was no record of this address.
    </Empty>
  );
};

const CheckedNow = ({ now }: { readonly now: Check }): JSX.Element => (
  <div class="stack">
    <section class="why frame" aria-label="Answer">
      <Answer {...now} />
    </section>
    {now.suppression !== null && <EntryNow suppression={now.suppression} now={now} />}
  </div>
);

/** One address: whether it is suppressed, and its complete history. */
const Checked = ({ address }: { readonly address: string }): JSX.Element => {
  const { data: now, error } = useResource<Check>({ path: CHECK, query: { address } });
  const then = useThen(now?.suppression?.id);
  const fault = error ?? then.error;
  const requests = [urlOf(CHECK, { address }), ...(then.isPast ? [then.request] : [])];
  const body = (): JSX.Element | null => {
    if (fault !== null) return <Fault error={fault} />;
    if (now === undefined) return <Skeleton rows={2} />;
    return then.isPast ? <CheckedThen {...then} now={now} /> : <CheckedNow now={now} />;
  };
  return (
    <Frame moments={momentsIn(now?.suppression ?? null)} asOf={then.data?.as_of} requests={requests}>
      {body()}
    </Frame>
  );
};

const All = (): JSX.Element => {
  const { query } = usePlace();
  const at = useAsOf();
  const moments = useMoments({ types: 'suppression.*' });
  const asked = { limit: 50, reason: query.get('reason'), scope: query.get('scope'), ...queryAt(at) };
  const list = useList<SerializedSuppression>({ path: '/v1/suppressions', query: asked });
  // Every page has the same `as_of`.
  const first: Past<List<SerializedSuppression>> | undefined = list.data?.pages[0];
  const isFiltered = query.has('reason') || query.has('scope');
  return (
    <Frame moments={moments} asOf={first?.as_of} requests={[urlOf('/v1/suppressions', asked)]}>
      <Listed
        label="Suppressions"
        list={list}
        look="sups"
        keyOf={({ id }) => id}
        render={(suppression) => <SuppressionRow suppression={suppression} />}
        empty={
          isFiltered ? (
            <Empty
              icon="search"
              title="No matching addresses"
              actions={
                <a class="btn" href={withParameters({ reason: null, scope: null })}>
                  Clear filters
                </a>
              }
            >
              No address {at === null ? 'is suppressed for this reason now' : 'was suppressed for this reason then'}.
            </Empty>
          ) : (
            <Empty icon="forbid" title="No suppressed addresses">
              Addresses are added automatically after a hard bounce, a complaint or an unsubscription. Each entry shows
              its evidence.
            </Empty>
          )
        }
      />
    </Frame>
  );
};

/** Suppressed addresses with their evidence; now or in the past. */
export const Suppressions = (): JSX.Element => {
  const address = usePlace().query.get('address');
  return address === null ? <All /> : <Checked key={address} address={address} />;
};
