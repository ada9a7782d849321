import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type {
  SerializedRefusedRequest,
  SerializedRefusedRequestCounts,
} from '../../http/resources/refused-requests.ts';
import { Mark } from '../components/icons.tsx';
import { ApiButton, FilterChip } from '../components/screen.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { type Query, urlOf } from '../data/api.ts';
import { navigate, usePlace, withParameters } from '../data/location.ts';
import { useList, useNews, useResource } from '../data/queries.ts';
import { useShortcuts } from '../data/shortcuts.ts';
import { count, useTimes } from '../data/time.ts';
import {
  FILTERS,
  type Filter,
  PERIODS,
  type Period,
  periodOf,
  principalIdOf,
  principalOf,
  Refusal,
  usePrincipalNames,
  useRefusedQuery,
} from './refusal.tsx';

/** Shows this many counts. The list contains the rest. */
const SHOWN = 5;

interface BarProps {
  /** Share of the largest count, 0 to 1. */
  readonly share: number;
  readonly value: number;
  /** Sets the filter or removes it. */
  readonly href: string;
  readonly isChosen: boolean;
  readonly children: ComponentChildren;
}

const Bar = ({ share, value, href, isChosen, children }: BarProps): JSX.Element => (
  <li>
    <a href={href} {...(isChosen && { 'aria-current': 'true' })}>
      <span class="ell">{children}</span>
      <span class="num b">{count(value)}</span>
      <i class="meter">
        <b style={{ width: `${Math.max(1, share * 100)}%` }} />
      </i>
    </a>
  </li>
);

interface CountsProps {
  readonly counts: SerializedRefusedRequestCounts;
  readonly names: ReadonlyMap<string, string>;
}

const ByCode = ({ codes }: Pick<SerializedRefusedRequestCounts, 'codes'>): JSX.Element => {
  const asked = usePlace().query.get('code');
  return (
    <section class="card" aria-label="By error">
      <header>
        <h2>By error</h2>
      </header>
      <ul class="rqbars">
        {codes.slice(0, SHOWN).map(({ code, status, count: value }) => (
          <Bar
            key={code}
            share={value / (codes[0]?.count ?? 1)}
            value={value}
            href={withParameters({ code: code === asked ? null : code, request: null })}
            isChosen={code === asked}
          >
            <code>{code}</code> <small class="muted">{status}</small>
          </Bar>
        ))}
      </ul>
      {codes.length > SHOWN && <p class="pad muted">And {count(codes.length - SHOWN)} more errors.</p>}
    </section>
  );
};

const ByPrincipal = ({ counts: { principals }, names }: CountsProps): JSX.Element => {
  const { query } = usePlace();
  const asked = query.get('key_id') ?? query.get('member_id');
  return (
    <section class="card" aria-label="By key">
      <header>
        <h2>By key</h2>
      </header>
      <ul class="rqbars">
        {principals.slice(0, SHOWN).map((principal) => {
          const id = principalIdOf(principal);
          const filter = { key_id: principal.key_id, member_id: principal.member_id };
          return (
            <Bar
              key={id}
              share={principal.count / (principals[0]?.count ?? 1)}
              value={principal.count}
              href={withParameters({ ...(id === asked ? { key_id: null, member_id: null } : filter), request: null })}
              isChosen={id === asked}
            >
              <bdi>{principalOf(principal, names)}</bdi>{' '}
              {principal.key_id === null && <small class="muted">in the dashboard</small>}
            </Bar>
          );
        })}
      </ul>
      {principals.length > SHOWN && <p class="pad muted">And {count(principals.length - SHOWN)} more.</p>}
    </section>
  );
};

/** Number of rejected requests by error and by sender. Each count filters the list. */
export const RefusalCounts = ({ counts, names }: CountsProps): JSX.Element => (
  <div class="halves rqhalves">
    <ByCode codes={counts.codes} />
    <ByPrincipal counts={counts} names={names} />
  </div>
);

type RefusedRequest = SerializedRefusedRequest;
type Names = ReadonlyMap<string, string>;

const PATH = '/v1/requests';
const PAGE = 25;
/** Polling interval for new rejections while only the first page is loaded. */
const EVERY_MS = 5_000;
const COUNTS_EVERY_MS = 15_000;

interface RowProps {
  readonly refused: RefusedRequest;
  readonly names: Names;
  readonly isShown: boolean;
}

const Row = ({ refused, names, isShown }: RowProps): JSX.Element => {
  const times = useTimes();
  return (
    <a class="hoverable" href={withParameters({ request: refused.id })} {...(isShown && { 'aria-current': 'true' })}>
      <Mark state={refused.status === 429 ? 'deferred' : 'failed'} />
      <code class="ell">{refused.code}</code>
      <time class="two" dateTime={refused.at} title={times.full(refused.at)}>
        {times.clock(refused.at)}
      </time>
      <small>
        <span class="ell">
          {refused.method} {refused.path}
        </span>
        <bdi class="nw">
          {refused.count > 1 && `${count(refused.count)} times, `}
          {principalOf(refused, names)}
        </bdi>
      </small>
    </a>
  );
};

/** Moves through the rejections with J and K. */
const useSteps = (rows: readonly RefusedRequest[], shown: string | undefined): void => {
  const step = (by: number): void => {
    const next = rows[rows.findIndex(({ id }) => id === shown) + by];
    if (next !== undefined) navigate(withParameters({ request: next.id }), 'replace');
  };
  useShortcuts({ j: () => step(1), k: () => step(-1), Escape: () => navigate(withParameters({ request: null })) });
};

/**
 * The request in the URL, or else the first one listed initially, so that newer ones do not replace it while it is
 * read.
 */
const useShown = (rows: readonly RefusedRequest[], asked: Query): string | undefined => {
  const first = useRef<{ readonly asked: string; readonly id: string } | null>(null);
  const of = JSON.stringify(asked);
  const newest = rows[0]?.id;
  if (newest !== undefined && (first.current?.asked !== of || !rows.some(({ id }) => id === first.current?.id)))
    first.current = { asked: of, id: newest };
  return usePlace().query.get('request') ?? (newest === undefined ? undefined : first.current?.id);
};

const Periods = (): JSX.Element => {
  const shown = periodOf(usePlace().query);
  return (
    <nav class="seg" aria-label="Time">
      {(Object.keys(PERIODS) as Period[]).map((one) => (
        <a
          key={one}
          href={withParameters({ period: one, since: null, until: null, request: null })}
          {...(one === shown && { 'aria-current': 'true' })}
        >
          {PERIODS[one]}
        </a>
      ))}
    </nav>
  );
};

const Chips = ({ names }: { readonly names: Names }): JSX.Element => {
  const { query } = usePlace();
  const given = (Object.keys(FILTERS) as Filter[]).flatMap((name) => {
    const value = query.get(name);
    return value ? [[name, value] as const] : [];
  });
  return (
    <>
      {given.map(([name, value]) => (
        <FilterChip
          key={name}
          name={name}
          word={FILTERS[name]}
          value={names.get(value) ?? value}
          removed={`${FILTERS[name]} ${names.get(value) ?? value}`}
        />
      ))}
    </>
  );
};

interface SummaryProps {
  readonly counts: SerializedRefusedRequestCounts;
  readonly names: Names;
}

const sentBy = (total: number, principals: number, most: number): string => {
  if (principals === 1) return total === 1 ? 'It was sent by' : 'All were sent by';
  return most * 2 > total ? 'Most were sent by' : `${count(most)} were sent by`;
};

/** The most frequent error in a sentence. */
const Summary = ({ counts: { total, codes, principals }, names }: SummaryProps): JSX.Element => {
  const [most] = codes;
  const [who] = principals;
  return (
    <section class="why frame" aria-label="Summary">
      <p class="say">
        {total === 1 ? 'One request was refused' : `${count(total)} requests were refused`}
        {most !== undefined && (
          <>
            , {codes.length > 1 && `${count(most.count)} of them `}with <b>{most.code}</b>.{' '}
          </>
        )}
        {who !== undefined && (
          <>
            {sentBy(total, principals.length, who.count)}{' '}
            <b>
              <bdi>{principalOf(who, names)}</bdi>
            </b>
            .
          </>
        )}
      </p>
    </section>
  );
};

const Nothing = (): JSX.Element => {
  const { query } = usePlace();
  const cleared = Object.fromEntries([...Object.keys(FILTERS), 'period', 'since', 'until'].map((name) => [name, null]));
  if (Object.keys(cleared).some((name) => query.has(name))) {
    return (
      <Empty
        icon="search"
        title="No matching requests"
        actions={
          <a class="btn" href={withParameters(cleared)}>
            Clear filters
          </a>
        }
      >
        No refused request matches. Refused requests are kept for seven days.
      </Empty>
    );
  }
  return (
    <Empty icon="refused" title="No refused requests">
      Requests answered with 4xx appear here within a second, with the error, its line and column in the body, and how
      to fix it. Every response has its id in <code>X-Request-Id</code>. Requests with an unknown key are not recorded.
    </Empty>
  );
};

const Keys = (): JSX.Element => (
  <div class="tail hide-s flex quiet wrap">
    <span>
      <kbd>J</kbd> <kbd>K</kbd> move
    </span>
    <span>
      <kbd>Esc</kbd> newest
    </span>
  </div>
);

const List = ({ names }: { readonly names: Names }): JSX.Element => {
  const asked = useRefusedQuery();
  const list = useList<RefusedRequest>({ path: PATH, query: { limit: PAGE, ...asked } });
  const rows = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const shown = useShown(rows, asked);
  useSteps(rows, shown);
  useNews(list, EVERY_MS);
  if (list.error !== null) return <Fault error={list.error} retry={() => void list.refetch()} />;
  if (list.data === undefined) return <Skeleton />;
  if (shown === undefined) return <Nothing />;
  return (
    <>
      <div class={`split frame ${list.isPlaceholderData ? 'dim' : ''}`}>
        <section class="dl" aria-label="Refused requests">
          {rows.map((refused) => (
            <Row key={refused.id} refused={refused} names={names} isShown={refused.id === shown} />
          ))}
          {rows.length === 0 && <p class="pad muted">No refused request matches.</p>}
          {list.hasNextPage && (
            <p class="pad">
              <button type="button" class="btn small" onClick={() => void list.fetchNextPage()}>
                Show older
              </button>
            </p>
          )}
        </section>
        <section class="det" aria-label="Refusal">
          <Refusal id={shown} names={names} />
        </section>
      </div>
      <Keys />
    </>
  );
};

/** Rejected requests: counts by error and key, and for each request the reason and its place in the body. */
export const Requests = (): JSX.Element => {
  const asked = useRefusedQuery();
  const names = usePrincipalNames();
  const request = usePlace().query.get('request');
  const counts = useResource<SerializedRefusedRequestCounts>({
    path: `${PATH}/counts`,
    query: asked,
    everyMs: COUNTS_EVERY_MS,
  });
  const requests = [
    urlOf(PATH, { limit: PAGE, ...asked }),
    urlOf(`${PATH}/counts`, asked),
    ...(request === null ? [] : [`${PATH}/${request}`]),
  ];
  const hasCounts = counts.data !== undefined && counts.data.total > 0;
  return (
    <>
      <div class="head">
        <div>
          <h1>Requests</h1>
          <p class="sub">Requests to the API that were refused in the last seven days, and why</p>
        </div>
        <div class="acts">
          <ApiButton requests={requests} />
        </div>
      </div>
      <div class="bar">
        <Periods />
        <Chips names={names} />
      </div>
      {counts.data !== undefined && hasCounts && (
        <>
          <Summary counts={counts.data} names={names} />
          <RefusalCounts counts={counts.data} names={names} />
        </>
      )}
      <List names={names} />
    </>
  );
};
